#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "corun/pair_spec.h"

namespace bulkhead::stress {

/// What an aggressor's knobs can be turned to on a GPU.
struct SearchSpace {
    unsigned sms = 1;        ///< that the victim leaves
    bool choosesSms = true;  ///< false: the way of sharing does
    Bytes cacheBytes = 0;
    /// Slices, banks or channels that a kind chooses from; 0: it does not.
    std::function<std::uint64_t(const std::string& kind)> targets;
};

/// An aggressor that was tried, and by how much it made the victim slower.
struct Trial {
    corun::AggressorSpec aggressor;
    std::optional<double> slowdown;  ///< nothing where there was no sample
};

/// The slowdown beside each of some aggressors, which may be measured at once.
using TryAll = std::function<std::vector<std::optional<double>>(const std::vector<corun::AggressorSpec>&)>;

/// Looks for the worst neighbour: first the given ones as they are; then, again and again, some of the worst so far
/// with a knob or two turned. No aggressor is tried twice, and no more than `budget` are. What is tried follows from
/// the seed and from the slowdowns alone, not from how many are measured at once.
std::vector<Trial> searchWorst(const std::vector<corun::AggressorSpec>& first, const SearchSpace&, unsigned budget,
                               std::uint64_t seed, const TryAll&);
/// The one with the greatest slowdown; null where none has one.
const Trial* worstOf(const std::vector<Trial>&);

/// Its knobs in words, those first that differ from the usual: "evict-random lanes=8 warps=4".
std::string knobsOf(const corun::AggressorSpec&);

/// What was found for a victim in a way of sharing.
struct Search {
    std::string victim, sharing;
    std::size_t given = 0;  ///< aggressors that were tried as they are
    std::vector<Trial> trials;
};
/// The worst of each, beside the worst that was given.
Result found(const std::vector<Search>&);
/// All that was tried.
Result tried(const std::vector<Search>&);

}  // namespace bulkhead::stress
