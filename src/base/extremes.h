#pragma once

#include <cstddef>
#include <optional>

#include "base/result.h"

namespace bulkhead {

/// The least and the greatest number in a column of a result, and the rows of both.
struct Extremes {
    double least, most;
    std::size_t leastRow, mostRow;
};

/// Nothing where the column has no number.
std::optional<Extremes> extremesOf(const Result&, std::size_t column);

}  // namespace bulkhead
