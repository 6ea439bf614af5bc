#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/grid_sample.h"
#include "sim/l2_warming.h"
#include "sim/launch.h"
#include "sim/launch_history.h"
#include "sim/units.h"
#include "sim/untimed_blocks.h"

namespace bulkhead::sim {

/// Throws Error if launches under this warp scheduler cannot be sampled.
void expectSampling(const std::string& scheduler);

/// Chooses which launches, and which blocks of large grids, are timed; executes the others without time and says what
/// they would have taken. One launch at a time: whatever is not alone on the GPU is timed.
class Sampler {
  public:
    /// `now`: the machine's time.
    Sampler(const SimShared&, Units&, const Cycles& now);

    enum class Way : std::uint8_t {
        timed,        ///< all of it
        timedInPart,  ///< see nextStop()
        untimed,      ///< all of it is executed by execute()
    };
    /// Decides, when a launch starts. `alone`: nothing else has the GPU, or will before it has ended.
    Way begin(const Launch&, bool alone);

    /// The block before which reached() must be called, once the GPU has room for it.
    std::uint64_t nextStop() const {
        if (pending_.count()) return pending_.first;
        return grid_ ? grid_->nextStop() : GridSample::kNoStop;
    }
    void reached();
    /// Blocks that are to be executed before the launch goes on.
    const BlockRange& pending() const { return pending_; }
    /// Executes them, up to so many warp instructions. `others`: blocks of the launch are on SMs. Throws LaunchError.
    UntimedBlocks::Outcome execute(std::uint64_t instructions, bool others);

    struct Result {
        Estimate cycles;  ///< from start to end
        LaunchSample sample;
        std::optional<Counters> counters;  ///< of the whole launch; none where all of it was timed
    };
    /// What the launch took. Its blocks have ended; those that were timed, by that time.
    Result end(const Launch&, Cycles when);
    /// The launch is over.
    void forget(const Launch&);

  private:
    bool mayLeaveOut(const Launch&, bool alone) const;
    Result endUntimed(const Launch&);

    const SimShared& shared_;
    Units& units_;
    const Cycles& now_;
    L2Warming warming_;
    LaunchHistory history_;

    // Of the launch that runs.
    const Launch* launch_ = nullptr;
    Way way_ = Way::timed;
    std::optional<GridSample> grid_;
    std::optional<UntimedBlocks> untimed_;
    BlockRange pending_;
    bool waited_ = false;
};

}  // namespace bulkhead::sim
