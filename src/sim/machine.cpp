#include "sim/machine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "ptx/assembler/assembler.h"
#include "sim/host_threads.h"

namespace bulkhead::sim {
namespace {

/// Sooner than ProgressWatch takes timed blocks for stuck that wait for untimed ones.
constexpr Cycles kRetryInterval = 20'000;
/// Warp instructions of a launch without time until somebody else has a turn: some milliseconds of the host.
constexpr std::uint64_t kFunctionalTurn = 1 << 18;

/// Code lies beyond what can be allocated, and beyond local memory.
constexpr std::uint64_t kFirstCode = std::uint64_t{1} << 46;
constexpr Bytes kCodeAlignment = 4096;

}  // namespace

Machine::Machine(arch::DeviceProfile profile, Options options)
    : profile_(std::move(profile)),
      options_(std::move(options)),
      policy_(findScheduler(options_.scheduler)),
      shared_(profile_, options_.separate),
      sim_(shared_, options_.observer),
      physical_(profile_),
      units_(shared_, options_.observer, options_.threads ? options_.threads : hostThreads()),
      copies_(shared_, units_),
      streams_(sim_, {.expect = [this](LaunchId id) { ++groupOf(launches_[id]).expected; },
                      .start = [this](LaunchId id) { startLaunch(id); },
                      .blocks = [this](LaunchId id) { startBlocks(id); },
                      .end = [this](LaunchId id) { endEstimated(id); },
                      .transfer = [this](StreamId stream, const Transfer& transfer,
                                         Cycles when) { transfers_.begin(stream, transfer, when); }}),
      transfers_(sim_, units_, [this](StreamId stream, Cycles when) { streams_.endTransferAt(stream, when); }),
      slicer_(sim_, [this] { dispatcher_.schedule(); }),
      dispatcher_(sim_, slicer_, launches_, [this](Launch& launch) { return passStop(launch); }),
      limits_(sim_, units_, slicer_, launches_),
      watch_(sim_, units_, slicer_, streams_, dispatcher_, launches_),
      nextCode_(kFirstCode) {
    if (sim_.observer && sim_.observer->sampleInterval()) nextSample_ = sim_.observer->sampleInterval();
    if (options_.timing == Timing::whole) return;
    if (options_.timing == Timing::functional) {
        functional_ = std::make_unique<FunctionalLaunches>(shared_, units_, sim_.now());
        return;
    }
    expectSampling(options_.scheduler);
    if (nextSample_ != kNever)
        throw Error("--sample: an observer that looks on over time would see the timed part only");
    sampler_ = std::make_unique<Sampler>(shared_, units_, sim_.now());
}

Machine::~Machine() = default;

std::uint32_t Machine::newGroup() {
    return slicer_.add(units_.makeGroup(policy_));
}

ContextId Machine::createContext(Sharing sharing) {
    Context context;
    context.memory = std::make_unique<ContextMemory>(physical_, profile_, static_cast<std::uint32_t>(contexts_.size()),
                                                     options_.place);
    if (sharing == Sharing::concurrent) {
        if (!concurrentGroup_) concurrentGroup_ = newGroup();
        context.group = *concurrentGroup_;
    } else if (!spareGroups_.empty()) {
        context.group = spareGroups_.back();
        spareGroups_.pop_back();
    } else {
        context.group = newGroup();
    }
    contexts_.push_back(std::move(context));
    return static_cast<ContextId>(contexts_.size() - 1);
}

void Machine::destroyContext(ContextId id) {
    Context& context = contexts_.at(id);
    context.memory.reset();
    if (context.group != concurrentGroup_) spareGroups_.push_back(context.group);
}

LoadedModule Machine::load(ContextId id, const ptx::Module& module) {
    LoadedModule loaded;
    loaded.program = profile_.compiler.optimise ? lower(ptx::assemble(module)) : lower(module);
    loaded.context = id;
    ContextMemory& memory = *contexts_.at(id).memory;
    for (Program::Global& global : loaded.program->globals) {
        if (global.hostAddress) {
            global.address = global.hostAddress;
            continue;
        }
        const Bytes bytes = std::max<std::uint64_t>(global.bytes, 1);
        global.address = global.isManaged ? memory.allocateManaged(bytes) : memory.allocate(bytes);
    }
    if (profile_.instruction.bytes) placeCode(*loaded.program);
    link(*loaded.program);
    for (const Program::Global& global : loaded.program->globals) {
        if (global.hostAddress) continue;
        const std::vector<std::uint8_t> bytes = initialBytes(*loaded.program, global);
        if (!bytes.empty()) std::memcpy(memory.host(global.address, bytes.size()), bytes.data(), bytes.size());
    }
    return loaded;
}

/// Gives a module's code a place of its own. It was copied there just now.
void Machine::placeCode(Program& program) {
    const auto& config = sim_.config.instruction;
    const Bytes bytes = place(program, 1u << config.lineShift) * config.width;
    program.codeAddress = nextCode_;
    nextCode_ += (bytes + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment;
    const Bytes lineBytes = sim_.config.l2.lineBytes;
    if (!sim_.config.l2.holdsCopies) return;
    Transaction t;
    t.sectors = t.complete = static_cast<std::uint8_t>((1u << lineBytes / sim_.config.l2.sectorBytes) - 1);
    for (t.line = program.codeAddress; t.line < program.codeAddress + bytes; t.line += lineBytes)
        units_.keepCopiedInL2(t);
}

void Machine::keepCodeInL2(const Program& program, const Code& code) {
    const auto& config = sim_.config.instruction;
    const Bytes lineBytes = sim_.config.l2.lineBytes;
    const Bytes bytes =
        std::min<Bytes>((code.endPlace - code.firstPlace) * config.width, config.launchLines * config.lineBytes);
    const std::uint64_t begin = program.codeAddress + code.firstPlace * config.width;
    Transaction t;
    t.sectors = static_cast<std::uint8_t>((1u << lineBytes / sim_.config.l2.sectorBytes) - 1);
    for (t.line = begin / lineBytes * lineBytes; t.line < begin + bytes; t.line += lineBytes)
        units_.touchL2(t, AccessKind::load, 0);
}

/// A launch brings the code of its kernel to all SMs, whatever its grid, before its blocks start. What of it L2 is
/// asked for is counted, as hardware's counters do; it takes no part in the kernel's time.
void Machine::bringCode(const Launch& launch) {
    const auto& config = sim_.config.instruction;
    if (!config.sets) return;
    const LaunchContext& context = launch.context;
    const SmGroup& group = groupOf(launch);
    Counters own;
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < group.count(); ++i) {
        const std::uint32_t lines = group.sm(i, launch.record.id).bringCode(*context.program, *context.code);
        most = std::max(most, lines);
        if (i % config.sharers == 0) own.l2Sectors += lines;
    }
    if (most) keepCodeInL2(*context.program, *context.code);
    // L2 itself fetches a line once.
    const std::uint64_t sectors = config.lineBytes / sim_.config.l2.sectorBytes;
    own.l2SectorHits = (own.l2Sectors - std::min<std::uint64_t>(most, own.l2Sectors)) * sectors;
    own.l2Sectors *= sectors;
    if (knownKernels_.insert(context.program->codeAddress + context.code->firstPlace * config.width).second) {
        own.l2Sectors += config.firstReads;
        own.l2SectorHits += config.firstReads;
    }
    units_.count(launch.record.id, own);
}

void Machine::check(const LaunchSpec& spec) const {
    const std::string& name = spec.code->name;
    const Dim3& grid = spec.grid;
    if (grid.x > 0x7fff'ffff || grid.y > 0xffff || grid.z > 0xffff)
        throw Error("{}: a grid of ({},{},{}) is too large: at most (2147483647,65535,65535)", name, grid.x, grid.y,
                    grid.z);
    if (grid.count() == 0) throw Error("{}: a grid of ({},{},{}) has no blocks", name, grid.x, grid.y, grid.z);
    if (spec.params.size() != spec.code->kernelParamBytes)
        throw Error("{}: {} bytes of parameters given, {} wanted", name, spec.params.size(),
                    spec.code->kernelParamBytes);
    const Dim3& cluster = spec.cluster;
    if (cluster.count() == 0 || grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
        throw Error("{}: a grid of ({},{},{}) cannot be divided into clusters of ({},{},{})", name, grid.x, grid.y,
                    grid.z, cluster.x, cluster.y, cluster.z);
    if (cluster.count() > 1 && !profile_.cluster.sms) throw Error("{}: the GPU has no clusters", name);
    if (!spec.sms.empty() && (spec.sms.size() != sim_.config.sm.count ||
                              std::find(spec.sms.begin(), spec.sms.end(), true) == spec.sms.end()))
        throw Error("{}: the mask of SMs must name at least one of {}", name, profile_.sm.count);
}

Launch Machine::makeLaunch(StreamId stream, LaunchSpec spec) const {
    Launch launch;
    launch.stream = stream;
    launch.owner = streams_.contextOf(stream);
    launch.group = contexts_[launch.owner].group;
    launch.blocksLeft = spec.grid.count();

    LaunchRecord& record = launch.record;
    record.occupancy = occupancyOf(profile_, *spec.code, spec.block, spec.dynamicShared, spec.carveoutPercent);
    record.id = launches_.next();
    record.kernel = spec.code->name;
    record.grid = spec.grid;
    record.block = spec.block;
    record.submitted = sim_.now();

    LaunchContext& context = launch.context;
    context.program = spec.program.get();
    context.code = spec.code;
    context.grid = spec.grid;
    context.block = spec.block;
    context.cluster = spec.cluster;
    context.explicitCluster = spec.explicitCluster;
    context.dynamicShared = spec.dynamicShared;
    context.params = spec.params;
    context.gridId = record.id;
    context.gridWorkspace = spec.gridWorkspace;
    context.memory = &contexts_[launch.owner].memory->space();
    context.print = spec.print;
    context.overruns = spec.overruns;
    context.nsPerCycle = sim_.config.nsPerCycle;
    context.smCount = sim_.config.sm.count;
    context.warpsPerSm = sim_.config.sm.warps;
    if (spec.cluster.count() > 1 && !clustersFitting(profile_, record.occupancy, spec.cluster.count(), spec.sms))
        throw Error("{}: a cluster of {} blocks fits no SMs that are neighbours", record.kernel, spec.cluster.count());
    launch.spec = std::move(spec);
    return launch;
}

LaunchId Machine::launch(StreamId stream, LaunchSpec spec) {
    check(spec);
    const Launch& launch = launches_.add(makeLaunch(stream, std::move(spec)));
    const LaunchId id = launch.record.id;
    units_.addLaunch();
    if (asNeighbour_) shared_.separation.addNeighbour(id);
    streams_.launch(stream, id, launch.spec);
    return id;
}

void Machine::enqueue(StreamId stream, const Transfer& transfer, std::function<void()> action) {
    streams_.enqueue(stream, transfer, [this, stream, action = std::move(action)] {
        transfers_.end(stream);
        if (action) action();
    });
}

void Machine::startLaunch(LaunchId id) {
    Launch& launch = launches_[id];
    launch.record.state = LaunchRecord::State::running;
    launch.record.started = sim_.now();
    launch.earlier = streams_.earlierThan(launch.stream, id);
    std::erase_if(launch.earlier,
                  [&](LaunchId other) { return !launches_.has(other) || launches_[other].record.over(); });
    launch.context.followsRunning = !launch.earlier.empty();
    if (launch.context.followsRunning) followers_.push_back(id);
    // What a launch reads by itself is counted, as hardware's counters do; it takes no part in the kernel's time.
    Counters own;
    own.l2Sectors = sim_.config.launch.l2Reads;
    own.l2SectorHits = sim_.config.launch.l2Hits;
    units_.count(id, own);
    shared_.windows.open(id, launch.spec.window, *launch.context.memory);
    if (sim_.observer) sim_.observer->launchStarted(sim_.now(), id);
}

void Machine::setPersistingL2(Bytes bytes) {
    const Bytes ways = sim_.config.l2.ways, all = static_cast<Bytes>(profile_.l2.bytes);
    // An H200 keeps a way of sixteen for them where nothing is set aside.
    units_.setPersistingWays(static_cast<std::uint32_t>(std::max<Bytes>((bytes * ways + all / 2) / all, 1)));
}

void Machine::resetPersistingL2() {
    units_.resetPersisting();
}

void Machine::startBlocks(LaunchId id) {
    Launch& launch = launches_[id];
    limits_.started(launch);
    SmGroup& group = groupOf(launch);
    --group.expected;
    // Not before one that has the GPU to itself.
    const auto before = std::find_if(group.running.rbegin(), group.running.rend(), [&](LaunchId other) {
        return launches_[other].spec.priority <= launch.spec.priority || launches_[other].holdsGpu;
    });
    group.running.insert(before.base(), id);
    if (limits_.instructionsReached()) return launchFailed(id, limits_.outOfInstructions(launch), sim_.now());
    if (functional_ && FunctionalLaunches::takes(launch)) {
        functional_->begin(launch);
        launch.nextBlock = launch.spec.grid.count();  // nobody else is to place them
        return slicer_.consider();
    }
    for (std::uint32_t i = 0; i < group.count(); ++i)
        if (launch.mayUse(i)) group.sm(i, id).beginLaunch();
    bringCode(launch);
    slicer_.consider();
    dispatcher_.schedule();
    if (!sampler_) return;
    const Sampler::Way way = sampler_->begin(launch, alone(launch));
    launch.holdsGpu = way != Sampler::Way::timed;
    if (way != Sampler::Way::timed) launch.stopAt = sampler_->nextStop();
    if (way == Sampler::Way::untimed) executeUntimed(launch);
}

/// Whether a launch that starts has the GPU to itself, and keeps it.
bool Machine::alone(const Launch& launch) const {
    const auto contexts = std::ranges::count_if(contexts_, [](const Context& c) { return c.memory != nullptr; });
    return contexts == 1 && slicer_.groups()[launch.group]->running.size() == 1 &&
           !dispatcher_.limitsThreads(launch.owner);
}

/// Blocks of the launch whose turn has come and that are not timed.
void Machine::executeUntimed(Launch& launch) {
    const BlockRange blocks = sampler_->pending();
    const bool others = std::ranges::any_of(groupOf(launch).sms(), [](const auto& sm) { return !sm->empty(); });
    std::uint64_t most = limits_.instructionsLeft();
    // More than the GPU could issue in the launch's time.
    const std::uint64_t rate = sim_.config.sm.issuesPerCycle();
    if (launch.spec.maxCycles && launch.spec.maxCycles < most / rate) most = launch.spec.maxCycles * rate;
    try {
        switch (sampler_->execute(most, others)) {
            case UntimedBlocks::Outcome::waiting:
                retryUntimed_ = sim_.now() + kRetryInterval;
                return;
            case UntimedBlocks::Outcome::limited:
                untimedFailures_ = limits_.checkInstructions();
                if (untimedFailures_.empty()) untimedFailures_ = {{launch.record.id, LaunchLimits::outOfTime(launch)}};
                return;
            case UntimedBlocks::Outcome::done:
                break;
        }
    } catch (const LaunchError& error) {
        untimedFailures_ = {{launch.record.id, error}};
        return;
    }
    sim_.noteEffect();
    retryUntimed_ = kNever;
    launch.blocksLeft -= blocks.count();
    launch.nextBlock += blocks.count();
    launch.stopAt = sampler_->nextStop();
    if (!launch.blocksLeft) endBlocks(launch, sim_.now());
}

/// To the next of the launches without time. False if none is due. Those that wait are woken now and then.
bool Machine::giveFunctionalTurn() {
    if (functional_->waiting() && sim_.now() >= wakeFunctional_) {
        functional_->wake();
        wakeFunctional_ = sim_.now() + kRetryInterval;
    }
    if (functional_->due() > sim_.now()) return false;
    const std::uint64_t most = std::min(kFunctionalTurn, limits_.instructionsLeft());
    const FunctionalLaunches::Turn turn = functional_->giveTurn(most);
    sim_.noteEffect();
    Launch& launch = launches_[turn.launch];
    launch.blocksLeft = turn.blocksLeft;
    if (turn.error) {
        launchFailed(turn.launch, *turn.error, sim_.now());
    } else if (turn.done) {
        functional_->forget(turn.launch);
        launch.record.sample = LaunchSample{};
        launch.estimated = units_.counters(turn.launch);
        streams_.endLaunchAt(launch.stream, std::max(turn.until, sim_.now()));
    }
    if (!limits_.instructionsLeft()) fail(limits_.checkInstructions());
    if (options_.heartbeat) options_.heartbeat(*this);
    return true;
}

/// Lets a launch go on at the block where it was to stop, or behind those that are not timed.
bool Machine::passStop(Launch& launch) {
    if (!untimedFailures_.empty()) return false;
    if (!sampler_->pending().count()) {
        sampler_->reached();
        if (!sampler_->pending().count()) {
            launch.stopAt = sampler_->nextStop();
            return true;
        }
    } else if (sim_.now() < retryUntimed_) {
        return false;
    }
    executeUntimed(launch);
    return !sampler_->pending().count() && untimedFailures_.empty();
}

/// All blocks of a launch have ended.
void Machine::endBlocks(Launch& launch, Cycles when) {
    if (!sampler_) return endLaunch(launch, LaunchRecord::State::done, when);
    Sampler::Result result = sampler_->end(launch, when);
    launch.record.sample = result.sample;
    if (!result.counters) return endLaunch(launch, LaunchRecord::State::done, when);
    launch.estimated = result.counters;
    const Cycles end = launch.record.started + static_cast<Cycles>(std::llround(result.cycles.value));
    sim_.noteEffect();
    streams_.endLaunchAt(launch.stream, std::max(end, sim_.now()));
}

void Machine::endEstimated(LaunchId id) {
    endLaunch(launches_[id], LaunchRecord::State::done, sim_.now());
}

void Machine::endLaunch(Launch& launch, LaunchRecord::State state, Cycles when) {
    launch.record.state = state;
    launch.record.ended = when;
    SmGroup& group = groupOf(launch);
    std::erase(group.running, launch.record.id);
    for (const auto& sm : group.sms()) sm->launchEnded(launch.record.id);
    units_.gatherCounters();
    if (launch.estimated) units_.setCounters(launch.record.id, *launch.estimated);
    if (launch.holdsGpu) retryUntimed_ = kNever;
    if (sampler_) sampler_->forget(launch);
    if (functional_) functional_->forget(launch.record.id);
    limits_.ended(launch);
    shared_.windows.close(launch.record.id);
    if (sim_.observer) sim_.observer->launchEnded(when, launch.record.id);
    launch.clusters.clear();
    launch.spec.program.reset();
    releaseLater(launch.record.id);
    streams_.launchEnded(launch.stream, launch.record.id, when);
    slicer_.consider();
    dispatcher_.schedule();
}

/// Launches that have started and depend on one that has ended.
void Machine::releaseLater(LaunchId ended) {
    std::erase(followers_, ended);
    std::erase_if(followers_, [&](LaunchId id) {
        Launch& launch = launches_[id];
        std::erase(launch.earlier, ended);
        if (!launch.earlier.empty()) return false;
        launch.context.followsRunning = false;
        for (const auto& sm : groupOf(launch).sms()) {
            sm->advanceTo(sim_.now(), false);
            sm->earlierEnded(id);
        }
        return true;
    });
}

/// Launches of which all blocks have started, for those who wait for that.
void Machine::tellBegun(const SmGroup& group) {
    for (const LaunchId id : group.running) {
        Launch& launch = launches_[id];
        if (!launch.spec.whenBegun || !launch.placed()) continue;
        launch.spec.whenBegun.reset();
        streams_.launchBegun(launch.stream, id, sim_.now());
    }
}

/// Blocks that are executed without time let nobody start.
void Machine::blockLetsDependents(Launch& launch, Cycles when) {
    if (++launch.blocksLetting == launch.spec.grid.count() && !launch.holdsGpu)
        streams_.launchLetsDependents(launch.stream, launch.record.id, when);
}

/// What SMs had to tell in the window that has ended, in the order of time.
void Machine::readNotices(SmGroup& group) {
    std::vector<LaunchNotice> notices;
    for (const auto& sm : group.sms()) {
        std::ranges::move(sm->notices(), std::back_inserter(notices));
        sm->notices().clear();
    }
    std::ranges::stable_sort(notices, {}, &LaunchNotice::when);
    for (const LaunchNotice& notice : notices) {
        if (!launches_.has(notice.launch)) continue;
        Launch& launch = launches_[notice.launch];
        if (launch.record.over()) continue;
        if (notice.error) {
            launchFailed(notice.launch, *notice.error, notice.when);
            continue;
        }
        if (notice.letsDependents) blockLetsDependents(launch, notice.when);
        if (!notice.ended) continue;
        --launch.blocksLeft;
        launch.lastBlockEnd = notice.when;
        if (notice.cluster && notice.cluster->end(notice.rank))
            std::erase_if(launch.clusters, [&](const auto& cluster) { return cluster.get() == notice.cluster; });
        dispatcher_.schedule();
    }
}

/// Launches whose blocks have ended, once their stores have been acknowledged.
void Machine::endDrained(SmGroup& group) {
    const std::vector<LaunchId> running = group.running;
    for (const LaunchId id : running) {
        Launch& launch = launches_[id];
        if (launch.blocksLeft || launch.estimated) continue;
        std::uint64_t underWay = 0;
        Cycles end = launch.lastBlockEnd;
        for (const auto& sm : group.sms()) {
            underWay += sm->stores().count(id);
            end = std::max(end, sm->stores().lastDone(id));
        }
        if (!underWay) endBlocks(launch, end);
    }
}

void Machine::launchFailed(LaunchId id, const LaunchError& error, Cycles when) {
    Launch& launch = launches_[id];
    launch.record.error = error;
    ++failures_;
    cutShort(launch, LaunchRecord::State::failed, when);
}

void Machine::cutShort(Launch& launch, LaunchRecord::State state, Cycles when) {
    for (const auto& sm : groupOf(launch).sms()) {
        sm->advanceTo(sim_.now(), false);
        sm->abandon(launch.record.id);
    }
    launch.nextBlock = launch.spec.grid.count();
    launch.blocksLeft = 0;
    endLaunch(launch, state, when);
}

void Machine::discardWork() {
    launches_.each([&](Launch& launch) {
        if (launch.record.state == LaunchRecord::State::running)
            cutShort(launch, LaunchRecord::State::discarded, sim_.now());
    });
    streams_.discard();
    for (const auto& group : slicer_.groups()) group->expected = 0;
    transfers_.discard();
    launches_.each([](Launch& launch) {
        if (launch.record.over()) return;
        launch.record.state = LaunchRecord::State::discarded;
        launch.spec.program.reset();
    });
}

void Machine::discardWork(ContextId context) {
    for (const LaunchId id : streams_.discard(context)) --groupOf(launches_[id]).expected;
    for (StreamId stream = 0; stream < streams_.count(); ++stream)
        if (streams_.contextOf(stream) == context) transfers_.end(stream);
    launches_.each([&](Launch& launch) {
        if (launch.owner != context || launch.record.over()) return;
        if (launch.record.state == LaunchRecord::State::running)
            return cutShort(launch, LaunchRecord::State::discarded, sim_.now());
        launch.record.state = LaunchRecord::State::discarded;
        launch.spec.program.reset();
    });
}

void Machine::forget(LaunchId id) {
    if (!launches_.at(id).record.over()) throw Error("launch {} is not over", id);
    launches_.forget(id);
    units_.forgetLaunch(id);
}

/// False if there is none.
bool Machine::fail(const std::vector<FailedLaunch>& launches) {
    for (const FailedLaunch& launch : launches)
        if (!launches_[launch.id].record.over()) launchFailed(launch.id, launch.error, sim_.now());
    return !launches.empty();
}

/// Until `done`, or until nothing can happen any more. Time does not pass over `until`.
template <class Done>
void Machine::run(Done&& done, Cycles until) {
    wakeFunctional_ = sim_.now();  // the host may have done something
    for (std::uint32_t beats = 1;; ++beats) {
        if (sim_.now() >= nextSample_) sample(sim_.now());
        if (sim_.now() >= watch_.due()) {
            const std::vector<FailedLaunch> endless = watch_.check();
            if (hostExpected_ && !endless.empty()) return;
            fail(endless);
        }
        if (sim_.now() >= limits_.due()) fail(limits_.check());
        sim_.handleEvents();
        if (done() || std::exchange(interrupted_, false) || (pause_ && pause_())) return;
        if (slicer_.draining() && units_.requests(slicer_.active()) == 0) slicer_.leave();

        if (functional_ && giveFunctionalTurn()) continue;
        transfers_.compete(slicer_.issuing() && slicer_.issuing()->hasWork());
        const Cycles event = std::min({sim_.nextEvent(), until, functional_ ? functional_->due() : kNever});
        if (event <= sim_.now()) continue;
        const Cycles end = std::min(sim_.now() + units_.longestWindow(), event);
        if (sim_.now() >= retryUntimed_) dispatcher_.schedule();
        dispatcher_.dispatch(end);
        if (fail(std::exchange(untimedFailures_, {}))) continue;
        transfers_.send(end);
        const Cycles next =
            std::min({units_.nextEvent(slicer_.active(), slicer_.issuing()), dispatcher_.next(), transfers_.next()});
        if (next < end) {
            runWindow(end);
        } else if (const Cycles idle = std::min(next, event); idle != kNever) {
            units_.advanceTo(idle, slicer_.active(), false);
            sim_.advanceTo(idle);
        } else if (retryUntimed_ != kNever) {
            retryUntimed_ = sim_.now();  // nobody is left that they could wait for
        } else if (functional_ && functional_->waiting()) {
            if (hostExpected_) return;
            functional_->wakeInVain();
        } else if (hostExpected_ || !fail(watch_.stuck())) {
            return;
        }
        if ((beats & 0x3f) == 0 && options_.heartbeat) options_.heartbeat(*this);
    }
}

void Machine::runWindow(Cycles end) {
    SmGroup* group = slicer_.active();
    shared_.windowEnd = end;
    // An observer's samples are no reason for units to meet: what they do must not depend on who looks on.
    while (nextSample_ < end) {
        const Cycles when = nextSample_;
        units_.advanceTo(when, group, slicer_.issuing());
        units_.tellObserver();
        sample(when);
    }
    units_.advanceTo(end, group, slicer_.issuing());
    sim_.advanceTo(end);
    units_.exchange(group);
    transfers_.collect();
    units_.tellObserver();
    if (!group) return;
    tellBegun(*group);
    readNotices(*group);
    endDrained(*group);
}

void Machine::sample(Cycles when) {
    const Cycles interval = sim_.observer->sampleInterval();
    nextSample_ = (when / interval + 1) * interval;
    const SmGroup* group = slicer_.active();
    if (!group) return;
    std::vector<std::uint32_t> active;
    for (const auto& sm : group->sms()) {
        const SmSample sample = sm->sample();
        sim_.observer->sampleSm(when, static_cast<std::uint32_t>(active.size()), sample);
        active.push_back(sample.activeWarps);
    }
    sim_.observer->sample(when, totals(), active);
}

double Machine::fractionDone(LaunchId id) const {
    const Launch& launch = launches_.at(id);
    return 1.0 - static_cast<double>(launch.blocksLeft) / static_cast<double>(launch.spec.grid.count());
}

const Sm& Machine::sm(ContextId context, std::uint32_t index) const {
    return *slicer_.groups()[contexts_.at(context).group]->sms().at(index);
}

void Machine::finishLaunch(LaunchId id) {
    run([&] { return launches_[id].record.over(); });
}

void Machine::finishStream(StreamId id) {
    run([&] { return streams_.idle(id); });
}

void Machine::finishMarker(MarkerId id) {
    run([&] { return streams_.recordedAt(id).has_value(); });
}

Machine::Left Machine::work(const std::function<bool()>& stop) {
    bool stopped = false;
    const bool before = std::exchange(hostExpected_, true);
    run([&] { return stopped = stop(); });
    hostExpected_ = before;
    if (stopped) return Left::more;
    return streams_.allIdle() ? Left::nothing : Left::waiting;
}

void Machine::runFor(Cycles cycles) {
    const Cycles end = sim_.now() + cycles;
    run([&] { return sim_.now() >= end; }, end);
}

}  // namespace bulkhead::sim
