#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "sim/launch.h"
#include "sim/units.h"
#include "sim/untimed_grid.h"

namespace bulkhead::sim {

/// Executes launches for what they do alone: no SM, no cache, no DRAM. They take turns, and time passes as if every
/// scheduler of every SM issued all the time: less than a GPU takes, and no estimate of it.
///
/// A launch that waits for something (another one, a copy, the host) is left alone until there may be something new.
class FunctionalLaunches {
  public:
    /// `now`: the machine's time.
    FunctionalLaunches(const SimShared&, Units&, const Cycles& now);

    /// Whether a launch that starts is executed here, and not timed like any other: not one that asks what time it is
    /// or where it is, nor one that has started beside launches that it depends on.
    static bool takes(const Launch&);
    void begin(const Launch&);
    void forget(LaunchId);

    /// When the next turn is to be given; kNever: all wait, or there is none.
    Cycles due() const;
    bool waiting() const { return !launches_.empty() && due() == kNever; }
    /// There may be something new for those that wait.
    void wake() { ++news_; }
    /// There never will be: one that still waits then is wrong.
    void wakeInVain();

    struct Turn {
        LaunchId launch = 0;
        bool done = false;
        std::uint64_t blocksLeft = 0;
        Cycles until = 0;  ///< what it has executed takes until then
        std::optional<LaunchError> error;
    };
    /// To one that is due: so many warp instructions, about.
    Turn giveTurn(std::uint64_t instructions);

  private:
    struct Running {
        UntimedGrid grid;
        Cycles begun;
        std::optional<std::uint64_t> waitsWith{};  ///< the news when it found nothing to do
    };
    using Launches = std::map<LaunchId, Running>;

    bool canMove(const Running& r) const { return r.waitsWith != news_; }
    Cycles untilOf(const Running&) const;
    Launches::iterator next();

    const SimShared& shared_;
    Units& units_;
    const Cycles& now_;
    Launches launches_;
    LaunchId last_ = 0;       ///< had the last turn
    std::uint64_t news_ = 0;  ///< changes with everything that a launch could wait for
    bool inVain_ = false;
};

}  // namespace bulkhead::sim
