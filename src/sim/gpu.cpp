#include "sim/gpu.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "sim/mem/memory_latency.h"

namespace bulkhead::sim {

Gpu::Gpu(arch::DeviceProfile profile, Options options)
    : profile_(std::move(profile)),
      options_(std::move(options)),
      policy_(findScheduler(options_.scheduler)),
      sim_(profile_),
      physical_(profile_),
      crossbar_(sim_) {
    sim_.observer = options_.observer;
    sim_.counters.emplace_back();
    sim_.storesUnderWay.push_back(0);
    launches_.emplace_back();
    const StageLatencies stages = stageLatencies(profile_);
    for (std::uint32_t c = 0; c < profile_.map.channels(); ++c) channels_.push_back(makeDramChannel(sim_, c));
    const std::uint32_t perChannel = profile_.map.slices() / profile_.map.channels();
    for (std::uint32_t s = 0; s < profile_.map.slices(); ++s) {
        slices_.push_back(std::make_unique<L2Slice>(sim_, s, crossbar_, *channels_[s / perChannel]));
        slices_.back()->setMissLatency(stages.miss);
        crossbar_.attach(*slices_.back());
    }
    if (sim_.observer && sim_.observer->sampleInterval()) nextSample_ = sim_.observer->sampleInterval();
}

Gpu::~Gpu() = default;

std::uint32_t Gpu::newGroup() {
    Group group;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(profile_.sm.count); ++i) {
        const std::uint32_t port = ports_++;
        group.sms.push_back(std::make_unique<Sm>(sim_, crossbar_, static_cast<SmOwner&>(*this), port, i, policy_));
        crossbar_.attach(*group.sms.back());
    }
    group.runnable.resize((group.sms.size() + 63) / 64, 0);
    groups_.push_back(std::move(group));
    return static_cast<std::uint32_t>(groups_.size() - 1);
}

ContextId Gpu::createContext(Sharing sharing) {
    Context context;
    context.memory = std::make_unique<ContextMemory>(physical_, profile_, static_cast<std::uint32_t>(contexts_.size()));
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

void Gpu::destroyContext(ContextId id) {
    Context& context = contexts_.at(id);
    context.memory.reset();
    if (context.group != concurrentGroup_) spareGroups_.push_back(context.group);
}

LoadedModule Gpu::load(ContextId id, const ptx::Module& module) {
    LoadedModule loaded;
    loaded.program = lower(module);
    loaded.context = id;
    ContextMemory& memory = *contexts_.at(id).memory;
    for (Program::Global& global : loaded.program->globals) {
        const Bytes bytes = std::max<std::uint64_t>(global.bytes, 1);
        global.address = global.isManaged ? memory.allocateManaged(bytes) : memory.allocate(bytes);
    }
    link(*loaded.program);
    for (const Program::Global& global : loaded.program->globals) {
        const std::vector<std::uint8_t> bytes = initialBytes(*loaded.program, global);
        if (!bytes.empty()) std::memcpy(memory.host(global.address, bytes.size()), bytes.data(), bytes.size());
    }
    return loaded;
}

StreamId Gpu::createStream(ContextId context) {
    streams_.push_back({context, {}});
    return static_cast<StreamId>(streams_.size() - 1);
}

LaunchId Gpu::launch(StreamId streamId, LaunchSpec spec) {
    const Stream& stream = streams_.at(streamId);
    const Code& code = *spec.code;
    if (spec.grid.x > 0x7fff'ffff || spec.grid.y > 0xffff || spec.grid.z > 0xffff)
        throw Error("{}: a grid of ({},{},{}) is too large: at most (2147483647,65535,65535)", code.name, spec.grid.x,
                    spec.grid.y, spec.grid.z);
    if (spec.grid.count() == 0)
        throw Error("{}: a grid of ({},{},{}) has no blocks", code.name, spec.grid.x, spec.grid.y, spec.grid.z);
    if (spec.params.size() != code.kernelParamBytes)
        throw Error("{}: {} bytes of parameters given, {} wanted", code.name, spec.params.size(),
                    code.kernelParamBytes);
    if (!spec.sms.empty() && (spec.sms.size() != static_cast<std::size_t>(profile_.sm.count) ||
                              std::find(spec.sms.begin(), spec.sms.end(), true) == spec.sms.end()))
        throw Error("{}: the mask of SMs must name at least one of {}", code.name, profile_.sm.count);

    const auto id = static_cast<LaunchId>(launches_.size());
    Launch launch;
    launch.record.occupancy = occupancyOf(profile_, code, spec.block, spec.dynamicShared);
    launch.record.id = id;
    launch.record.kernel = code.name;
    launch.record.grid = spec.grid;
    launch.record.block = spec.block;
    launch.record.submitted = sim_.now;
    launch.stream = streamId;
    launch.group = contexts_[stream.context].group;
    launch.blocksLeft = spec.grid.count();
    launch.context.program = spec.program.get();
    launch.context.code = &code;
    launch.context.grid = spec.grid;
    launch.context.block = spec.block;
    launch.context.dynamicShared = spec.dynamicShared;
    launch.context.params = spec.params;
    launch.context.gridId = id;
    launch.context.gridWorkspace = spec.gridWorkspace;
    launch.context.memory = &contexts_[stream.context].memory->space();
    launch.context.print = spec.print;
    launch.context.now = &sim_.now;
    launch.context.nsPerCycle = 1e3 / static_cast<double>(profile_.clock.coreMHz);
    launch.context.smCount = static_cast<std::uint32_t>(profile_.sm.count);
    launch.context.warpsPerSm = static_cast<std::uint32_t>(profile_.maxWarps());
    launch.spec = std::move(spec);
    launches_.push_back(std::move(launch));
    sim_.counters.emplace_back();
    sim_.storesUnderWay.push_back(0);
    ++unfinished_;

    Command command;
    command.kind = Command::Kind::launch;
    command.launch = id;
    streams_[streamId].commands.push_back(std::move(command));
    pump(streamId);
    return id;
}

void Gpu::enqueue(StreamId stream, Cycles duration, std::function<void()> action) {
    Command command;
    command.kind = Command::Kind::action;
    command.duration = duration;
    command.action = std::move(action);
    streams_.at(stream).commands.push_back(std::move(command));
    pump(stream);
}

MarkerId Gpu::createMarker() {
    markers_.emplace_back();
    return static_cast<MarkerId>(markers_.size() - 1);
}

void Gpu::record(StreamId stream, MarkerId marker) {
    markers_.at(marker).at.reset();
    Command command;
    command.kind = Command::Kind::record;
    command.marker = marker;
    streams_.at(stream).commands.push_back(std::move(command));
    pump(stream);
}

void Gpu::wait(StreamId stream, MarkerId marker) {
    Command command;
    command.kind = Command::Kind::wait;
    command.marker = marker;
    streams_.at(stream).commands.push_back(std::move(command));
    pump(stream);
}

/// Starts whatever is at the head of a stream.
void Gpu::pump(StreamId id) {
    Stream& stream = streams_[id];
    while (!stream.commands.empty() && !stream.commands.front().begun) {
        Command& head = stream.commands.front();
        switch (head.kind) {
            case Command::Kind::launch:
                head.begun = true;
                ++pendingCommands_;
                sim_.events.push(sim_.now + static_cast<Cycles>(profile_.launch.latency), EventKind::command, id);
                return;
            case Command::Kind::action:
                head.begun = true;
                ++pendingCommands_;
                sim_.events.push(sim_.now + head.duration, EventKind::command, id);
                return;
            case Command::Kind::record: {
                Marker& marker = markers_[head.marker];
                marker.at = sim_.now;
                const std::vector<StreamId> waiting = std::move(marker.waiting);
                marker.waiting.clear();
                stream.commands.pop_front();
                for (StreamId other : waiting) pump(other);
                break;
            }
            case Command::Kind::wait: {
                Marker& marker = markers_[head.marker];
                if (!marker.at) {
                    marker.waiting.push_back(id);
                    return;
                }
                stream.commands.pop_front();
                break;
            }
        }
    }
}

void Gpu::finishCommand(StreamId id) {
    streams_[id].commands.pop_front();
    pump(id);
}

void Gpu::startLaunch(LaunchId id) {
    Launch& launch = launches_[id];
    launch.record.state = LaunchRecord::State::running;
    launch.record.started = sim_.now;
    if (launch.spec.maxCycles) {
        launch.deadline = sim_.now + launch.spec.maxCycles;
        earliestDeadline_ = std::min(earliestDeadline_, launch.deadline);
    }
    Group& group = groups_[launch.group];
    group.running.push_back(id);
    for (std::size_t i = 0; i < group.sms.size(); ++i)
        if (launch.spec.sms.empty() || launch.spec.sms[i]) group.sms[i]->beginLaunch(launch.record.occupancy.l1Bytes);
    if (sim_.observer) sim_.observer->launchStarted(sim_.now, id);
    if (limitReached_) return launchFailed(id, overInstructionLimit(launch));
    considerSwitch();
    scheduleDispatch(sim_.now);
}

void Gpu::tryEnd(Launch& launch) {
    if (launch.blocksLeft == 0 && sim_.storesUnderWay[launch.record.id] == 0) endLaunch(launch);
}

void Gpu::endLaunch(Launch& launch) {
    if (launch.record.over()) return;
    launch.record.state = launch.record.error ? LaunchRecord::State::failed : LaunchRecord::State::done;
    launch.record.ended = sim_.now;
    std::erase(groups_[launch.group].running, launch.record.id);
    endedInstructions_ += sim_.counters[launch.record.id].warpInstructions;
    --unfinished_;
    if (sim_.observer) sim_.observer->launchEnded(sim_.now, launch.record.id);
    launch.spec.program.reset();
    finishCommand(launch.stream);
    considerSwitch();
    scheduleDispatch(sim_.now);
}

void Gpu::blockFinished(std::uint32_t, LaunchId id) {
    Launch& launch = launches_[id];
    --launch.blocksLeft;
    tryEnd(launch);
    if (hasWork(launch.group)) scheduleDispatch(sim_.now + 1);
}

void Gpu::storesDrained(LaunchId id) {
    Launch& launch = launches_[id];
    if (launch.record.state == LaunchRecord::State::running) tryEnd(launch);
}

void Gpu::launchFailed(LaunchId id, const LaunchError& error) {
    Launch& launch = launches_[id];
    launch.record.error = error;
    for (const auto& sm : groups_[launch.group].sms) sm->abandon(id);
    launch.nextBlock = launch.spec.grid.count();
    launch.blocksLeft = 0;
    endLaunch(launch);
}

void Gpu::scheduleDispatch(Cycles when) {
    if (when >= dispatchAt_) return;
    dispatchAt_ = when;
    sim_.events.push(when, EventKind::dispatch, 0);
}

/// Places one block. Launches are served in the order in which they started; a later one may only use SMs that no
/// earlier one with blocks to place could use.
void Gpu::dispatch() {
    if (sim_.now != dispatchAt_) return;
    dispatchAt_ = kNever;
    if (draining_ || groups_.empty()) return;
    Group& group = groups_[active_];
    std::vector<bool> claimed;
    for (LaunchId id : group.running) {
        Launch& launch = launches_[id];
        if (launch.nextBlock == launch.spec.grid.count() || !withinThreadLimit(group, launch)) continue;
        if (placeBlock(group, launch, claimed)) {
            scheduleDispatch(sim_.now + static_cast<Cycles>(profile_.launch.blockInterval));
            return;
        }
        if (launch.spec.sms.empty()) return;
        if (claimed.empty()) claimed.assign(group.sms.size(), false);
        for (std::size_t i = 0; i < claimed.size(); ++i) claimed[i] = claimed[i] || launch.spec.sms[i];
    }
}

bool Gpu::withinThreadLimit(const Group& group, const Launch& launch) const {
    const ContextId context = streams_[launch.stream].context;
    const std::uint64_t limit = contexts_[context].threadLimit;
    if (limit == 0) return true;
    std::uint64_t resident = 0;
    for (LaunchId id : group.running) {
        const Launch& other = launches_[id];
        if (streams_[other.stream].context != context) continue;
        const std::uint64_t ended = other.spec.grid.count() - other.blocksLeft;
        resident += (other.nextBlock - ended) * other.spec.block.count();
    }
    return resident == 0 || resident + launch.spec.block.count() <= limit;
}

namespace {

/// What %smid says on a multiprocessor.
std::uint32_t nameOf(std::uint32_t sm, const LaunchSpec& spec) {
    if (!spec.numberedAnew || spec.sms.empty()) return sm;
    return static_cast<std::uint32_t>(std::count(spec.sms.begin(), spec.sms.begin() + sm, true));
}

}  // namespace

bool Gpu::placeBlock(Group& group, Launch& launch, const std::vector<bool>& claimed) {
    const auto count = static_cast<std::uint32_t>(group.sms.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t sm = (group.nextSm + i) % count;
        if (!launch.spec.sms.empty() && !launch.spec.sms[sm]) continue;
        if (!claimed.empty() && claimed[sm]) continue;
        if (!group.sms[sm]->fits(launch.record.occupancy.needs)) continue;
        const std::uint64_t n = launch.nextBlock++;
        const Dim3& grid = launch.spec.grid;
        const Dim3 index{static_cast<std::uint32_t>(n % grid.x), static_cast<std::uint32_t>(n / grid.x % grid.y),
                         static_cast<std::uint32_t>(n / grid.x / grid.y)};
        group.nextSm = (sm + 1) % count;
        group.sms[sm]->startBlock(launch.context, launch.record.id, launch.record.occupancy.needs, index, n,
                                  nameOf(sm, launch.spec));
        return true;
    }
    return false;
}

std::optional<std::uint32_t> Gpu::nextGroupWithWork() const {
    const auto count = static_cast<std::uint32_t>(groups_.size());
    for (std::uint32_t i = 1; i < count; ++i)
        if (hasWork((active_ + i) % count)) return (active_ + i) % count;
    return std::nullopt;
}

/// Time slicing: while another group has work, a quantum runs; a group without work gives way at once.
void Gpu::considerSwitch() {
    if (draining_ || !nextGroupWithWork()) return;
    if (!hasWork(active_)) {
        beginSwitch();
    } else if (!quantumRunning_) {
        quantumRunning_ = true;
        const auto length = static_cast<Cycles>(profile_.sharing.quantumUs * profile_.clock.coreMHz);
        sim_.events.push(sim_.now + std::max<Cycles>(length, 1), EventKind::timeSlice, ++quantum_);
    }
}

void Gpu::beginSwitch() {
    draining_ = true;  // SMs issue no more; run() waits until nothing is in flight
    quantumRunning_ = false;
    ++quantum_;
}

void Gpu::switchTo(std::uint32_t group) {
    for (const auto& sm : groups_[active_].sms) sm->freeze();
    active_ = group;
    draining_ = switching_ = false;
    for (const auto& sm : groups_[active_].sms) sm->wake();
    if (sim_.observer) sim_.observer->contextSwitched(sim_.now, group);
    considerSwitch();
    scheduleDispatch(sim_.now);
}

void Gpu::handle(const Event& event) {
    switch (event.kind) {
        case EventKind::smWake:
            smRunnable(event.subject);
            break;
        case EventKind::inject:
            crossbar_.inject(event.subject);
            break;
        case EventKind::sliceArrive:
            slices_[sim_.requests[event.subject].slice]->arrive(event.subject);
            break;
        case EventKind::sliceProcess:
            slices_[event.subject]->process();
            break;
        case EventKind::channelStep:
            channels_[event.subject]->step();
            break;
        case EventKind::dramDone:
            slices_[sim_.requests[event.subject].slice]->fill(event.subject);
            break;
        case EventKind::sliceAnswer:
            slices_[sim_.requests[event.subject].slice]->answer(event.subject);
            break;
        case EventKind::respond:
            crossbar_.respond(event.subject);
            break;
        case EventKind::deliver:
            crossbar_.deliver(event.subject);
            break;
        case EventKind::dispatch:
            dispatch();
            break;
        case EventKind::timeSlice:
            if (event.subject != quantum_) break;
            quantumRunning_ = false;
            if (nextGroupWithWork()) beginSwitch();
            break;
        case EventKind::switchDone:
            switchTo(event.subject);
            break;
        case EventKind::command: {
            --pendingCommands_;
            ++sim_.effects;
            Command& head = streams_[event.subject].commands.front();
            if (head.kind == Command::Kind::launch) {
                startLaunch(head.launch);
            } else {
                const std::function<void()> action = std::move(head.action);
                if (action) action();
                finishCommand(event.subject);
            }
            break;
        }
    }
}

void Gpu::smRunnable(std::uint32_t port) {
    const auto count = static_cast<std::uint32_t>(profile_.sm.count);
    const std::uint32_t group = groups_.size() > 1 ? port / count : 0;
    const std::uint32_t sm = port - group * count;
    groups_[group].runnable[sm >> 6] |= std::uint64_t{1} << (sm & 63);
}

bool Gpu::anyRunnable() const {
    if (draining_ || groups_.empty()) return false;
    const auto& words = groups_[active_].runnable;
    return std::any_of(words.begin(), words.end(), [](std::uint64_t word) { return word != 0; });
}

/// Only the SMs of the group that has the GPU; wake-ups of others stay noted.
void Gpu::tickSms() {
    if (draining_ || groups_.empty()) return;
    Group& group = groups_[active_];
    for (std::size_t word = 0; word < group.runnable.size(); ++word) {
        std::uint64_t rest = group.runnable[word];
        group.runnable[word] = 0;
        for (; rest; rest &= rest - 1) group.sms[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))]->tick();
    }
}

template <class Done>
void Gpu::run(Done&& done) {
    std::uint32_t beats = 0;
    while (true) {
        sim_.events.advance(sim_.now);
        if (sim_.now >= nextSample_) sample();
        if (sim_.now >= nextWatch_) watchProgress();
        if (sim_.now >= earliestDeadline_) checkDeadlines();
        if (sim_.now >= nextLimitCheck_) checkInstructionLimit();
        Event event;
        while (sim_.events.popAt(sim_.now, event)) handle(event);
        if (done()) return;
        if (draining_ && !switching_ && sim_.requests.live() == 0) {
            if (const auto group = nextGroupWithWork()) {
                switching_ = true;
                const auto cost = static_cast<Cycles>(profile_.sharing.switchUs * profile_.clock.coreMHz);
                sim_.events.push(sim_.now + std::max<Cycles>(cost, 1), EventKind::switchDone, *group);
            } else {
                draining_ = false;
            }
        }
        tickSms();
        while (sim_.events.popAt(sim_.now, event)) handle(event);  // what the ticks brought about at once
        if (anyRunnable()) {
            ++sim_.now;
        } else if (const Cycles next = sim_.events.next(); next != kNever) {
            sim_.now = next;
        } else if (!breakDeadlock()) {
            return;
        }
        if ((++beats & 0x3ff) == 0 && options_.heartbeat) options_.heartbeat(*this);
    }
}

/// Nothing can happen any more. Launches that have not ended never will: each is ended with the reason. False if there
/// was nothing to break.
bool Gpu::breakDeadlock() {
    if (groups_.empty()) return false;
    const std::vector<LaunchId> stuck = groups_[active_].running;
    for (LaunchId id : stuck) {
        std::string why;
        for (const auto& sm : groups_[active_].sms)
            if (why.empty()) why = sm->explainStuck(id);
        if (why.empty()) why = fmt::format("kernel {} can make no progress", launches_[id].record.kernel);
        launchFailed(id, LaunchError(LaunchError::Cause::deadlock, why));
    }
    return !stuck.empty();
}

/// A warp that comes back to a state it was in, while nothing happened that it could be waiting for, will do so for
/// ever. When that holds for every warp, no launch can end any more. States are compared only once nothing has happened
/// for a whole interval, so that ordinary kernels pay nothing.
void Gpu::watchProgress() {
    nextWatch_ = sim_.now + kWatchInterval;
    const bool alone = !draining_ && !groups_.empty() && hasWork(active_) && !nextGroupWithWork() &&
                       !pendingCommands_ && dispatchAt_ == kNever;
    if (!alone || sim_.effects != watchedEffects_) {
        watchedEffects_ = sim_.effects;
        sim_.watching = false;
        return;
    }
    const auto& sms = groups_[active_].sms;
    if (!sim_.watching) {
        for (const auto& sm : sms) sm->snapshotWarps();
        sim_.watching = true;
        watchBegun_ = sim_.now;
        return;
    }
    if (!std::all_of(sms.begin(), sms.end(), [](const auto& sm) { return sm->allWarpsLoop(); })) {
        // A longer period than an interval: begin again with the state of now, and give it twice as long.
        for (const auto& sm : sms) sm->snapshotWarps();
        nextWatch_ = sim_.now + 2 * (nextWatch_ - watchBegun_);
        watchBegun_ = sim_.now;
        return;
    }
    for (LaunchId id : std::vector<LaunchId>(groups_[active_].running)) {
        std::string why;
        for (const auto& sm : sms)
            if (why.empty()) why = sm->explainLoop(id);
        if (why.empty())
            why = fmt::format("no progress: kernel {} waits for one that goes round in circles",
                              launches_[id].record.kernel);
        launchFailed(id, LaunchError(LaunchError::Cause::noProgress, why));
    }
    sim_.watching = false;
}

void Gpu::checkDeadlines() {
    earliestDeadline_ = kNever;
    for (Group& group : groups_) {
        for (LaunchId id : std::vector<LaunchId>(group.running)) {
            Launch& launch = launches_[id];
            if (launch.deadline <= sim_.now) {
                launchFailed(id, LaunchError(LaunchError::Cause::timeout,
                                             fmt::format("kernel {} did not end within {} cycles", launch.record.kernel,
                                                         launch.spec.maxCycles)));
            } else {
                earliestDeadline_ = std::min(earliestDeadline_, launch.deadline);
            }
        }
    }
}

void Gpu::limitInstructions(std::uint64_t warpInstructions) {
    instructionLimit_ = warpInstructions;
    nextLimitCheck_ = sim_.now;
}

LaunchError Gpu::overInstructionLimit(const Launch& launch) const {
    return LaunchError(LaunchError::Cause::timeout,
                       fmt::format("kernel {} was ended by the limit of {} warp instructions", launch.record.kernel,
                                   instructionLimit_));
}

void Gpu::checkInstructionLimit() {
    nextLimitCheck_ = sim_.now + kLimitInterval;
    std::uint64_t executed = endedInstructions_;
    for (const Group& group : groups_)
        for (LaunchId id : group.running) executed += sim_.counters[id].warpInstructions;
    if (executed < instructionLimit_) return;
    limitReached_ = true;
    nextLimitCheck_ = kNever;
    for (const Group& group : groups_)
        for (LaunchId id : std::vector<LaunchId>(group.running)) launchFailed(id, overInstructionLimit(launches_[id]));
}

void Gpu::sample() {
    const Cycles interval = sim_.observer->sampleInterval();
    std::vector<std::uint32_t> active;
    for (std::uint32_t i = 0; i < groups_[active_].sms.size(); ++i) {
        const SmSample sample = groups_[active_].sms[i]->sample();
        active.push_back(sample.activeWarps);
        sim_.observer->sampleSm(sim_.now, i, sample);
    }
    sim_.observer->sample(sim_.now, totals(), active);
    nextSample_ = (sim_.now / interval + 1) * interval;
}

Counters Gpu::totals() const {
    Counters sum;
    for (const Counters& counters : sim_.counters) sum += counters;
    return sum;
}

const Sm& Gpu::sm(ContextId context, std::uint32_t index) const {
    return *groups_[contexts_.at(context).group].sms.at(index);
}

void Gpu::finishLaunch(LaunchId id) {
    run([&] { return launches_[id].record.over(); });
}

void Gpu::finishStream(StreamId id) {
    run([&] { return streams_[id].commands.empty(); });
}

void Gpu::finishMarker(MarkerId id) {
    run([&] { return markers_[id].at.has_value(); });
}

void Gpu::finishAll() {
    run([&] {
        return unfinished_ == 0 &&
               std::all_of(streams_.begin(), streams_.end(), [](const Stream& s) { return s.commands.empty(); });
    });
}

void Gpu::runFor(Cycles cycles) {
    const Cycles end = sim_.now + cycles;
    // A wake-up of nobody: time stops here even if nothing else happens.
    sim_.events.push(end, EventKind::dispatch, 0);
    run([&] { return sim_.now >= end; });
}

}  // namespace bulkhead::sim
