#pragma once

#include <functional>
#include <vector>

#include "corun/actor.h"

namespace bulkhead::corun {

/// A victim's run alone and, right after it, together with an aggressor.
struct Pair {
    ActorRun alone, together;
    ActorReport aggressor;
};

/// Pairs, and runs that gave none.
struct Pairing {
    std::vector<Pair> pairs;
    unsigned failed = 0;  ///< the victim ended with an error
    unsigned hung = 0;    ///< it did not end within its limit
    unsigned apart = 0;   ///< the aggressor did not run all the while
    std::string why;      ///< of the last that gave none

    void add(const Pairing&);
    unsigned lost() const { return failed + hung + apart; }
    std::size_t measured() const { return pairs.size() + lost(); }
    std::vector<double> alone() const;
    std::vector<double> together() const;
    /// True where the recorded SMs of all pairs are disjoint; nothing where a victim does not tell its own.
    std::optional<bool> onDisjointSms() const;
};

/// Interleaves baseline and co-run: warm-up, alone, together, and again. The aggressor does not run when this returns.
Pairing measurePairs(Actor& victim, Actor& aggressor, unsigned count);

}  // namespace bulkhead::corun
