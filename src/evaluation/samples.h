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
    unsigned runs = 1;        ///< that are timed together
    bool warmUp = false;      ///< a run first, in which neighbours get under way by themselves
    bool leaveLast = false;   ///< the last neighbour is left running: stopping it would take long
    double delaySeconds = 0;  ///< from the neighbours' first launch to the application's
};

/// Seconds of a run.
double secondsOf(corun::Actor& application, const corun::Rounds&);

/// How many runs of an application, alone, take so long and are timed at once. The GPU is warm afterwards.
unsigned runsOfABatch(corun::Actor& application, double batchSeconds);

/// Times an application beside each of several neighbours, idle and busy by turns, so that a change of clocks meets all
/// of them. After every time that it takes it compares the result with the CPU's, and looks for blocks that ran outside
/// of walls. Throws Error.
SeriesMeasurement takeSamples(corun::Actor& application, std::vector<Neighbourhood>&,
                              const std::function<corun::Place()>& place, const Sampling&);

}  // namespace bulkhead::evaluation
