#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/access_windows.h"
#include "sim/counters.h"
#include "sim/event_queue.h"
#include "sim/exec/cluster.h"
#include "sim/exec/overruns.h"
#include "sim/exec/program.h"
#include "sim/exec/warp.h"
#include "sim/occupancy.h"

namespace bulkhead::sim {

using ContextId = std::uint32_t;
using StreamId = std::uint32_t;
using LaunchId = std::uint32_t;
using MarkerId = std::uint32_t;

struct LaunchSpec {
    std::shared_ptr<const Program> program;
    const Code* code = nullptr;
    Dim3 grid, block;
    Dim3 cluster;                  ///< blocks of one, in each direction
    bool explicitCluster = false;  ///< it was asked for clusters, if only of one block
    std::uint32_t dynamicShared = 0;
    int carveoutPercent = kNoCarveout;  ///< of shared memory, that it prefers
    std::vector<std::uint8_t> params;
    std::vector<bool> sms;             ///< which SMs it may use; empty = all
    bool numberedAnew = false;         ///< %smid counts these from 0
    int priority = 0;                  ///< its blocks are placed before those of launches with a higher number
    Cycles maxCycles = 0;              ///< ended with an error after that long; 0 = no limit
    VirtualAddress gridWorkspace = 0;  ///< what cooperative groups synchronise a grid by; 0 = the grid cannot
    /// May start when all blocks of those before it in the stream have ended or let dependent launches start
    /// (griddepcontrol), rather than when they are done.
    bool startsEarly = false;
    std::optional<MarkerId> whenLet;    ///< recorded when all of its own blocks have
    std::optional<MarkerId> whenBegun;  ///< recorded when all of its blocks have started
    AccessWindow window;                ///< how L2 is to keep what it accesses
    std::function<void(std::string_view)> print;
    Overruns* overruns = nullptr;  ///< null: reads outside of allocations are errors, wherever they are
};

/// How much of a launch was timed, and how well its time is known for that.
struct LaunchSample {
    std::uint64_t timedBlocks = 0;
    double halfWidth = 0;  ///< of the confidence interval (95 %) of its cycles
};

struct LaunchRecord {
    LaunchId id = 0;
    std::string kernel;
    Dim3 grid, block;
    Occupancy occupancy;
    enum class State : std::uint8_t { queued, running, done, failed, discarded } state = State::queued;
    Cycles submitted = 0, started = 0, ended = 0;
    std::optional<LaunchError> error;
    std::optional<LaunchSample> sample;  ///< where the machine samples, once the launch has ended
    bool over() const { return state != State::queued && state != State::running; }
};

/// A launch as the machine knows it.
struct Launch {
    LaunchRecord record;
    LaunchSpec spec;
    LaunchContext context;
    ContextId owner = 0;
    StreamId stream = 0;
    std::uint32_t group = 0;  ///< of contexts that run side by side
    std::uint64_t nextBlock = 0, blocksLeft = 0;
    std::uint64_t blocksLetting = 0;  ///< that have ended, or let dependent launches start
    std::vector<LaunchId> earlier;    ///< that it depends on and that have not ended
    Cycles lastBlockEnd = 0;
    // Of a launch that is not timed whole:
    bool holdsGpu = false;                     ///< no other launch has blocks on the GPU until it is over
    std::uint64_t stopAt = ~std::uint64_t{0};  ///< the block before which the dispatcher asks whether it may go on
    std::optional<Counters> estimated;         ///< once it is done but for time that is to pass
    Cycles deadline = kNever;
    std::vector<std::unique_ptr<Cluster>> clusters;  ///< that have blocks on the GPU

    bool mayUse(std::size_t sm) const { return spec.sms.empty() || spec.sms[sm]; }
    bool placed() const { return nextBlock == spec.grid.count(); }  ///< all of its blocks
};

/// A launch that will not end by itself, or must not go on.
struct FailedLaunch {
    LaunchId id;
    LaunchError error;
};

}  // namespace bulkhead::sim
