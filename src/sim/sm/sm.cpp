#include "sim/sm/sm.h"

#include <algorithm>
#include <bit>

#include "sim/mem/crossbar.h"

namespace bulkhead::sim {
namespace {

/// A function's registers have their own scoreboard numbers: no load may be under way across a call or return.
bool changesFrame(Kind kind) {
    return kind == Kind::call || kind == Kind::callIndirect || kind == Kind::ret;
}

}  // namespace

Sm::Sm(SimContext& sim, Crossbar& crossbar, SmOwner& owner, std::uint32_t port, std::uint32_t id,
       const SchedulerChoice& policy)
    : sim_(sim),
      owner_(owner),
      port_(port),
      id_(id),
      policy_(policy.make({static_cast<int>(sim.profile.sm.schedulers), sim.profile.maxWarps(), &sim})),
      loadStore_(sim, crossbar, *this, port, policy_->redirects()),
      own_(static_cast<std::size_t>(sim.profile.sm.schedulers), 0),
      slots_(static_cast<std::size_t>(sim.profile.maxWarps())),
      residents_(static_cast<std::size_t>(sim.profile.sm.maxBlocks)),
      freeRegisters_(static_cast<std::uint32_t>(sim.profile.sm.registers)),
      freeShared_(static_cast<std::uint32_t>(sim.profile.sm.sharedBytes)),
      freeWarps_(static_cast<std::uint32_t>(sim.profile.maxWarps())),
      // Local memory lies beyond what can be allocated.
      localBase_(std::bit_ceil(static_cast<std::uint64_t>(sim.profile.dram.bytes)) +
                 std::uint64_t{port} * kMaxWarps * kLocalStride),
      issueWidth_(static_cast<int>(sim.profile.sm.issueWidth)),
      sleepCause_(own_.size(), Stall::idle),
      stalls_(&sim.counters.front()) {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) own_[slot % own_.size()] |= bitOf(slot);
    for (int unit = 0; unit < arch::kUnits; ++unit) {
        unitBusy_[unit].assign(static_cast<std::size_t>(sim.profile.unitCount[unit]), 0);
        contended_[unit] = unitBusy_[unit].size() < own_.size();
    }
}

bool Sm::fits(const BlockNeeds& needs) const {
    return residentBlocks_ < residents_.size() && needs.warps <= freeWarps_ && needs.registers <= freeRegisters_ &&
           needs.shared <= freeShared_;
}

void Sm::beginLaunch(std::int64_t l1Bytes) {
    if (empty()) {
        loadStore_.setCapacity(l1Bytes);
        policy_->kernelStarted();
    }
    loadStore_.invalidate();
}

void Sm::startBlock(const LaunchContext& context, std::uint32_t launch, const BlockNeeds& needs, Dim3 index,
                    std::uint64_t number, std::uint32_t name) {
    std::uint32_t r = 0;
    while (residents_[r].block) ++r;
    Resident& resident = residents_[r];
    resident.block.emplace(context, index, name);
    resident.launch = launch;
    resident.needs = needs;
    resident.number = number;
    resident.warpsLeft = needs.warps;
    freeWarps_ -= needs.warps;
    freeRegisters_ -= needs.registers;
    freeShared_ -= needs.shared;
    loadStore_.blockStarted(r, needs.shared);
    if (residentBlocks_++ == 0) stalls_ = &sim_.counters[launch];
    ++sim_.effects;
    ++sim_.counters[launch].blocks;
    if (sim_.observer) sim_.observer->blockStarted(sim_.now, id_, r, launch, number);

    std::size_t scoreboard = 0;
    for (const Code& code : context.program->codes) scoreboard = std::max<std::size_t>(scoreboard, code.scoreboardIds);
    std::uint32_t slot = 0;
    for (std::uint32_t warp = 0; warp < needs.warps; ++warp, ++slot) {
        while (occupied_ & bitOf(slot)) ++slot;
        resident.slotOf[warp] = static_cast<std::uint8_t>(slot);
        Slot& s = slots_[slot];
        s.warp.start(*resident.block, warp, slot);
        s.registerReady.assign(scoreboard, 0);
        s.resident = r;
        s.launch = launch;
        ++s.generation;
        s.loads = 0;
        s.wait = Wait::none;
        s.openCopies = 0;
        s.firstGroup = 0;
        s.groupCopies.clear();
        occupied_ |= bitOf(slot);
        policy_->warpStarted(slot, nextAge_++);
        if (s.warp.finished()) {
            finishWarp(slot);
        } else {
            refresh(slot, sim_.now + 1);
        }
    }
    wake();
}

void Sm::tick() {
    const Cycles now = sim_.now;
    if (now > lastTick_ + 1) {
        for (Stall cause : sleepCause_) stalls_->stalls[static_cast<int>(cause)] += now - lastTick_ - 1;
    }
    lastTick_ = now;
    const std::uint32_t at = static_cast<std::uint32_t>(now) % kRing;
    if (ring_[at]) {
        WarpMask woken = ring_[at];
        ring_[at] = 0;
        ringUsed_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
        ready_ |= woken;
        for (; woken; woken &= woken - 1) {
            const auto slot = static_cast<std::uint32_t>(std::countr_zero(woken));
            slots_[slot].wait = Wait::none;
            if (slots_[slot].readyAt > now)
                makeReadyAt(slot, slots_[slot].readyAt);  // further off than the ring is long
        }
    }

    loadStore_.tick();
    if (now >= policy_->due()) policy_->advance(now);

    const std::size_t schedulers = own_.size();
    std::size_t scheduler = turn_;
    for (std::size_t asked = 0; asked < schedulers; ++asked, ++scheduler) {
        if (scheduler == schedulers) scheduler = 0;
        WarpMask eligible = offered() & own_[scheduler];
        for (unsigned unit = 0; eligible && unit < arch::kUnits; ++unit)
            if ((eligible & needs_[unit]) && !unitFree(unit)) eligible &= ~needs_[unit];
        if (!eligible) {
            ++stalls_->stalls[static_cast<int>(stallOf(static_cast<int>(scheduler)))];
            continue;
        }
        const auto slot = static_cast<std::uint32_t>(policy_->pick(static_cast<int>(scheduler), eligible));
        // Whoever had a unit that schedulers contend for comes last at the next one.
        if (contended_[slots_[slot].unit]) turn_ = scheduler + 1;
        issue(slot);
        for (int more = 1; more < issueWidth_ && (ready_ & bitOf(slot)) && unitFree(slots_[slot].unit); ++more)
            issue(slot);
    }
    sleep();
}

/// Decides when there is something to do again.
void Sm::sleep() {
    Cycles next = nextInRing();
    if (loadStore_.working()) next = sim_.now + 1;
    const WarpMask offer = offered();
    if (policy_->due() < next && offer != ready_) next = std::max(policy_->due(), sim_.now + 1);
    for (unsigned unit = 0; unit < arch::kUnits && next > sim_.now + 1; ++unit) {
        if (!(offer & needs_[unit])) continue;
        // A full LD/ST queue wakes the SM itself when it moves.
        if (static_cast<arch::Unit>(unit) == arch::Unit::ldst && loadStore_.full()) continue;
        next = std::min(next, std::max(sim_.now + 1, unitFreeAt(unit)));
    }
    if (next == sim_.now + 1) {
        owner_.smRunnable(port_);
        return;
    }
    for (std::size_t scheduler = 0; scheduler < own_.size(); ++scheduler)
        sleepCause_[scheduler] = stallOf(static_cast<int>(scheduler));
    if (next != kNever) sim_.events.push(next, EventKind::smWake, port_);
}

Cycles Sm::nextInRing() const {
    const std::uint32_t start = static_cast<std::uint32_t>(sim_.now + 1) % kRing;
    constexpr std::uint32_t kWords = kRing / 64;
    for (std::uint32_t step = 0; step <= kWords; ++step) {
        const std::uint32_t word = (start / 64 + step) % kWords;
        std::uint64_t used = ringUsed_[word];
        if (step == 0) used &= ~std::uint64_t{0} << (start % 64);
        if (step == kWords) used &= ~(~std::uint64_t{0} << (start % 64));
        if (used) {
            const std::uint32_t found = word * 64 + static_cast<std::uint32_t>(std::countr_zero(used));
            return sim_.now + 1 + (found - start) % kRing;
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
    return own & ~waitingBarrier_ ? Stall::dependency : Stall::barrier;
}

bool Sm::unitFree(unsigned unit) const {
    if (static_cast<arch::Unit>(unit) == arch::Unit::ldst && loadStore_.full()) return false;
    for (Cycles busy : unitBusy_[unit])
        if (busy <= sim_.now) return true;
    return false;
}

Cycles Sm::unitFreeAt(unsigned unit) const {
    return *std::min_element(unitBusy_[unit].begin(), unitBusy_[unit].end());
}

void Sm::occupy(unsigned unit, Cycles cycles) {
    for (Cycles& busy : unitBusy_[unit]) {
        if (busy > sim_.now) continue;
        busy = sim_.now + cycles;
        return;
    }
}

void Sm::issue(std::uint32_t slot) {
    Slot& s = slots_[slot];
    const Instr& instr = s.warp.next();
    const auto opClass = static_cast<std::size_t>(instr.opClass);
    occupy(s.unit, static_cast<Cycles>(sim_.profile.interval[opClass]));
    if (sim_.watching) [[unlikely]] {
        if (s.moved && !s.loops && s.warp.pc() == s.snapshot.pc) s.loops = s.warp.matches(s.snapshot);
        s.moved = true;
    }
    Step step;
    try {
        step = s.warp.step();
    } catch (const LaunchError& error) {
        owner_.launchFailed(s.launch, error);
        return;
    }
    Counters& counters = sim_.counters[s.launch];
    ++counters.warpInstructions;
    counters.threadInstructions += step.lanes;
    ++s.counters.instructions;
    ready_ &= ~bitOf(slot);
    const auto latency = static_cast<Cycles>(sim_.profile.latency[opClass]);
    Cycles notBefore = sim_.now;  // a scheduler that issues two may take the next one in this cycle
    switch (step.kind) {
        case StepKind::compute:
            for (std::uint8_t i = 0; i < instr.writes; ++i) s.registerReady[instr.registers[i]] = sim_.now + latency;
            break;
        case StepKind::memory:
            ++counters.memoryInstructions;
            issueMemory(slot, instr);
            break;
        case StepKind::control:
            notBefore = sim_.now + latency;
            break;
        case StepKind::barrierWait:
            ++sim_.effects;
            s.wait = Wait::barrier;
            waitingBarrier_ |= bitOf(slot);
            if (policy_->throttles()) policy_->warpWaits(slot);
            noteIssue(slot, step.lanes);
            return;
        case StepKind::barrierPass:
            ++sim_.effects;
            notBefore = sim_.now + latency;
            for (std::uint8_t i = 0; i < instr.writes; ++i) s.registerReady[instr.registers[i]] = notBefore;
            release(residents_[s.resident], step.released, notBefore);
            break;
        case StepKind::fence:
            if (s.loads || s.stores) {
                s.wait = Wait::fence;
                waitingLoad_ |= bitOf(slot);
                noteIssue(slot, step.lanes);
                return;
            }
            notBefore = std::max(notBefore, s.storesDoneAt);
            break;
        case StepKind::asyncCommit:
            s.groupCopies.push_back(s.openCopies);
            s.openCopies = 0;
            break;
        case StepKind::asyncWait:
            s.waitGroups = step.groups;
            if (!groupsDone(s)) {
                s.wait = Wait::async;
                waitingLoad_ |= bitOf(slot);
                noteIssue(slot, step.lanes);
                return;
            }
            break;
        case StepKind::finished:
            noteIssue(slot, step.lanes);
            release(residents_[s.resident], step.released, sim_.now + 1);
            finishWarp(slot);
            return;
    }
    refresh(slot, notBefore);
    noteIssue(slot, step.lanes);
}

void Sm::issueMemory(std::uint32_t slot, const Instr& instr) {
    Slot& s = slots_[slot];
    const auto accesses = s.warp.accesses();
    if (accesses.empty()) return;  // every lane's guard was false
    if (accesses.front().kind == AccessKind::store || s.warp.takeChange()) ++sim_.effects;
    const Route route = policy_->watchesCache() ? policy_->route(slot) : Route::l1;
    const LoadStore::Issued issued = loadStore_.issue(s.warp, slot, s.launch, route);
    if (issued.passes > 1) {
        for (Cycles& busy : unitBusy_[s.unit])
            if (busy == sim_.now + static_cast<Cycles>(sim_.profile.interval[static_cast<int>(instr.opClass)])) {
                busy = std::max(busy, sim_.now + issued.passes);
                break;
            }
    }
    s.stores += issued.stores;
    sim_.storesUnderWay[s.launch] += issued.stores;
    if (issued.load == LoadStore::kNoLoad) {
        for (std::uint8_t i = 0; i < instr.writes; ++i) s.registerReady[instr.registers[i]] = issued.readyAt;
        return;
    }
    if (issued.load >= loads_.size()) loads_.resize(issued.load + 1);
    LoadInfo& info = loads_[issued.load];
    info.slot = slot;
    info.generation = s.generation;
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

/// Looks at the warp's next instruction and finds out when it can issue.
void Sm::refresh(std::uint32_t slot, Cycles notBefore) {
    Slot& s = slots_[slot];
    const Instr& next = s.warp.next();
    const auto unit = static_cast<std::uint8_t>(arch::unitOf(next.opClass));
    if (unit != s.unit || !(needs_[unit] & bitOf(slot))) {
        needs_[s.unit] &= ~bitOf(slot);
        needs_[unit] |= bitOf(slot);
        s.unit = unit;
    }
    Cycles when = notBefore;
    for (std::uint8_t i = 0; i < next.dependencies; ++i) when = std::max(when, s.registerReady[next.registers[i]]);
    if (when == kNever || (s.loads && changesFrame(next.kind))) {
        s.wait = Wait::load;
        ready_ &= ~bitOf(slot);
        waitingLoad_ |= bitOf(slot);
        return;
    }
    makeReadyAt(slot, when);
}

void Sm::makeReadyAt(std::uint32_t slot, Cycles when) {
    Slot& s = slots_[slot];
    s.readyAt = when;
    waitingLoad_ &= ~bitOf(slot);
    if (when <= sim_.now) {
        s.wait = Wait::none;
        ready_ |= bitOf(slot);
        return;
    }
    s.wait = Wait::dependency;
    ready_ &= ~bitOf(slot);
    const auto at = static_cast<std::uint32_t>(std::min(when, sim_.now + kRing - 1)) % kRing;
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

/// Nobody has this slot any more.
void Sm::vacate(std::uint32_t slot) {
    Slot& s = slots_[slot];
    const WarpMask others = ~bitOf(slot);
    occupied_ &= others;
    ready_ &= others;
    waitingLoad_ &= others;
    waitingBarrier_ &= others;
    needs_[s.unit] &= others;
    s.wait = Wait::none;
    ++s.generation;
    policy_->warpFinished(slot);
}

void Sm::finishWarp(std::uint32_t slot) {
    ++sim_.effects;
    vacate(slot);
    const std::uint32_t r = slots_[slot].resident;
    if (--residents_[r].warpsLeft) return;
    removeBlock(r);
    owner_.blockFinished(port_, residents_[r].launch);
}

void Sm::removeBlock(std::uint32_t r) {
    Resident& resident = residents_[r];
    freeWarps_ += resident.needs.warps;
    freeRegisters_ += resident.needs.registers;
    freeShared_ += resident.needs.shared;
    loadStore_.blockEnded(r);
    resident.block.reset();
    if (--residentBlocks_ == 0) stalls_ = &sim_.counters.front();
    if (sim_.observer) sim_.observer->blockEnded(sim_.now, id_, r, resident.launch, resident.number);
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
            const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
            ready_ |= bitOf(slot);
            slots_[slot].wait = Wait::none;
            slots_[slot].readyAt = sim_.now;
        }
        ring_[i] = 0;
    }
    std::fill(std::begin(ringUsed_), std::end(ringUsed_), 0);
    loadStore_.invalidate();
}

void Sm::loaded(std::uint32_t load, Cycles readyAt) {
    const LoadInfo& info = loads_[load];
    Slot& s = slots_[info.slot];
    if (s.generation != info.generation) return;
    --s.loads;
    for (std::uint8_t i = 0; i < info.count; ++i) s.registerReady[info.registers[i]] = readyAt;
    if (info.async) copyDone(s, info.group);
    switch (s.wait) {
        case Wait::load:
            refresh(info.slot, sim_.now);
            break;
        case Wait::fence:
            if (!s.loads && !s.stores) refresh(info.slot, std::max(sim_.now, s.storesDoneAt));
            break;
        case Wait::async:
            if (groupsDone(s)) refresh(info.slot, sim_.now);
            break;
        default:
            return;
    }
    wake();
}

void Sm::storeSent(std::uint32_t slot, std::uint32_t launch) {
    ++slots_[slot].stores;
    ++sim_.storesUnderWay[launch];
}

void Sm::stored(std::uint32_t slot, std::uint32_t launch, Cycles doneAt) {
    Slot& s = slots_[slot];
    --s.stores;
    s.storesDoneAt = std::max(s.storesDoneAt, doneAt);
    if (s.wait == Wait::fence && !s.loads && !s.stores) {
        refresh(slot, s.storesDoneAt);
        wake();
    }
    if (--sim_.storesUnderWay[launch] == 0) owner_.storesDrained(launch);
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
        policy_->observe(
            {CacheEvent::Kind::miss, slot, slot, line / static_cast<std::uint64_t>(sim_.profile.l1.lineBytes)});
    if (sim_.observer) sim_.observer->l1Miss(sim_.now, id_, line, slot);
}

void Sm::evicted(std::uint32_t evictor, std::uint32_t owner, std::uint64_t line) {
    if (policy_->watchesCache())
        policy_->observe(
            {CacheEvent::Kind::eviction, evictor, owner, line / static_cast<std::uint64_t>(sim_.profile.l1.lineBytes)});
    if (sim_.observer) sim_.observer->l1Eviction(sim_.now, id_, line, owner, evictor);
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
    if (const SharedCache* cache = loadStore_.sharedCache()) {
        for (WarpMask rest = occupied_; rest; rest &= rest - 1)
            sample.isolatedWarps +=
                policy_->route(static_cast<std::uint32_t>(std::countr_zero(rest))) == Route::sharedCache;
        sample.sharedCacheCapacity = cache->capacityBytes();
        sample.sharedCacheUsed = cache->usedBytes();
    }
    sample.sharedReserved = static_cast<std::uint32_t>(sim_.profile.sm.sharedBytes) - freeShared_;
    return sample;
}

std::optional<std::uint32_t> Sm::anyLaunch() const {
    for (const Resident& resident : residents_)
        if (resident.block) return resident.launch;
    return std::nullopt;
}

/// "kernel K, PTX line L, block (x,y,z), thread (x,y,z)".
std::string Sm::place(const Slot& s, std::int32_t line, unsigned lane) const {
    const Block& block = s.warp.block();
    const Dim3& shape = block.launch->block;
    const std::uint64_t thread = std::uint64_t{s.warp.indexInBlock()} * kLanes + lane;
    return fmt::format("kernel {}, PTX line {}, block ({},{},{}), thread ({},{},{})", block.launch->code->name, line,
                       block.index.x, block.index.y, block.index.z, thread % shape.x, thread / shape.x % shape.y,
                       thread / shape.x / shape.y);
}

std::string Sm::explainStuck(std::uint32_t launch) const {
    for (WarpMask rest = waitingBarrier_ & occupied_; rest; rest &= rest - 1) {
        const Slot& s = slots_[static_cast<std::size_t>(std::countr_zero(rest))];
        if (s.launch != launch) continue;
        std::uint32_t waiting = 0;
        for (WarpMask others = waitingBarrier_ & occupied_; others; others &= others - 1)
            waiting += slots_[static_cast<std::size_t>(std::countr_zero(others))].resident == s.resident;
        // The warp's pc already points behind the barrier it waits at.
        return fmt::format(
            "barrier that can never complete: {}: {} of the block's {} warps wait, the others never come",
            place(s, s.warp.code().instrs[s.warp.pc() - 1].line, 0), waiting, s.warp.block().warps);
    }
    return {};
}

void Sm::snapshotWarps() {
    for (WarpMask rest = occupied_ & ~waitingBarrier_; rest; rest &= rest - 1) {
        Slot& s = slots_[static_cast<std::size_t>(std::countr_zero(rest))];
        s.warp.snapshot(s.snapshot);
        s.loops = s.moved = false;
    }
}

bool Sm::allWarpsLoop() const {
    for (WarpMask rest = occupied_ & ~waitingBarrier_ & ~policy_->heldForGood(); rest; rest &= rest - 1)
        if (!slots_[static_cast<std::size_t>(std::countr_zero(rest))].loops) return false;
    return true;
}

std::string Sm::explainLoop(std::uint32_t launch) const {
    const WarpMask held = policy_->heldForGood();
    for (WarpMask rest = occupied_ & ~waitingBarrier_ & ~held; rest; rest &= rest - 1) {
        const Slot& s = slots_[static_cast<std::size_t>(std::countr_zero(rest))];
        if (s.launch != launch) continue;
        return fmt::format(
            "no progress: {} goes round in circles, and {}",
            place(s, s.warp.next().line, static_cast<unsigned>(std::countr_zero(s.warp.active()))),
            held ? "the scheduler holds back every warp that could end it" : "nothing is left that could end it");
    }
    return {};
}

}  // namespace bulkhead::sim
