#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/block_dispatcher.h"
#include "sim/functional_launches.h"
#include "sim/l2_copies.h"
#include "sim/launch.h"
#include "sim/launch_limits.h"
#include "sim/mem/context_memory.h"
#include "sim/numbered.h"
#include "sim/progress_watch.h"
#include "sim/sampler.h"
#include "sim/sim_context.h"
#include "sim/sm/sm.h"
#include "sim/streams.h"
#include "sim/time_slicer.h"
#include "sim/timing.h"
#include "sim/transfers.h"
#include "sim/units.h"

namespace bulkhead::sim {

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

/// A simulated GPU: SMs, memory, contexts and streams. Everything happens in simulated time inside the run calls; the
/// same calls in the same order give the same cycles on any host.
class Machine final {
  public:
    struct Options {
        std::string scheduler = "gto";
        Observer* observer = nullptr;
        unsigned threads = 0;  ///< of the host; 0 = hostThreads()
        Timing timing = Timing::whole;
        std::function<void(const Machine&)> heartbeat;  ///< called now and then during long runs
        std::uint32_t place = 0;                        ///< among GPUs whose memory is to have addresses of its own
        ResourceSet separate = {};                      ///< of which a neighbour has copies of its own (Separation)
    };
    Machine(arch::DeviceProfile, Options);
    explicit Machine(arch::DeviceProfile profile) : Machine(std::move(profile), Options()) {}
    ~Machine();

    const arch::DeviceProfile& profile() const { return profile_; }
    Timing timing() const { return options_.timing; }
    Cycles now() const { return sim_.now(); }
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
    void limitThreads(ContextId context, std::uint64_t threads) { dispatcher_.limitThreads(context, threads); }

    /// Lowers a module and gives its variables a place. Throws ptx::PtxError.
    LoadedModule load(ContextId, const ptx::Module&);

    StreamId createStream(ContextId context) { return streams_.create(context); }
    /// Checked at once (throws Error); runs when what was put into the stream before it is done.
    LaunchId launch(StreamId, LaunchSpec);
    /// Whether launches from now on are a neighbour's (Separation).
    void launchAsNeighbour(bool on) { asNeighbour_ = on; }
    /// How much of L2 may hold persisting lines (AccessWindow), of all contexts together.
    void setPersistingL2(Bytes);
    void resetPersistingL2();
    /// A copy or a fill, which competes with kernels for L2 and DRAM; `action` happens at its end.
    void enqueue(StreamId stream, const Transfer& transfer, std::function<void()> action);
    /// Something that takes a while; `action` happens at its end.
    void enqueue(StreamId stream, Cycles duration, std::function<void()> action) {
        streams_.enqueue(stream, duration, std::move(action));
    }
    /// What an action has read or written of a context's memory, by a copy or a fill: L2 may keep it, where there is
    /// one to speak of.
    void copiedFrom(ContextId context, VirtualAddress from, Bytes bytes) {
        if (!functional_) copies_.read(memory(context).space(), from, bytes);
    }
    void copiedTo(ContextId context, VirtualAddress to, Bytes bytes) {
        if (!functional_) copies_.write(memory(context).space(), to, bytes);
    }
    void filled(ContextId context, VirtualAddress to, Bytes bytes) {
        if (!functional_) copies_.fill(memory(context).space(), to, bytes);
    }
    MarkerId createMarker() { return streams_.createMarker(); }
    void destroyMarker(MarkerId marker) { streams_.destroyMarker(marker); }
    void record(StreamId stream, MarkerId marker) { streams_.record(stream, marker); }
    void wait(StreamId stream, MarkerId marker) { streams_.wait(stream, marker); }
    std::optional<Cycles> recordedAt(MarkerId marker) const { return streams_.recordedAt(marker); }
    bool idle(StreamId stream) const { return streams_.idle(stream); }
    /// Ends what runs and forgets what is queued, in all streams, without letting time pass: for those who tear
    /// something down, and have no use for what is left. Not to be called from within a stream.
    void discardWork();
    /// The same of one context: its launches and streams end, and others go on.
    void discardWork(ContextId);

    /// Each runs the simulation until its condition holds. A launch that can never end is ended with an error.
    void finishLaunch(LaunchId);
    void finishStream(StreamId);
    void finishMarker(MarkerId);
    void runFor(Cycles);
    /// Runs until nothing can go on by itself, or until `stop`. Launches that wait for something are left to wait.
    enum class Left : std::uint8_t { nothing, waiting, more };
    Left work(const std::function<bool()>& stop);
    /// Ends the call that runs the simulation as soon as possible, whether its condition holds or not.
    void interrupt() { interrupted_ = true; }
    /// Asked all the time while the simulation runs: a run ends early where it says so, and another goes on from there.
    void pauseWhen(std::function<bool()> pause) { pause_ = std::move(pause); }
    /// Whether the host may still do what launches wait for: they are not taken for endless then.
    void expectHost(bool expected) { hostExpected_ = expected; }
    /// Once launches have executed that many warp instructions in all (or somewhat more: it looks every thousand
    /// cycles), those that run are ended with an error and later ones end as they start.
    void limitInstructions(std::uint64_t warpInstructions) { limits_.limitInstructions(warpInstructions); }
    bool instructionLimitReached() const { return limits_.instructionsReached(); }

    const LaunchRecord& record(LaunchId launch) const { return launches_.at(launch).record; }
    Counters counters(LaunchId launch) const { return units_.counters(launch); }
    /// Nobody will ask for it any more, which is over.
    void forget(LaunchId);
    Counters totals() const { return units_.totals(); }
    /// Launches that have ended with an error so far.
    std::uint64_t failures() const { return failures_; }
    /// Share of the launch's blocks that have ended.
    double fractionDone(LaunchId) const;
    const Sm& sm(ContextId, std::uint32_t index) const;

  private:
    struct Context {
        std::unique_ptr<ContextMemory> memory;
        std::uint32_t group = 0;
    };

    template <class Done>
    void run(Done&& done, Cycles until = kNever);
    void runWindow(Cycles end);
    void readNotices(SmGroup&);
    void endDrained(SmGroup&);
    void tellBegun(const SmGroup&);
    void blockLetsDependents(Launch&, Cycles when);
    void releaseLater(LaunchId ended);
    void executeUntimed(Launch&);
    bool giveFunctionalTurn();
    bool passStop(Launch&);
    bool alone(const Launch&) const;
    void endBlocks(Launch&, Cycles when);
    void endEstimated(LaunchId);
    bool fail(const std::vector<FailedLaunch>&);
    void launchFailed(LaunchId, const LaunchError&, Cycles when);
    void sample(Cycles when);

    std::uint32_t newGroup();
    SmGroup& groupOf(const Launch& launch) { return *slicer_.groups()[launch.group]; }
    void placeCode(Program&);
    void bringCode(const Launch&);
    void keepCodeInL2(const Program&, const Code&);
    void check(const LaunchSpec&) const;
    Launch makeLaunch(StreamId, LaunchSpec) const;
    void startLaunch(LaunchId);
    void startBlocks(LaunchId);
    void cutShort(Launch&, LaunchRecord::State, Cycles when);
    void endLaunch(Launch&, LaunchRecord::State, Cycles when);

    arch::DeviceProfile profile_;
    Options options_;
    const SchedulerChoice policy_;
    SimShared shared_;
    Simulation sim_;  ///< what is not an SM's or a memory partition's: streams, and who has the GPU
    PhysicalMemory physical_;
    Units units_;
    L2Copies copies_;
    std::deque<Context> contexts_;
    Numbered<Launch> launches_;
    std::optional<std::uint32_t> concurrentGroup_;
    std::vector<std::uint32_t> spareGroups_;  ///< of contexts that were destroyed
    Streams streams_;
    Transfers transfers_;
    TimeSlicer slicer_;
    BlockDispatcher dispatcher_;
    LaunchLimits limits_;
    ProgressWatch watch_;
    std::vector<LaunchId> followers_;                 ///< started while launches that they depend on run
    std::set<std::uint64_t> knownKernels_;            ///< that have been launched, by the address of their code
    std::uint64_t nextCode_;                          ///< physical address of the next module's
    std::unique_ptr<Sampler> sampler_;                ///< where the machine samples
    std::unique_ptr<FunctionalLaunches> functional_;  ///< where it does without time
    Cycles wakeFunctional_ = 0;                       ///< when launches that wait are looked at again
    std::vector<FailedLaunch> untimedFailures_;       ///< of blocks that were executed without time
    Cycles retryUntimed_ = kNever;                    ///< when blocks that wait for timed ones are looked at again
    Cycles nextSample_ = kNever;
    std::function<bool()> pause_;
    std::uint64_t failures_ = 0;
    bool interrupted_ = false, hostExpected_ = false, asNeighbour_ = false;
};

}  // namespace bulkhead::sim
