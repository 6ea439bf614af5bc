#include "sim/sm/sm.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/close_look.h"
#include "sim/exec/cluster.h"
#include "sim/mem/crossbar.h"
#include "sim/sm/redirecting_load_store.h"
#include "sim/sm/tensor_cores.h"

namespace bulkhead::sim {
namespace {

/// A function's registers have their own scoreboard numbers: no load may be under way across a call or return.
bool changesFrame(Kind kind) {
    return kind == Kind::call || kind == Kind::callIndirect || kind == Kind::ret;
}

std::unique_ptr<LoadStore> makeLoadStore(bool redirects, SimContext& sim, SmPort& port, Sm& sm,
                                         std::uint32_t portNumber) {
    if (redirects) return std::make_unique<RedirectingLoadStore>(sim, port, sm, portNumber);
    return std::make_unique<LoadStore>(sim, port, sm, portNumber);
}

}  // namespace

Sm::Sm(SimShared& shared, const CrossbarLatency& latency, Observer* observer, std::uint32_t port, std::uint32_t id,
       const SchedulerChoice& policy)
    : sim_(shared, observer),
      closeLook_(observer ? observer->closeLook(id) : nullptr),
      port_(sim_, latency, *this),
      portNumber_(port),
      id_(id),
      effects_(sim_.now()),
      policy_(policy.make({shared.config.sm.schedulers, shared.config.sm.warps, &sim_, 0, id})),
      loadStore_(makeLoadStore(policy_->redirects(), sim_, port_, *this, port)),
      bulkCopies_(sim_, port_, *this, effects_, port),
      instructions_(sim_, port_, port),
      lineShift_(instructions_.lineShift()),
      startLine_(instructions_.exists() ? InstructionCache::kNoLine : 0),
      own_(shared.config.sm.schedulers, 0),
      slots_(shared.config.sm.warps),
      residents_(shared.config.sm.blocks),
      units_(shared.config.sm.units),
      sharedMemory_(shared.config.shared.banks * shared.config.shared.bankBytes),
      sharedBytes_(shared.config.sm.sharedBytes),
      freeRegisters_(shared.config.sm.registers),
      freeShared_(shared.config.sm.sharedBytes),
      freeWarps_(shared.config.sm.warps),
      // Local memory lies beyond what can be allocated.
      localBase_(std::bit_ceil(shared.config.dram.bytes) + std::uint64_t{port} * kMaxWarps * kLocalStride),
      issueWidth_(shared.config.sm.issueWidth),
      guardLatency_(shared.config.sm.guardLatency),
      sleepCause_(own_.size(), Stall::idle) {
    sim_.onEvent<&Sm::wakeUp>(EventKind::smWake, *this);
    sim_.onEvent<&Sm::startBlock>(EventKind::blockStart, *this);
    sim_.onEvent<&Sm::fetched>(EventKind::fetched, *this);
    sim_.onEvent<&Sm::phaseAwaited>(EventKind::phaseAwaited, *this);
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) own_[slot % own_.size()] |= bitOf(slot);
    for (unsigned unit = 0; unit < arch::kUnits; ++unit) {
        contended_[unit] = units_.count(unit) < own_.size();
    }
}

bool Sm::fits(const BlockNeeds& needs, const OnChipDivision& division) const {
    return residentBlocks_ < residents_.size() && needs.warps <= freeWarps_ && needs.registers <= freeRegisters_ &&
           needs.shared <= (empty() ? sharedWith(division) : freeShared_);
}

bool Sm::fitsBeside(const Sm& twin, const BlockNeeds& needs, const OnChipDivision& division) const {
    const MachineConfig& config = sim_.config;
    const auto left = [](Bytes free, Bytes taken) { return free > taken ? free - taken : 0; };
    // Whoever came first has divided the memory.
    const Bytes undivided = twin.empty() ? sharedWith(division) : twin.sharedBytes_;
    const Bytes takenByTwin = twin.empty() ? 0 : twin.sharedBytes_ - twin.freeShared_;
    return residentBlocks_ + twin.residentBlocks_ < residents_.size() &&
           needs.warps <= left(freeWarps_, config.sm.warps - twin.freeWarps_) &&
           needs.registers <= left(freeRegisters_, config.sm.registers - twin.freeRegisters_) &&
           needs.shared <= left(empty() ? undivided : freeShared_, takenByTwin);
}

void Sm::divide(const OnChipDivision& division) {
    sharedBytes_ = freeShared_ = sharedWith(division);
    loadStore_->setCapacity(division.l1Bytes, division.sharedBytes);
}

void Sm::beginLaunch() {
    if (empty()) policy_->kernelStarted();
    if (closeLook_) closeLook_->forgetPlaces();
    loadStore_->invalidate();
}

std::uint32_t Sm::bringCode(const Program& program, const Code& code) {
    if (!instructions_.exists() || code.firstPlace == code.endPlace) return 0;
    const std::uint32_t first = code.firstPlace >> lineShift_,
                        end = std::min(((code.endPlace - 1) >> lineShift_) + 1,
                                       first + sim_.config.instruction.launchLines);
    std::uint32_t missing = 0;
    for (std::uint32_t line = first; line < end; ++line) missing += instructions_.bring(program, line);
    return missing;
}

void Sm::placeBlock(Cycles start, const LaunchContext& context, std::uint32_t launch, const BlockNeeds& needs,
                    const OnChipDivision& division, Dim3 index, std::uint64_t number, std::uint32_t name,
                    Cluster* cluster, std::uint32_t rank) {
    if (empty()) divide(division);
    std::uint32_t r = 0;
    while (residents_[r].block) ++r;
    Resident& resident = residents_[r];
    resident.block.emplace(context, index, name, &sim_.now(), &effects_, cluster, rank);
    resident.block->copies = &bulkCopies_;
    resident.launch = launch;
    resident.needs = needs;
    resident.number = number;
    resident.warpsLeft = needs.warps;
    resident.spareRegisters = 0;
    freeWarps_ -= needs.warps;
    freeRegisters_ -= needs.registers;
    freeShared_ -= needs.shared;
    ++residentBlocks_;
    sim_.schedule(start, EventKind::blockStart, r);
}

void Sm::startBlock(std::uint32_t r) {
    Resident& resident = residents_[r];
    const std::uint32_t launch = resident.launch;
    loadStore_->blockStarted(r, resident.needs.shared);
    if (!occupied_) {
        stalled_ = launch;
        occupiedSince_ = sim_.now();
    }
    sim_.noteEffect();
    ++sim_.counters(launch).blocks;
    if (sim_.observer) sim_.observer->blockStarted(sim_.now(), id_, r, launch, resident.number);

    std::size_t scoreboard = 0;
    for (const Code& code : resident.block->launch->program->codes)
        scoreboard = std::max<std::size_t>(scoreboard, code.scoreboardIds);
    std::uint32_t slot = 0;
    for (std::uint32_t warp = 0; warp < resident.needs.warps; ++warp, ++slot) {
        while (occupied_ & bitOf(slot)) ++slot;
        resident.slotOf[warp] = static_cast<std::uint8_t>(slot);
        Slot& s = slots_[slot];
        s.warp.start(*resident.block, warp, slot);
        s.registerReady.assign(scoreboard, 0);
        s.resident = r;
        s.launch = launch;
        s.since = s.lastIssue = sim_.now();
        ++s.generation;
        s.loads = 0;
        s.wait = Wait::none;
        s.line = startLine_;
        s.registers = resident.needs.registers / resident.needs.warps;
        s.openCopies = 0;
        s.firstGroup = 0;
        s.groupCopies.clear();
        s.matrixDone = 0;
        s.matrixGroups.clear();
        s.bulkReads.clear();
        s.bulkWrites.clear();
        occupied_ |= bitOf(slot);
        policy_->warpStarted(slot, nextAge_++);
        if (s.warp.finished()) {
            finishWarp(slot);
        } else {
            refresh(slot, sim_.now() + 1);
        }
    }
    wake();
}

/// Warps whose next instruction finds no unit in this cycle.
WarpMask Sm::waitingForUnits() const {
    WarpMask waiting = loadStore_->full() ? needs_[static_cast<int>(arch::Unit::ldst)] : 0;
    for (unsigned unit = 0; unit < arch::kUnits; ++unit) waiting |= units_.freeAt(unit) > sim_.now() ? needs_[unit] : 0;
    return waiting;
}

void Sm::issueMemory(std::uint32_t slot, const Instr& instr) {
    Slot& s = slots_[slot];
    const auto accesses = s.warp.accesses();
    if (accesses.empty()) return;  // every lane's guard was false
    if (accesses.front().kind == AccessKind::store || s.warp.takeChange()) sim_.noteEffect();
    const Route route = policy_->watchesCache() ? policy_->route(slot) : Route::l1;
    const LoadStore::Issued issued = loadStore_->issue(s.warp, slot, s.launch, route);
    if (accesses.front().space == ptx::Space::shared)
        sharedMemory_.take(sim_.now(), issued.passes * sharedMemory_.width());
    if (issued.passes > 1)
        units_.prolong(s.unit, sim_.now() + sim_.config.sm.interval[static_cast<std::size_t>(instr.opClass)],
                       sim_.now() + issued.passes);
    s.stores += issued.stores;
    stores_.sent(s.launch, issued.stores);
    if (issued.load == LoadStore::kNoLoad) {
        for (std::uint8_t i = 0; i < instr.writes; ++i) s.registerReady[instr.registers[i]] = issued.readyAt;
        return;
    }
    if (issued.load >= loads_.size()) loads_.resize(issued.load + 1);
    LoadInfo& info = loads_[issued.load];
    info.slot = slot;
    info.generation = s.generation;
    info.since = sim_.now();
    info.async = accesses.front().kind == AccessKind::asyncCopy;
    info.count = instr.writes;
    ++s.loads;
    if (info.async) {
        info.group = s.firstGroup + s.groupCopies.size();
        ++s.openCopies;
    }
    for (std::uint8_t i = 0; i < instr.writes; ++i) {
        info.registers[i] = instr.registers[i];
        s.registerReady[instr.registers[i]] = kNever;
    }
}

void Sm::issue(std::uint32_t slot) {
    Slot& s = slots_[slot];
    const Cycles now = sim_.now();
    if (watching_) [[unlikely]]
        lookForLoop(s);
    while (s.warp.next().slots == 0) s.warp.step();  // what is part of it computes registers and cannot fail
    starving_ &= ~bitOf(slot);
    const Instr& instr = s.warp.next();
    const Code& code = s.warp.code();
    const auto opClass = static_cast<std::size_t>(instr.opClass);
    const Cycles interval = sim_.config.sm.interval[opClass];
    units_.occupy(s.unit, now + interval * instr.passes);
    Step step;
    try {
        step = s.warp.step();
    } catch (const LaunchError& error) {
        fail(slot, error);
        return;
    }
    if (closeLook_) [[unlikely]] {
        closeLook_->issued(*s.warp.launch().program, code, instr, step.lanes, now - s.lastIssue);
        s.lastIssue = now;
    }
    Counters& counters = sim_.counters(s.launch);
    counters.warpInstructions += instr.slots;
    counters.threadInstructions += std::uint64_t{step.lanes} * instr.slots;
    s.counters.instructions += instr.slots;
    ready_ &= ~bitOf(slot);
    Cycles done = now + sim_.config.sm.latency[opClass] + interval * (instr.passes - 1U);
    Cycles notBefore = now;  // a scheduler that issues two may take the next one in this cycle
    if (step.kind == StepKind::compute) {
        if (instr.opClass >= arch::OpClass::tensor) [[unlikely]]
            done = issueTensor(s, instr);
        for (std::uint8_t i = 0; i < instr.writes; ++i) s.registerReady[instr.registers[i]] = done;
    } else if (step.kind == StepKind::control) {
        notBefore = instr.passes > 1 ? done + sim_.config.sm.meetLatency : done;
    } else {
        if (step.kind == StepKind::barrierPass || step.kind == StepKind::barrierWait) done = arriveAtBarrier(done);
        if (!goesOn(slot, instr, step, done)) return;
        if (step.kind == StepKind::barrierPass) notBefore = done;
        if (step.kind == StepKind::matrixWait) notBefore = std::max(notBefore, matrixGroupsDone(s, step.groups));
        if (step.kind == StepKind::sleep) notBefore = now + cyclesAsleep(step.groups);
        if (instr.kind == Kind::clusterWait) notBefore = std::max(notBefore, clusterOpens(s.warp));
    }
    refresh(slot, notBefore);
    noteIssue(slot, step.lanes);
}

/// PTX leaves a sleep anything up to twice what was asked for: it takes just that.
Cycles Sm::cyclesAsleep(std::uint32_t nanoseconds) const {
    return nanoseconds * static_cast<Cycles>(sim_.profile.clock.coreMHz) / 1000;
}

/// When the result is there. A warpgroup's products wait for their tensor core without their warps.
Cycles Sm::issueTensor(Slot& s, const Instr& instr) {
    const Cycles now = sim_.now();
    const TensorTime time = tensorTime(instr, sim_.config);
    if (instr.opClass == arch::OpClass::tensor) {
        units_.prolong(s.unit, now + 1, now + time.interval);
        return now + time.latency;
    }
    constexpr auto kTensor = static_cast<unsigned>(arch::Unit::tensor);
    constexpr std::uint64_t kWarps = 4;  // of a warpgroup, each of which reads its part
    const Cycles start = std::max(now, units_.freeAt(kTensor));
    const Cycles read = sharedMemory_.takeLater(now, start, instr.reconverge / kWarps);
    const Cycles late = read > start + time.interval ? read - start - time.interval : 0;
    units_.occupy(kTensor, start + time.interval + late);
    s.matrixDone = std::max(s.matrixDone, start + time.latency + late);
    return now + 1;
}

/// When no more than so many groups of products are under way.
Cycles Sm::matrixGroupsDone(Slot& s, std::uint32_t groups) {
    if (s.matrixGroups.size() <= groups) return 0;
    const auto over = s.matrixGroups.end() - static_cast<std::ptrdiff_t>(groups);
    const Cycles done = *(over - 1);
    s.matrixGroups.erase(s.matrixGroups.begin(), over);
    return done;
}

/// When the warps of a barrier continue whose last one arrives now, by which a branch would have been done at `done`.
Cycles Sm::arriveAtBarrier(Cycles done) {
    const Cycles arrives = std::max(sim_.now(), barrierFree_);
    barrierFree_ = arrives + sim_.config.sm.barrierInterval;
    return done + (arrives - sim_.now()) + sim_.config.sm.barrierLatency;
}

/// What an instruction does beyond its own warp's registers. False if the warp then waits, or has ended.
bool Sm::goesOn(std::uint32_t slot, const Instr& instr, const Step& step, Cycles done) {
    Slot& s = slots_[slot];
    switch (step.kind) {
        case StepKind::compute:
        case StepKind::control:
            return true;
        case StepKind::memory:
        case StepKind::changePhase:
        case StepKind::awaitPhase:
            ++sim_.counters(s.launch).memoryInstructions;
            issueMemory(slot, instr);
            if (step.kind == StepKind::memory) [[likely]]
                return true;
            if (step.kind == StepKind::changePhase) {
                lookAtPhases();
                return true;
            }
            awaitPhase(slot, step.groups);
            noteIssue(slot, step.lanes);
            return false;
        case StepKind::barrierWait:
            sim_.noteEffect();
            s.wait = Wait::barrier;
            waitingBarrier_ |= bitOf(slot);
            if (policy_->throttles()) policy_->warpWaits(slot);
            noteIssue(slot, step.lanes);
            return false;
        case StepKind::clusterWait:
            waitFor(slot, waitingCluster_);
            noteIssue(slot, step.lanes);
            return false;
        case StepKind::awaitEarlier:
            waitFor(slot, waitingEarlier_);
            noteIssue(slot, step.lanes);
            return false;
        case StepKind::letDependents:
            notices_.push_back({.when = sim_.now(), .launch = s.launch, .ended = false, .letsDependents = true});
            return true;
        case StepKind::setRegisters:
            if (setRegisters(slot, step)) return true;
            waitFor(slot, waitingRegisters_);
            noteIssue(slot, step.lanes);
            return false;
        case StepKind::sleep:
            return true;
        case StepKind::barrierPass:
            sim_.noteEffect();
            for (std::uint8_t i = 0; i < instr.writes; ++i) s.registerReady[instr.registers[i]] = done;
            release(residents_[s.resident], step.released, done);
            return true;
        case StepKind::fence:
            if (!s.loads && !s.stores) return true;
            s.wait = Wait::fence;
            waitingLoad_ |= bitOf(slot);
            noteIssue(slot, step.lanes);
            return false;
        case StepKind::asyncCommit:
            s.groupCopies.push_back(s.openCopies);
            s.openCopies = 0;
            return true;
        case StepKind::asyncWait:
            s.waitGroups = step.groups;
            if (groupsDone(s)) return true;
            s.wait = Wait::async;
            waitingLoad_ |= bitOf(slot);
            noteIssue(slot, step.lanes);
            return false;
        case StepKind::matrixCommit:
            s.matrixGroups.push_back(s.matrixDone);
            return true;
        case StepKind::matrixWait:
            return true;
        case StepKind::bulkCommit:
            s.bulkReads.commit();
            s.bulkWrites.commit();
            return true;
        case StepKind::bulkWait:
            s.waitGroups = step.groups;
            s.waitsForReads = step.released != 0;
            if (bulkGroupsDone(s)) return true;
            s.wait = Wait::bulk;
            waitingLoad_ |= bitOf(slot);
            noteIssue(slot, step.lanes);
            return false;
        case StepKind::finished:
            noteIssue(slot, step.lanes);
            release(residents_[s.resident], step.released, sim_.now() + 1);
            finishWarp(slot);
            return false;
    }
    return true;
}

/// Until something that is not its own block's barrier lets it go on.
void Sm::waitFor(std::uint32_t slot, WarpMask& whom) {
    sim_.noteEffect();
    slots_[slot].wait = Wait::barrier;
    waitingBarrier_ |= bitOf(slot);
    whom |= bitOf(slot);
    if (policy_->throttles()) policy_->warpWaits(slot);
}

/// A warp whose mbarrier.try_wait has found a phase that is not over.
void Sm::awaitPhase(std::uint32_t slot, std::uint32_t nanoseconds) {
    Slot& s = slots_[slot];
    s.wait = Wait::phase;
    waitingLoad_ |= bitOf(slot);
    waitingPhase_ |= bitOf(slot);
    s.phaseAwaitedUntil = sim_.now() + std::max<Cycles>(cyclesAsleep(nanoseconds), 1);
    sim_.schedule(s.phaseAwaitedUntil, EventKind::phaseAwaited, slot);
    if (policy_->throttles()) policy_->warpWaits(slot);
}

void Sm::goOnAfterPhase(std::uint32_t slot) {
    waitingPhase_ &= ~bitOf(slot);
    if (policy_->throttles()) policy_->warpResumes(slot);
    refresh(slot, sim_.now());
    wake();
}

void Sm::phaseAwaited(std::uint32_t slot) {
    if ((waitingPhase_ & bitOf(slot)) && slots_[slot].phaseAwaitedUntil == sim_.now()) goOnAfterPhase(slot);
}

void Sm::lookAtPhases() {
    for (WarpMask rest = waitingPhase_; rest; rest &= rest - 1)
        if (const std::uint32_t slot = lowestSlot(rest); slots_[slot].warp.tryAgain()) goOnAfterPhase(slot);
}

void Sm::goOnAfterWaiting(std::uint32_t slot, WarpMask& whom, Cycles notBefore) {
    whom &= ~bitOf(slot);
    waitingBarrier_ &= ~bitOf(slot);
    if (policy_->throttles()) policy_->warpResumes(slot);
    refresh(slot, notBefore);
    wake();
}

/// A warp takes registers from its block's pool, or gives some to it and to those who wait. False if it has to wait.
bool Sm::setRegisters(std::uint32_t slot, const Step& step) {
    Slot& s = slots_[slot];
    if (!s.warp.launch().code->hasRegisterPool) return true;
    std::uint32_t& spare = residents_[s.resident].spareRegisters;
    const std::uint32_t wanted = step.groups * kLanes;
    const auto takes = [&](Slot& other) {
        if (other.wantedRegisters > other.registers + spare) return false;
        spare -= other.wantedRegisters - other.registers;
        other.registers = other.wantedRegisters;
        return true;
    };
    if (step.released) {
        s.wantedRegisters = std::max(wanted, s.registers);
        return takes(s);
    }
    if (wanted >= s.registers) return true;
    spare += std::exchange(s.registers, wanted) - wanted;
    for (WarpMask rest = waitingRegisters_; rest; rest &= rest - 1) {
        const std::uint32_t other = lowestSlot(rest);
        if (slots_[other].resident == s.resident && takes(slots_[other]))
            goOnAfterWaiting(other, waitingRegisters_, sim_.now() + 1);
    }
    return true;
}

void Sm::lookForLoop(Slot& s) {
    if (s.moved && !s.loops && s.warp.pc() == s.snapshot.pc) s.loops = s.warp.matches(s.snapshot);
    s.moved = true;
}

void Sm::fail(std::uint32_t slot, const LaunchError& error) {
    notices_.push_back({sim_.now(), slots_[slot].launch, error});
    ready_ &= ~bitOf(slot);
    slots_[slot].wait = Wait::end;
}

Cycles Sm::nextInRing() const {
    const std::uint32_t start = static_cast<std::uint32_t>(sim_.now() + 1) % kRing;
    constexpr std::uint32_t kWords = kRing / 64;
    for (std::uint32_t step = 0; step <= kWords; ++step) {
        const std::uint32_t word = (start / 64 + step) % kWords;
        std::uint64_t used = ringUsed_[word];
        if (step == 0) used &= ~std::uint64_t{0} << (start % 64);
        if (step == kWords) used &= ~(~std::uint64_t{0} << (start % 64));
        if (used) {
            const std::uint32_t found = word * 64 + static_cast<std::uint32_t>(std::countr_zero(used));
            return sim_.now() + 1 + (found - start) % kRing;
        }
    }
    return kNever;
}

Stall Sm::stallOf(int scheduler) const {
    const WarpMask own = own_[static_cast<std::size_t>(scheduler)] & occupied_;
    if (!own) return Stall::idle;
    if (offered() & own) return Stall::unit;
    if (ready_ & own) return Stall::throttled;
    if (waitingLoad_ & own) return Stall::memory;
    if (waitingFetch_ & own) return Stall::fetch;
    return own & ~waitingBarrier_ ? Stall::dependency : Stall::barrier;
}

/// Decides when there is something to do again.
void Sm::sleep() {
    const Cycles soon = sim_.now() + 1;
    if (loadStore_->working() || ring_[soon % kRing]) return wake();
    const WarpMask offer = offered();
    Cycles next = kNever;
    for (unsigned unit = 0; unit < arch::kUnits; ++unit) {
        if (!(offer & needs_[unit])) continue;
        // A full LD/ST queue wakes the SM itself when it moves.
        if (static_cast<arch::Unit>(unit) == arch::Unit::ldst && loadStore_->full()) continue;
        next = std::min(next, units_.freeAt(unit));
    }
    if (offer != ready_) next = std::min(next, policy_->due());
    if (next <= soon) return wake();
    next = std::min(next, nextInRing());
    for (std::size_t scheduler = 0; scheduler < own_.size(); ++scheduler)
        sleepCause_[scheduler] = stallOf(static_cast<int>(scheduler));
    if (next != kNever) sim_.schedule(next, EventKind::smWake, 0);
}

/// Warps that others have kept from issuing for too long.
void Sm::lookForStarving(Cycles now) {
    const Cycles longest = sim_.config.sm.longestWait;
    nextLook_ = longest ? now + longest / 4 + 1 : kNever;
    starving_ = 0;
    for (WarpMask rest = longest ? offered() : 0; rest; rest &= rest - 1)
        if (const std::uint32_t slot = lowestSlot(rest); now > slots_[slot].readyAt + longest) starving_ |= bitOf(slot);
}

void Sm::tick() {
    const Cycles now = sim_.now();
    if (now > lastTick_ + 1) {
        Counters& counters = sim_.counters(stalled_);
        for (Stall cause : sleepCause_) counters.stalls[static_cast<int>(cause)] += now - lastTick_ - 1;
    }
    lastTick_ = now;
    const std::uint32_t at = static_cast<std::uint32_t>(now) % kRing;
    if (ring_[at]) {
        WarpMask woken = ring_[at];
        ring_[at] = 0;
        ringUsed_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
        ready_ |= woken;
        for (; woken; woken &= woken - 1) {
            const std::uint32_t slot = lowestSlot(woken);
            slots_[slot].wait = Wait::none;
            if (slots_[slot].readyAt > now)
                makeReadyAt(slot, slots_[slot].readyAt);  // further off than the ring is long
        }
    }

    loadStore_->tick();
    if (now >= policy_->due()) policy_->advance(now);

    if (now >= nextLook_) lookForStarving(now);

    const std::size_t schedulers = own_.size();
    WarpMask waiting = waitingForUnits();
    const auto issueFrom = [&](std::uint32_t slot) {
        const unsigned unit = slots_[slot].unit;
        issue(slot);
        if (!unitFree(unit)) waiting |= needs_[unit];
    };
    std::size_t scheduler = turn_;
    for (std::size_t asked = 0; asked < schedulers; ++asked, ++scheduler) {
        if (scheduler == schedulers) scheduler = 0;
        const WarpMask eligible = offered() & own_[scheduler] & ~waiting;
        if (!eligible) {
            ++sim_.counters(stalled_).stalls[static_cast<int>(stallOf(static_cast<int>(scheduler)))];
            continue;
        }
        const WarpMask first = eligible & starving_;
        const auto slot = first ? lowestSlot(first)
                                : static_cast<std::uint32_t>(policy_->pick(static_cast<int>(scheduler), eligible));
        // Whoever had a unit that schedulers contend for comes last at the next one.
        if (contended_[slots_[slot].unit]) turn_ = scheduler + 1;
        issueFrom(slot);
        for (unsigned more = 1; more < issueWidth_ && (ready_ & bitOf(slot)) && unitFree(slots_[slot].unit); ++more)
            issueFrom(slot);
    }
    sleep();
}

void Sm::advanceTo(Cycles end, bool issues) {
    bulkCopies_.hold(!issues);
    while (sim_.now() < end) {
        sim_.handleEvents();
        if (issues && runnable_) {
            runnable_ = false;
            tick();
            sim_.handleEvents();  // what the tick brought about at once
        }
        const Cycles next = issues && runnable_ ? sim_.now() + 1 : sim_.nextEvent();
        sim_.advanceTo(std::min(next, end));
    }
}

/// Looks at the warp's next instruction and finds out when it can issue.
void Sm::refresh(std::uint32_t slot, Cycles notBefore) {
    Slot& s = slots_[slot];
    Cycles when = notBefore;
    const Cycles* const registerReady = s.registerReady.data();
    const Instr* issued = &s.warp.next();
    for (;; ++issued) {
        for (std::uint8_t i = 0; i < issued->dependencies; ++i)
            when = std::max(when, registerReady[issued->registers[i]]);
        if (issued->guardIsLast && when != kNever)
            when = std::max(when, registerReady[issued->registers[issued->dependencies - 1]] + guardLatency_);
        if (issued->slots != 0) break;
    }
    const Instr& next = *issued;
    const auto unit = static_cast<std::uint8_t>(arch::unitOf(next.opClass));
    if (unit != s.unit || !(needs_[unit] & bitOf(slot))) {
        needs_[s.unit] &= ~bitOf(slot);
        needs_[unit] |= bitOf(slot);
        s.unit = unit;
    }
    if (next.place >> lineShift_ != s.line && !fetch(slot, next, notBefore)) return;
    if (when == kNever || (s.loads && changesFrame(next.kind))) {
        s.wait = Wait::load;
        ready_ &= ~bitOf(slot);
        waitingLoad_ |= bitOf(slot);
        return;
    }
    makeReadyAt(slot, when);
}

/// Whether the next instruction is there; if not, the warp waits for it. One that is several machine instructions may
/// lie in several lines, which the warp goes through in turn.
bool Sm::fetch(std::uint32_t slot, const Instr& next, Cycles notBefore) {
    Slot& s = slots_[slot];
    const std::uint32_t first = (next.place + 1 - next.slots) >> lineShift_, last = next.place >> lineShift_;
    const bool isIn = s.line >= first && s.line < last;
    for (std::uint32_t line = isIn ? s.line + 1 : first; line <= last; ++line) {
        if (!instructions_.lookUp(*s.warp.launch().program, line, s.launch)) {
            s.wait = Wait::fetch;
            s.readyAt = notBefore;
            ready_ &= ~bitOf(slot);
            waitingLoad_ &= ~bitOf(slot);
            waitingFetch_ |= bitOf(slot);
            return false;
        }
        s.line = line;
    }
    return true;
}

void Sm::fetched(std::uint32_t) {
    for (WarpMask rest = std::exchange(waitingFetch_, 0); rest; rest &= rest - 1) {
        const std::uint32_t slot = lowestSlot(rest);
        refresh(slot, std::max(slots_[slot].readyAt, sim_.now()));
    }
    wake();
}

void Sm::receive(RequestId id) {
    if (BulkCopyUnit::owns(sim_.requests[id].token)) [[unlikely]]
        return bulkCopies_.receive(id);
    if (sim_.requests[id].token != InstructionCache::kToken) [[likely]]
        return loadStore_->receive(id);
    instructions_.receive(id);
    sim_.schedule(sim_.now(), EventKind::fetched, 0);
}

void Sm::makeReadyAt(std::uint32_t slot, Cycles when) {
    Slot& s = slots_[slot];
    const Cycles now = sim_.now();
    s.readyAt = when;
    waitingLoad_ &= ~bitOf(slot);
    if (when <= now) {
        s.wait = Wait::none;
        ready_ |= bitOf(slot);
        return;
    }
    s.wait = Wait::dependency;
    ready_ &= ~bitOf(slot);
    const auto at = static_cast<std::uint32_t>(std::min(when, now + kRing - 1)) % kRing;
    ring_[at] |= bitOf(slot);
    ringUsed_[at / 64] |= std::uint64_t{1} << (at % 64);
}

void Sm::release(const Resident& resident, std::uint64_t warps, Cycles notBefore) {
    for (; warps; warps &= warps - 1) {
        const std::uint32_t slot = resident.slotOf[std::countr_zero(warps)];
        if (slots_[slot].wait != Wait::barrier) continue;
        waitingBarrier_ &= ~bitOf(slot);
        if (policy_->throttles()) policy_->warpResumes(slot);
        refresh(slot, notBefore);
    }
}

/// When warps leave the barrier of their cluster whose phase is over.
Cycles Sm::clusterOpens(const Warp& warp) const {
    return warp.block().cluster->lastCompleted() + sim_.config.cluster.barrierLatency;
}

void Sm::meetOthers() {
    if (effects_.takeChange()) sim_.noteEffect();
    lookAtPhases();
    for (PendingEffects::Failure& failure : effects_.takeFailures())
        notices_.push_back(
            {failure.when, static_cast<std::uint32_t>(failure.launch->gridId), std::move(failure.error)});
    for (WarpMask rest = waitingCluster_; rest; rest &= rest - 1) {
        const std::uint32_t slot = lowestSlot(rest);
        const Warp& warp = slots_[slot].warp;
        if (warp.waitsForCluster()) continue;
        goOnAfterWaiting(slot, waitingCluster_, std::max(sim_.now(), clusterOpens(warp)));
    }
}

void Sm::earlierEnded(std::uint32_t launch) {
    for (WarpMask rest = waitingEarlier_; rest; rest &= rest - 1)
        if (const std::uint32_t slot = lowestSlot(rest); slots_[slot].launch == launch)
            goOnAfterWaiting(slot, waitingEarlier_, sim_.now());
}

/// Nobody has this slot any more.
void Sm::vacate(std::uint32_t slot) {
    Slot& s = slots_[slot];
    const WarpMask others = ~bitOf(slot);
    occupied_ &= others;
    ready_ &= others;
    waitingLoad_ &= others;
    waitingBarrier_ &= others;
    waitingCluster_ &= others;
    waitingRegisters_ &= others;
    waitingEarlier_ &= others;
    waitingPhase_ &= others;
    waitingFetch_ &= others;
    needs_[s.unit] &= others;
    s.wait = Wait::none;
    ++s.generation;
    Counters& counters = sim_.counters(s.launch);
    counters.warpCycles += sim_.now() - s.since;
    if (!occupied_) counters.smCycles += sim_.now() - occupiedSince_;
    policy_->warpFinished(slot);
}

void Sm::finishWarp(std::uint32_t slot) {
    sim_.noteEffect();
    vacate(slot);
    const std::uint32_t r = slots_[slot].resident;
    if (--residents_[r].warpsLeft) return;
    const Block& block = *residents_[r].block;
    notices_.push_back({.when = sim_.now(),
                        .launch = residents_[r].launch,
                        .cluster = block.cluster,
                        .rank = block.rank,
                        .letsDependents = !block.letDependents});
    removeBlock(r);
}

void Sm::removeBlock(std::uint32_t r) {
    Resident& resident = residents_[r];
    freeWarps_ += resident.needs.warps;
    freeRegisters_ += resident.needs.registers;
    freeShared_ += resident.needs.shared;
    loadStore_->blockEnded(r);
    bulkCopies_.forget(*resident.block);
    resident.block.reset();
    --residentBlocks_;
    if (!occupied_) stalled_ = 0;
    if (sim_.observer) sim_.observer->blockEnded(sim_.now(), id_, r, resident.launch, resident.number);
}

void Sm::abandon(std::uint32_t launch) {
    for (std::uint32_t r = 0; r < residents_.size(); ++r) {
        if (!residents_[r].block || residents_[r].launch != launch) continue;
        for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
            if (!(occupied_ & bitOf(slot)) || slots_[slot].resident != r) continue;
            for (WarpMask& mask : ring_) mask &= ~bitOf(slot);
            vacate(slot);
        }
        removeBlock(r);
    }
}

void Sm::freeze() {
    for (std::uint32_t i = 0; i < kRing; ++i) {
        for (WarpMask rest = ring_[i]; rest; rest &= rest - 1) {
            const std::uint32_t slot = lowestSlot(rest);
            ready_ |= bitOf(slot);
            slots_[slot].wait = Wait::none;
            slots_[slot].readyAt = sim_.now();
        }
        ring_[i] = 0;
    }
    std::fill(std::begin(ringUsed_), std::end(ringUsed_), 0);
    loadStore_->invalidate();
    if (instructions_.exists()) instructions_.invalidate();
}

void Sm::loaded(std::uint32_t load, Cycles readyAt) {
    const LoadInfo& info = loads_[load];
    Slot& s = slots_[info.slot];
    if (closeLook_) closeLook_->loaded(std::max(readyAt, sim_.now()) - info.since);
    if (s.generation != info.generation) return;
    --s.loads;
    for (std::uint8_t i = 0; i < info.count; ++i) s.registerReady[info.registers[i]] = readyAt;
    if (info.async) copyDone(s, info.group);
    switch (s.wait) {
        case Wait::load:
            refresh(info.slot, sim_.now());
            break;
        case Wait::fence:
            if (!s.loads && !s.stores) refresh(info.slot, sim_.now());
            break;
        case Wait::async:
            if (groupsDone(s)) refresh(info.slot, sim_.now());
            break;
        default:
            return;
    }
    wake();
}

void Sm::storeSent(std::uint32_t slot, std::uint32_t launch) {
    ++slots_[slot].stores;
    stores_.sent(launch, 1);
}

void Sm::stored(const Request& request) {
    stores_.done(request.launch, sim_.now());
    if (BulkCopyUnit::owns(request.token)) [[unlikely]]
        return bulkCopies_.stored(request.token);
    const std::uint32_t slot = request.warp;
    Slot& s = slots_[slot];
    --s.stores;
    if (s.wait == Wait::fence && !s.loads && !s.stores) {
        refresh(slot, sim_.now());
        wake();
    }
}

void Sm::copyBegins(std::uint32_t slot, std::uint32_t& launch, std::uint32_t& generation) {
    sim_.noteEffect();
    launch = slots_[slot].launch;
    generation = slots_[slot].generation;
}

void Sm::joinBulkGroup(std::uint32_t slot, std::uint64_t& readGroup, std::uint64_t& writeGroup) {
    readGroup = slots_[slot].bulkReads.add();
    writeGroup = slots_[slot].bulkWrites.add();
}

void Sm::bulkSourceRead(std::uint32_t slot, std::uint32_t generation, std::uint64_t group) {
    if (slots_[slot].generation != generation) return;
    slots_[slot].bulkReads.done(group);
    goOnAfterBulk(slot);
}

void Sm::bulkWritten(std::uint32_t slot, std::uint32_t generation, std::uint64_t group) {
    if (slots_[slot].generation != generation) return;
    slots_[slot].bulkWrites.done(group);
    goOnAfterBulk(slot);
}

void Sm::goOnAfterBulk(std::uint32_t slot) {
    if (slots_[slot].wait != Wait::bulk || !bulkGroupsDone(slots_[slot])) return;
    refresh(slot, sim_.now());
    wake();
}

void Sm::copyDone(Slot& s, std::uint64_t group) {
    if (group - s.firstGroup >= s.groupCopies.size()) {
        --s.openCopies;
    } else {
        --s.groupCopies[group - s.firstGroup];
    }
}

/// Whether at most `waitGroups` of the committed groups still have copies under way (groups complete in order).
bool Sm::groupsDone(const Slot& s) const {
    const std::size_t must = s.groupCopies.size() > s.waitGroups ? s.groupCopies.size() - s.waitGroups : 0;
    return std::all_of(s.groupCopies.begin(), s.groupCopies.begin() + static_cast<std::ptrdiff_t>(must),
                       [](std::uint32_t copies) { return copies == 0; });
}

void Sm::missed(std::uint32_t slot, std::uint64_t line) {
    if (policy_->watchesCache())
        policy_->observe({CacheEvent::Kind::miss, slot, slot, line / sim_.config.l1.lineBytes});
    if (sim_.observer) sim_.observer->l1Miss(sim_.now(), id_, line, slot);
}

void Sm::evicted(std::uint32_t evictor, std::uint32_t owner, std::uint64_t line) {
    if (policy_->watchesCache())
        policy_->observe({CacheEvent::Kind::eviction, evictor, owner, line / sim_.config.l1.lineBytes});
    if (sim_.observer) sim_.observer->l1Eviction(sim_.now(), id_, line, owner, evictor);
}

std::uint32_t Sm::activeWarps() const {
    return static_cast<std::uint32_t>(std::popcount(occupied_ & policy_->allowed() & ~policy_->heldFromMemory()));
}
std::uint32_t Sm::residentWarps() const {
    return static_cast<std::uint32_t>(std::popcount(occupied_));
}

SmSample Sm::sample() const {
    SmSample sample;
    sample.residentWarps = residentWarps();
    sample.activeWarps = activeWarps();
    if (const SharedCache* cache = loadStore_->sharedCache()) {
        for (WarpMask rest = occupied_; rest; rest &= rest - 1)
            sample.isolatedWarps += policy_->route(lowestSlot(rest)) == Route::sharedCache;
        sample.sharedCacheCapacity = cache->capacityBytes();
        sample.sharedCacheUsed = cache->usedBytes();
    }
    sample.sharedReserved = sharedBytes_ - freeShared_;
    return sample;
}

std::string Sm::explainStuck(std::uint32_t launch) const {
    for (WarpMask rest = waitingBarrier_ & occupied_; rest; rest &= rest - 1) {
        const Slot& s = slots_[lowestSlot(rest)];
        if (s.launch != launch) continue;
        std::uint32_t waiting = 0;
        for (WarpMask others = waitingBarrier_ & occupied_; others; others &= others - 1)
            waiting += slots_[lowestSlot(others)].resident == s.resident;
        return s.warp.explainBarrier(waiting);
    }
    return {};
}

void Sm::watchWarps() {
    watching_ = true;
    for (WarpMask rest = occupied_ & ~waitingBarrier_; rest; rest &= rest - 1) {
        Slot& s = slots_[lowestSlot(rest)];
        s.warp.snapshot(s.snapshot);
        s.loops = s.moved = false;
    }
}

bool Sm::allWarpsLoop() const {
    for (WarpMask rest = occupied_ & ~waitingBarrier_ & ~policy_->heldForGood(); rest; rest &= rest - 1)
        if (!slots_[lowestSlot(rest)].loops) return false;
    return true;
}

bool Sm::someWarpLoops() const {
    for (WarpMask rest = occupied_; rest; rest &= rest - 1)
        if (slots_[lowestSlot(rest)].loops) return true;
    return false;
}

std::string Sm::explainLoop(std::uint32_t launch) const {
    const WarpMask held = policy_->heldForGood();
    for (WarpMask rest = occupied_ & ~waitingBarrier_ & ~held; rest; rest &= rest - 1) {
        const Slot& s = slots_[lowestSlot(rest)];
        if (s.launch != launch) continue;
        return s.warp.explainLoop(held ? "the scheduler holds back every warp that could end it"
                                       : "nothing is left that could end it");
    }
    return {};
}

}  // namespace bulkhead::sim
