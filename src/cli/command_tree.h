#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/verbs.h"

namespace bulkhead::cli {

/// All verbs and their options: what is parsed, and what help, manual pages and completion are made from.
struct CommandTree {
    CommandTree();

    CLI::App app;
    std::vector<std::pair<CLI::App*, Action>> actions;

    std::vector<std::string> names() const;
    /// Throws Error if there is no such verb.
    const CLI::App& verb(const std::string& name) const;
};

/// The options that people are told of, in the order of their declaration; positional arguments are not among them.
std::vector<const CLI::Option*> visibleOptions(const CLI::App&);
std::vector<const CLI::Option*> positionals(const CLI::App&);

}  // namespace bulkhead::cli
