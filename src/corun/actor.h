#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "corun/rings.h"
#include "sim/counters.h"

namespace bulkhead::corun {

/// One timed run of an actor.
struct ActorRun {
    double seconds = 0;                    ///< of one round
    std::uint64_t cycles = 0;              ///< of its SM; 0 where it does not tell
    std::uint64_t startNs = 0, endNs = 0;  ///< on the GPU's timer; 0 where it does not tell
    std::vector<unsigned> sms;
    sim::Counters counters;  ///< of its kernels, where the GPU counts launches and is watched
};

/// What an actor did in the background, from start() to stop().
struct ActorReport {
    std::vector<unsigned> sms;
    std::uint64_t startNs = 0, endNs = 0;  ///< when the last block began and the first one ended; 0: no kernel
    std::uint64_t accesses = 0, bytes = 0;
    double hostSeconds = 0;  ///< from start to stop by the host's clock, where it ran no kernel that could tell

    double bytesPerSecond() const {
        const double seconds = endNs > startNs ? static_cast<double>(endNs - startNs) * 1e-9 : hostSeconds;
        return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
    }
};

class Actor;

/// How a run is timed.
struct Rounds {
    unsigned count = 1;  ///< one after the other, timed together
    /// Kept busy meanwhile: nobody else sees to that where time passes only in calls that wait.
    std::vector<Actor*> company = {};
    double delaySeconds = 0;  ///< that pass before the first one, and are not timed
};

/// A program on a GPU, in this process or another: it is timed, or it is at work while others are. Most do one of the
/// two, and throw Error when asked for the other.
class Actor {
  public:
    virtual ~Actor() = default;

    /// Before a run: brings its working set into the cache, or out of it.
    virtual void prepare() {}
    /// Nothing if it did not end within its limit; it may then still be running. Throws Error if it failed.
    virtual std::optional<ActorRun> run(const Rounds&) { throw Error("this actor cannot be timed"); }
    std::optional<ActorRun> run() { return run(Rounds{}); }
    /// Compares what the last run computed with the CPU's. Throws Error.
    virtual void check() {}
    /// Waits, without a limit, for a run that did not end within it.
    virtual void settle() {}

    /// Works until it is stopped. Returns when it is under way; throws Error if it is not within the time.
    virtual void start(double /*limitSeconds*/) { throw Error("this actor cannot work in the background"); }
    virtual ActorReport stop() { return {}; }
    /// Gives the GPU more of its work, where it runs again and again.
    virtual void keepBusy() {}
    /// Runs that have ended since start().
    virtual std::uint64_t completed() { return 0; }

    /// Lines of its working set, where they are known.
    virtual Ring lines() const { return {}; }
};

}  // namespace bulkhead::corun
