#pragma once

#include <functional>

#include "evaluation/series.h"

namespace bulkhead::evaluation {

/// The copies of one neighbour, in all partitions but the first; none of an idle one.
struct Neighbourhood {
    std::vector<corun::Actor*> actors;

    void start();
    void stop();
    std::uint64_t completed() const;
};

struct Sampling {
    unsigned samples = 1;
    unsigned runs = 1;  ///< that are timed together
    /// Neighbours take long to stop there: the last one is left running.
    bool simulated = false;
};

/// Seconds of a run.
double secondsOf(corun::Actor& application, const corun::Rounds&);

/// Times an application beside each of several neighbours, idle and busy by turns, so that a change of clocks meets all
/// of them. After every time that it takes it compares the result with the CPU's, and looks for blocks that ran outside
/// of walls. Throws Error.
SeriesFigures takeSamples(corun::Actor& application, std::vector<Neighbourhood>&,
                          const std::function<corun::Place()>& place, const Sampling&);

}  // namespace bulkhead::evaluation
