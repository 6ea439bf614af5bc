#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/mem/context_memory.h"
#include "sim/mem/crossbar.h"
#include "sim/mem/dram_channel.h"
#include "sim/mem/l2_slice.h"
#include "sim/occupancy.h"
#include "sim/sim_context.h"
#include "sim/sm/sm.h"

namespace bulkhead::sim {

using ContextId = std::uint32_t;
using StreamId = std::uint32_t;
using LaunchId = std::uint32_t;
using MarkerId = std::uint32_t;

/// How a context shares the GPU with others.
enum class Sharing : std::uint8_t {
    timeSliced,  ///< it has the GPU to itself for a quantum, then the next one does
    concurrent,  ///< as under MPS: all such contexts run side by side
};

/// A module in a context: its variables have addresses.
struct LoadedModule {
    std::shared_ptr<Program> program;
    ContextId context = 0;
};

struct LaunchSpec {
    std::shared_ptr<const Program> program;
    const Code* code = nullptr;
    Dim3 grid, block;
    std::uint32_t dynamicShared = 0;
    std::vector<std::uint8_t> params;
    std::vector<bool> sms;             ///< which SMs it may use; empty = all
    bool numberedAnew = false;         ///< %smid counts these from 0
    Cycles maxCycles = 0;              ///< ended with an error after that long; 0 = no limit
    VirtualAddress gridWorkspace = 0;  ///< what cooperative groups synchronise a grid by; 0 = the grid cannot
    std::function<void(std::string_view)> print;
};

struct LaunchRecord {
    LaunchId id = 0;
    std::string kernel;
    Dim3 grid, block;
    Occupancy occupancy;
    enum class State : std::uint8_t { queued, running, done, failed } state = State::queued;
    Cycles submitted = 0, started = 0, ended = 0;
    std::optional<LaunchError> error;
    bool over() const { return state == State::done || state == State::failed; }
};

/// A simulated GPU: SMs, memory, contexts and streams under one clock. Everything happens in simulated time inside the
/// run calls; the same calls in the same order give the same cycles on any host.
class Gpu final : private SmOwner {
  public:
    struct Options {
        std::string scheduler = "gto";
        Observer* observer = nullptr;
        std::function<void(const Gpu&)> heartbeat;  ///< called now and then during long runs
    };
    Gpu(arch::DeviceProfile, Options);
    explicit Gpu(arch::DeviceProfile profile) : Gpu(std::move(profile), Options()) {}
    ~Gpu();

    const arch::DeviceProfile& profile() const { return profile_; }
    Cycles now() const { return sim_.now; }
    double seconds(Cycles c) const {
        return static_cast<double>(c) / (static_cast<double>(profile_.clock.coreMHz) * 1e6);
    }
    PhysicalMemory& physicalMemory() { return physical_; }

    ContextId createContext(Sharing = Sharing::timeSliced);
    /// Frees its memory. Nothing of it may be queued or running, and nothing may be asked of it any more.
    void destroyContext(ContextId);
    ContextMemory& memory(ContextId context) { return *contexts_.at(context).memory; }
    /// What MPS calls an active thread percentage: a context's blocks start only while so many threads of it, on all
    /// SMs together, are not exceeded. Where they are is not limited. 0 = no limit.
    void limitThreads(ContextId context, std::uint64_t threads) { contexts_.at(context).threadLimit = threads; }

    /// Lowers a module and gives its variables a place. Throws ptx::PtxError.
    LoadedModule load(ContextId, const ptx::Module&);

    StreamId createStream(ContextId);
    /// Checked at once (throws Error); runs when what was put into the stream before it is done.
    LaunchId launch(StreamId, LaunchSpec);
    /// Something that takes a while, such as a copy; `action` happens at its end.
    void enqueue(StreamId, Cycles duration, std::function<void()> action);
    MarkerId createMarker();
    void record(StreamId, MarkerId);
    void wait(StreamId, MarkerId);
    std::optional<Cycles> recordedAt(MarkerId marker) const { return markers_.at(marker).at; }

    /// Each runs the simulation until its condition holds. A launch that can never end is ended with an error.
    void finishLaunch(LaunchId);
    void finishStream(StreamId);
    void finishMarker(MarkerId);
    void finishAll();
    void runFor(Cycles);
    /// Once launches have executed that many warp instructions in all (or somewhat more: it looks every thousand
    /// cycles), those that run are ended with an error and later ones end as they start.
    void limitInstructions(std::uint64_t warpInstructions);
    bool instructionLimitReached() const { return limitReached_; }
    bool idle(StreamId stream) const { return streams_.at(stream).commands.empty(); }

    const LaunchRecord& record(LaunchId launch) const { return launches_.at(launch).record; }
    const Counters& counters(LaunchId launch) const { return sim_.counters[launch]; }
    Counters totals() const;
    /// Share of the launch's blocks that have ended.
    double fractionDone(LaunchId launch) const {
        const Launch& l = launches_.at(launch);
        const auto blocks = static_cast<double>(l.spec.grid.count());
        return 1.0 - static_cast<double>(l.blocksLeft) / blocks;
    }
    std::uint32_t liveRequests() const { return sim_.requests.live(); }
    const Sm& sm(ContextId, std::uint32_t index) const;

  private:
    struct Context {
        std::unique_ptr<ContextMemory> memory;
        std::uint32_t group = 0;
        std::uint64_t threadLimit = 0;
    };
    /// Contexts that run side by side. Each group has SM state of its own: a switch changes which group is active.
    struct Group {
        std::vector<std::unique_ptr<Sm>> sms;
        std::vector<LaunchId> running;        ///< launches that have started, oldest first
        std::uint32_t nextSm = 0;             ///< round robin
        std::vector<std::uint64_t> runnable;  ///< bit per SM: tick it this cycle
    };
    struct Marker {
        std::optional<Cycles> at;
        std::vector<StreamId> waiting;
    };
    struct Command {
        enum class Kind : std::uint8_t { launch, action, record, wait } kind = Kind::launch;
        LaunchId launch = 0;
        MarkerId marker = 0;
        Cycles duration = 0;
        std::function<void()> action;
        bool begun = false;
    };
    struct Stream {
        ContextId context = 0;
        std::deque<Command> commands;
    };
    struct Launch {
        LaunchRecord record;
        LaunchSpec spec;
        LaunchContext context;
        StreamId stream = 0;
        std::uint32_t group = 0;
        std::uint64_t nextBlock = 0, blocksLeft = 0;
        Cycles deadline = kNever;
    };

    static constexpr Cycles kWatchInterval = 50'000;
    static constexpr Cycles kLimitInterval = 1'000;

    // SmOwner.
    void smRunnable(std::uint32_t port) override;
    void blockFinished(std::uint32_t sm, LaunchId) override;
    void launchFailed(LaunchId, const LaunchError&) override;
    void storesDrained(LaunchId) override;

    template <class Done>
    void run(Done&& done);
    void handle(const Event&);
    void tickSms();
    bool anyRunnable() const;
    void sample();

    std::uint32_t newGroup();
    void pump(StreamId);
    void finishCommand(StreamId);
    void startLaunch(LaunchId);
    void endLaunch(Launch&);
    void tryEnd(Launch&);
    void dispatch();
    void scheduleDispatch(Cycles);
    bool withinThreadLimit(const Group&, const Launch&) const;
    bool placeBlock(Group&, Launch&, const std::vector<bool>& claimed);
    bool breakDeadlock();
    void watchProgress();
    void checkDeadlines();
    void checkInstructionLimit();
    LaunchError overInstructionLimit(const Launch&) const;

    bool hasWork(std::uint32_t group) const { return !groups_[group].running.empty(); }
    std::optional<std::uint32_t> nextGroupWithWork() const;
    void considerSwitch();
    void beginSwitch();
    void switchTo(std::uint32_t group);

    arch::DeviceProfile profile_;
    Options options_;
    const SchedulerChoice policy_;
    SimContext sim_;
    PhysicalMemory physical_;
    Crossbar crossbar_;
    std::vector<std::unique_ptr<DramChannel>> channels_;
    std::vector<std::unique_ptr<L2Slice>> slices_;
    std::vector<Group> groups_;
    std::deque<Context> contexts_;
    std::deque<Stream> streams_;
    std::deque<Launch> launches_;  ///< [0] stands for nobody
    std::deque<Marker> markers_;
    std::uint32_t ports_ = 0;  ///< SMs of all groups
    std::optional<std::uint32_t> concurrentGroup_;
    std::vector<std::uint32_t> spareGroups_;  ///< of contexts that were destroyed

    std::uint32_t active_ = 0;  ///< group that has the GPU
    bool draining_ = false, switching_ = false, quantumRunning_ = false;
    std::uint32_t quantum_ = 0;  ///< generation: an old timer means nothing
    Cycles dispatchAt_ = kNever;
    Cycles nextSample_ = kNever;
    Cycles nextWatch_ = kWatchInterval;
    Cycles watchBegun_ = 0;
    std::uint64_t watchedEffects_ = 0;
    std::uint64_t pendingCommands_ = 0;  ///< begun, with an event to come
    std::uint64_t unfinished_ = 0;       ///< launches queued or running
    Cycles earliestDeadline_ = kNever;
    std::uint64_t instructionLimit_ = 0, endedInstructions_ = 0;  ///< of warps; the latter by launches that are over
    Cycles nextLimitCheck_ = kNever;
    bool limitReached_ = false;
};

}  // namespace bulkhead::sim
