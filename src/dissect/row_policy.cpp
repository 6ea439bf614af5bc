#include "dissect/row_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dissect/time_split.h"

namespace bulkhead::dissect {
namespace {

constexpr std::size_t kPairs = 32;
constexpr int kDoublings = 7;  ///< of the delay

/// Median time of the second load of pairs with one of the differences.
double timeOf(RowConflicts& conflicts, const std::vector<Mask>& differences, std::uint32_t delay, Random& random) {
    std::vector<AddressPair> pairs;
    for (std::size_t tries = 0; pairs.size() < kPairs && tries < 100 * kPairs; ++tries) {
        AddressPair pair;
        if (conflicts.pairWithDifference(differences[tries % differences.size()], random, pair)) pairs.push_back(pair);
    }
    const Times times = conflicts.timeDelayed(pairs, delay);
    return times.empty() ? 0 : median(times);
}

}  // namespace

void findRowPolicy(RowConflicts& conflicts, const Rows& rows, double conflictCycles, std::uint64_t seed,
                   Listener& listener) {
    if (rows.within.empty() || rows.between.empty()) return;
    Random random(seed);
    const auto gap = [&](std::uint32_t delay) {
        return timeOf(conflicts, rows.between, delay, random) - timeOf(conflicts, rows.within, delay, random);
    };
    std::uint32_t stillOpen = 0;
    for (int i = 1; i <= kDoublings; ++i) {
        const auto delay = static_cast<std::uint32_t>(std::round(std::ldexp(conflictCycles, i)));
        if (gap(delay) > conflictCycles / 4) {
            stillOpen = delay;
            continue;
        }
        const bool atOnce = stillOpen == 0;
        listener.found(
            {"DRAM row policy", std::string(atOnce ? "closed" : "timeout"), "", 1,
             atOnce ? fmt::format("{} cycles after its last use, a row is as slow as a row miss", delay)
                    : fmt::format("a row is closed between {} and {} cycles after its last use", stillOpen, delay)});
        return;
    }
    listener.found({"DRAM row policy", std::string("open"), "", 1,
                    fmt::format("{} cycles after its last use, a row is still open", stillOpen)});
}

}  // namespace bulkhead::dissect
