#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/counters.h"
#include "sim/launch.h"
#include "sim/ratio_estimate.h"

namespace bulkhead::sim {

/// What launches took that were timed, to tell what others take that are executed without time.
///
/// Launches of one kernel with the same grid, block, shared memory and L1D form a group. The first of a group are
/// timed, then every second, fourth and so on, down to one of many, but never none. So is one with other arguments than
/// those before it (pointers aside), while the group has seen few; and the next one after a launch that was hard to
/// tell.
class LaunchHistory {
  public:
    /// Decides, when a launch starts.
    bool wantsTiming(const Launch&);
    /// A launch was timed. `counters` of all of its blocks.
    void timed(const Launch&, const Estimate& cycles, const Counters& counters);

    struct Guess {
        Estimate cycles;
        Counters counters;  ///< of a whole launch that did as many instructions
    };
    /// What a launch took that was executed without time: as the timed ones of its group whose profiles (instructions,
    /// those of threads and of memory, bytes) are nearest to its own, by the ratio of their instructions. What it
    /// differs from them widens the interval.
    Guess guess(const Launch&, const Counters& work);

    /// Blocks of this launch wait for each other: those of its group are all to be timed, or none.
    void blocksDepend(const Launch& launch) { groupOf(launch).dependent = true; }
    bool dependent(const Launch& launch) { return groupOf(launch).dependent; }

  private:
    struct Timed {
        Estimate cycles;
        Counters counters;
    };
    struct Group {
        std::vector<Timed> timed;  ///< in order
        std::set<std::string> arguments;
        std::uint64_t seen = 0, next = 0, period = 1;
        bool dependent = false;
    };

    Group& groupOf(const Launch&);
    std::map<std::string, Group> groups_;
};

}  // namespace bulkhead::sim
