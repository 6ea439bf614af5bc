#pragma once

#include <functional>
#include <span>

#include "base/result.h"

namespace bulkhead::report {

/// By what share a number of two results may differ by chance.
using Noise = std::function<double(const Result& before, const Result& after)>;

/// What changed beyond noise between two sets of results: a row for each number, the greatest change first. Numbers
/// with limits of their own ("mean low" and "mean high" beside "mean") changed where these do not overlap; others by
/// more than noise. Results are paired by title, rows by the names that they begin with and by what charts draw them
/// along.
Result difference(std::span<const Result> before, std::span<const Result> after, const Noise&);

}  // namespace bulkhead::report
