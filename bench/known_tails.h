#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bulkhead {

/// Times of runs of which it is known how often they exceed any time: what a bound is held against.
struct KnownTail {
    std::string name;
    /// As many as asked for, in the order of the runs.
    std::function<std::vector<double>(std::size_t, std::uint64_t seed)> draw;
    /// The share of runs that take longer than this.
    std::function<double(double)> survival;
    /// Samples above this show that there are rare slow runs; 0 where there are no two kinds.
    double slow = 0;

    /// What a run exceeds with this probability.
    double exceeded(double probability) const;
};

/// Independent runs of one distribution: light tails, exponential ones, heavy ones.
const std::vector<KnownTail>& singleKinds();
/// Independent runs, some of which are of a slower kind.
const std::vector<KnownTail>& mixtures();
/// Runs that depend on each other or change with time.
const std::vector<KnownTail>& dependentRuns();

}  // namespace bulkhead
