#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cli/command_line.h"

namespace bulkhead::cli {

/// --wide: every column of the tables that showResults() prints, however wide.
void addWideOption(CommandLine);

/// Title, question and table of a result, as wide as standard output.
std::string tableText(const Result&);
/// Its answer, how to read it and caveats.
std::string answerText(const Result&);

/// Prints tables one below the other, each with its answer. That of the first is the answer of the verb: it comes last.
void showResults(std::span<const Result>);
void showResults(const Result&);

}  // namespace bulkhead::cli
