#pragma once

#include <span>
#include <vector>

#include "report/report.h"

namespace bulkhead::report {

/// Without results that a newer one replaces: of the same title and columns, by the same command but for the files that
/// it writes.
std::vector<Result> withoutSuperseded(std::span<const Result>);

/// By paper and machine, what is newest first.
std::vector<Chapter> chaptersOf(std::span<const Result>);

}  // namespace bulkhead::report
