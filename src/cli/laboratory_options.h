#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "compare/laboratory.h"

namespace bulkhead::cli {

/// What every verb that does many simulated runs can be told.
struct LaboratoryOptions {
    std::string store;  ///< empty: the user's cache
    unsigned jobs = 0;  ///< 0: a core each
};

void addLaboratoryOptions(CLI::App&, LaboratoryOptions&);

/// With progress on a terminal.
compare::Laboratory openLaboratory(const LaboratoryOptions&);

void fillProvenance(Result&, const std::string& gpu, std::uint64_t seed);
nlohmann::ordered_json resultsJson(const std::vector<Result>&);

}  // namespace bulkhead::cli
