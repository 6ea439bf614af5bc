#include "sim/sm/load_store.h"

#include <algorithm>
#include <bit>

#include "sim/close_look.h"
#include "sim/mem/crossbar.h"
#include "sim/sm/sm.h"

namespace bulkhead::sim {
namespace {

void countSectors(Counters& counters, std::uint8_t asked, std::uint8_t hits) {
    counters.l1Sectors += static_cast<unsigned>(std::popcount(asked));
    counters.l1SectorHits += static_cast<unsigned>(std::popcount(hits));
}

}  // namespace

LoadStore::LoadStore(SimContext& sim, SmPort& port, Sm& sm, std::uint32_t portNumber)
    : sim_(sim),
      port_(port),
      sm_(sm),
      portNumber_(portNumber),
      config_(sim.config.l1),
      sets_(config_.sets(config_.bytes)),
      tags_(sets_ * sim.separation.copies(Resource::l1), config_.ways, sim.profile.l1.replacement),
      setIndex_(sim.profile.l1.setHash, config_.lineBytes, sets_),
      mshrs_(config_.mshrs, config_.mshrMerges, sim.separation.copies(Resource::l1)),
      coalescer_(sim.config.l2.lineBytes, sim.config.l2.sectorBytes),
      wide_(wideSectors(sim.config.l2.lineBytes / sim.config.l2.sectorBytes, config_.sectorsFetched)),
      constants_(sim.config.constant.sets, sim.config.constant.ways),
      prefetch_(makePrefetchPolicy(sim.profile.l1.prefetch, {config_.lineBytes, config_.prefetchDegree})),
      queue_(config_.queue + kMostOperations - 1),
      operations_(config_.queue + kMostOperations - 1) {
    for (std::uint32_t i = 0; i < operations_.size(); ++i) freeOperations_.push_back(i);
    sim_.onEvent<&LoadStore::otherReached>(EventKind::otherReached, *this);
}

void LoadStore::setCapacity(Bytes l1Bytes, std::uint32_t) {
    const std::uint32_t sets = config_.sets(l1Bytes);
    if (sets == sets_) return;
    sets_ = sets;
    tags_ = CacheTags(sets * sim_.separation.copies(Resource::l1), config_.ways, sim_.profile.l1.replacement);
    setIndex_ = SetIndex(sim_.profile.l1.setHash, config_.lineBytes, sets);
}

std::uint32_t LoadStore::takeLoad() {
    if (freeLoad_ == kNoLoad) {
        loads_.emplace_back();
        return static_cast<std::uint32_t>(loads_.size() - 1);
    }
    const std::uint32_t load = freeLoad_;
    freeLoad_ = loads_[load].nextFree;
    loads_[load] = {};
    return load;
}

LoadStore::Issued LoadStore::issue(const Warp& warp, std::uint32_t slot, std::uint32_t launch, Route route) {
    Issued issued;
    issued.readyAt = sim_.now() + 1;
    const std::span<const Access> accesses = warp.accesses();
    if (!accesses.empty() && accesses.front().texture) {
        enqueueTexels(warp, slot, launch, route, issued);
        if (issued.load != kNoLoad)
            loads_[issued.load].extra = kTextureLatency;
        else
            issued.readyAt = sim_.now() + kTextureLatency;
        return issued;
    }
    for (const Access& access : accesses) {
        if (access.remote) {
            reachOther(access, launch, issued);
        } else if (access.space == ptx::Space::shared) {
            useBanks(access, launch, issued);
        } else if (access.space == ptx::Space::param) {
            issued.readyAt = std::max(issued.readyAt, sim_.now() + sim_.config.constant.hitLatency);
        } else {
            enqueue(warp, {&access, 1}, slot, launch, route, issued);
        }
    }
    if (warp.loadIsDeferred()) issued.readyAt = std::max(issued.readyAt, sim_.windowEnd());
    if (issued.load != kNoLoad) loads_[issued.load].readyAt = std::max(loads_[issued.load].readyAt, issued.readyAt);
    return issued;
}

void LoadStore::useBanks(const Access& access, std::uint32_t launch, Issued& issued) {
    const unsigned passes = bankPasses(access, sim_.config.shared.banks, sim_.config.shared.bankBytes);
    countPasses(passes, takeBanks(passes), launch, issued);
}

void LoadStore::countPasses(unsigned passes, Cycles waited, std::uint32_t launch, Issued& issued) const {
    const unsigned cycles = passes + static_cast<unsigned>(waited);
    Counters& counters = sim_.counters(launch);
    ++counters.sharedAccesses;
    counters.sharedConflicts += cycles - 1;
    issued.passes = std::max(issued.passes, cycles);
    issued.readyAt = std::max(issued.readyAt, sim_.now() + sim_.config.shared.latency + cycles - 1);
}

/// Shared memory of another SM: its banks take as long as one's own would, and the way there is as long as a window at
/// least. The network between SMs has no other limit.
void LoadStore::reachOther(const Access& access, std::uint32_t launch, Issued& issued) {
    countPasses(bankPasses(access, sim_.config.shared.banks, sim_.config.shared.bankBytes), 0, launch, issued);
    if (access.kind == AccessKind::store || access.kind == AccessKind::reduction) return;
    const Cycles back = std::max(sim_.now() + sim_.config.cluster.latency + issued.passes - 1, sim_.windowEnd());
    if (issued.load == kNoLoad) issued.load = takeLoad();
    ++loads_[issued.load].remaining;
    sim_.schedule(back, EventKind::otherReached, issued.load);
}

void LoadStore::otherReached(std::uint32_t load) {
    lineDone(load, sim_.now());
}

/// Lines that several texels of a fetch share are touched once.
void LoadStore::enqueueTexels(const Warp& warp, std::uint32_t slot, std::uint32_t launch, Route route, Issued& issued) {
    constexpr std::size_t kTogether = kMaxTransactions / kLanes;
    std::span<const Access> rest = warp.accesses();
    if (rest.front().lanes == 0) return;  // all lanes are outside of their textures
    while (!rest.empty()) {
        const std::size_t count = std::min(kTogether, rest.size());
        enqueue(warp, rest.first(count), slot, launch, route, issued);
        rest = rest.subspan(count);
    }
}

void LoadStore::enqueue(const Warp& warp, std::span<const Access> accesses, std::uint32_t slot, std::uint32_t launch,
                        Route route, Issued& issued) {
    const Access& access = accesses.front();
    const std::uint32_t index = freeOperations_.back();
    freeOperations_.pop_back();
    Operation& op = operations_[index];
    op.kind = access.kind;
    op.local = access.space == ptx::Space::local;
    op.constant = access.space == ptx::Space::constant;
    // Textures are cached also where global loads are not.
    op.bypass = !op.local && !access.texture &&
                (!config_.cachesGlobal || access.cacheOp == CacheOp::cg || access.cacheOp == CacheOp::cv);
    op.route = op.local ? Route::l1 : route;
    op.slot = slot;
    op.launch = launch;
    op.load = kNoLoad;
    op.next = op.cycle = 0;
    if (prefetch_) op.pc = warp.pc();
    gather(warp, accesses, op);
    op.cycles = cyclesOf(access, op);
    if (access.kind == AccessKind::store || access.kind == AccessKind::reduction) {
        // Local stores that stay in L1D need no acknowledgement.
        if (!op.local || !config_.localWriteBack) issued.stores += static_cast<std::uint32_t>(op.lines.count);
    } else {
        if (issued.load == kNoLoad) issued.load = takeLoad();
        op.load = issued.load;
        loads_[op.load].remaining += static_cast<std::uint32_t>(op.lines.count);
        if (CloseLook* look = sm_.closeLook(); look && !op.constant && op.kind != AccessKind::atomic)
            for (std::size_t i = 0; i < op.lines.count; ++i) look->accessed(op.lines.items[i].line);
    }
    queue_.push(index);
}

/// Data of L1D lie in the banks of shared memory, a line across all of them: each gives one word a cycle.
std::size_t LoadStore::cyclesOf(const Access& access, const Operation& op) const {
    const std::size_t lines = op.lines.count, tags = config_.tagsPerCycle;
    const bool mayHit = !op.bypass && (op.kind == AccessKind::load || op.kind == AccessKind::asyncCopy);
    if (tags == 1 || lines == 1 || !mayHit || op.local || op.constant) return lines;
    if (access.texture) return (lines + tags - 1) / tags;
    const auto& shared = sim_.config.shared;
    return std::max<std::size_t>((lines + tags - 1) / tags, bankPasses(access, shared.banks, shared.bankBytes));
}

/// The lines that an access touches, by physical address.
void LoadStore::gather(const Warp& warp, std::span<const Access> accesses, Operation& op) {
    const Access& access = accesses.front();
    const AddressSpace& memory = *warp.block().launch->memory;
    if (op.local) {
        coalescer_.gatherLocal(access, sm_.localBase(op.slot), op.lines);
    } else if (op.constant) {
        gatherConstant(access, memory, op.lines);
    } else {
        if (accesses.size() == 1)
            coalescer_.gather(access, op.lines);
        else
            coalescer_.gatherTexels(accesses, op.lines);
        const auto& l2 = sim_.config.l2;
        const std::uint64_t turn = access.addsFloats ? l2.floatRepeatInterval : l2.repeatInterval;
        if (turn && (op.kind == AccessKind::atomic || op.kind == AccessKind::reduction))
            coalescer_.takeTurns(access, turn, op.lines);
        for (std::size_t i = 0; i < op.lines.count; ++i)
            op.lines.items[i].line = memory.physical(op.lines.items[i].line, mappingHint_);
    }
    Counters& counters = sim_.counters(op.launch);
    for (std::size_t i = 0; i < op.lines.count; ++i) counters.bytesL1 += op.lines.items[i].bytes;
}

/// The constant cache answers one address a cycle to any number of lanes.
void LoadStore::gatherConstant(const Access& access, const AddressSpace& memory, Transactions& out) {
    std::uint64_t seen[kLanes];
    const std::uint64_t lineBytes = sim_.config.constant.lineBytes;
    out.count = 0;
    for (LaneMask rest = access.lanes; rest; rest &= rest - 1) {
        const std::uint64_t address = access.address[std::countr_zero(rest)];
        if (std::find(seen, seen + out.count, address) != seen + out.count) continue;
        seen[out.count] = address;
        out.items[out.count++] = {memory.physical(address, mappingHint_) / lineBytes * lineBytes, 0, 1, 0,
                                  access.bytes};
    }
}

LoadStore::Passed LoadStore::passConstant(Operation& op, const Transaction& t) {
    Counters& counters = sim_.counters(op.launch);
    const auto& config = sim_.config.constant;
    const auto set = static_cast<std::uint32_t>(t.line / config.lineBytes % constants_.sets());
    std::uint32_t way = constants_.find(set, t.line);
    if (way != CacheTags::kNoWay) {
        ++counters.constantHits;
        constants_.use(set, way);
        lineDone(op.load, sim_.now() - 1 + config.hitLatency);
        return Passed::yes;
    }
    if (!port_.canSend()) return Passed::port;
    ++counters.constantMisses;
    // The tag is taken at once: a second miss on the line does not ask again, and is answered no earlier than the
    // hit latency allows.
    way = constants_.victim(set);
    constants_.place(set, way, t.line, op.slot);
    const auto& l2 = sim_.config.l2;
    const std::uint64_t line = t.line / l2.lineBytes * l2.lineBytes;
    const std::uint64_t sector = (t.line - line) / l2.sectorBytes;
    send(RequestKind::read, op, line, static_cast<std::uint8_t>(1u << sector), 0, op.load);
    return Passed::yes;
}

/// As many lines as are due, while their data are there: whatever is sent ends the cycle.
void LoadStore::passNext() {
    const std::uint32_t index = queue_.front();
    Operation& op = operations_[index];
    const std::size_t count = op.lines.count;
    ++op.cycle;
    const std::size_t due = std::min({count, op.next + config_.tagsPerCycle, op.cycle * count / op.cycles});
    Passed passed = Passed::yes;
    do {
        passed = pass(op, op.lines.items[op.next]);
        if (passed == Passed::banks) {
            --op.cycle;
            ++sim_.counters(op.launch).sharedConflicts;
            return;
        }
        if (passed > Passed::hit) {
            blocked_ = true;
            blockedBy_ = passed;
            blockedSince_ = sim_.now();
            return;
        }
    } while (++op.next < due && passed == Passed::hit);
    if (op.next == count) {
        queue_.pop();
        freeOperations_.push_back(index);
    }
}

void LoadStore::unblock() {
    if (!blocked_) return;
    blocked_ = false;
    Counters& counters = sim_.counters(operations_[queue_.front()].launch);
    const Cycles waited = sim_.now() - blockedSince_;
    switch (blockedBy_) {
        case Passed::mshr:
            counters.l1StallMshr += waited;
            break;
        case Passed::port:
            counters.l1StallQueue += waited;
            break;
        default:
            counters.l1StallLine += waited;
            break;
    }
    sm_.wake();
}

LoadStore::Passed LoadStore::passHit(Operation& op, const Transaction& t, Place at) {
    Counters& counters = sim_.counters(op.launch);
    ++counters.l1Hits;
    countSectors(counters, t.sectors, t.sectors);
    sm_.l1Hit(op.slot);
    tags_.use(at.set, at.way);
    if (prefetch_ && firstUse(t, tags_.state(at.way).prefetched, counters.l1PrefetchesUseful)) lookAhead(op, t);
    lineDone(op.load, sim_.now() - 1 + config_.hitLatency);
    return Passed::hit;
}

/// Whether a load is the first to want what was fetched ahead; it is then counted, and no longer ahead.
bool LoadStore::firstUse(const Transaction& t, std::uint8_t& prefetched, std::uint64_t& counter) const {
    if (!(t.sectors & prefetched)) return false;
    prefetched = 0;
    ++counter;
    return true;
}

/// The same for a load that misses: what it wants may have come in part, or be under way.
bool LoadStore::joinsAhead(const Transaction& t, Place at, std::uint32_t entry, Counters& counters) {
    const bool useful =
        at.way != CacheTags::kNoWay && firstUse(t, tags_.state(at.way).prefetched, counters.l1PrefetchesUseful);
    return firstUse(t, mshrs_[entry].prefetched, counters.l1PrefetchesLate) || useful;
}

void LoadStore::lookAhead(const Operation& op, const Transaction& t) {
    if (op.local) return;
    ahead_.clear();
    prefetch_->lookAhead({t.line, op.pc, op.slot, static_cast<std::uint32_t>(op.next)}, ahead_);
    const Bytes pageBytes = sim_.config.pageBytes;
    for (const std::uint64_t line : ahead_)
        if (line / pageBytes == t.line / pageBytes) fetchAhead(op, line, widen(t.sectors));
}

/// Sectors of a line that nobody waits for, if it is neither here nor under way and nothing is in their way.
void LoadStore::fetchAhead(const Issuer& by, std::uint64_t line, std::uint8_t sectors) {
    const std::uint32_t copy = copyOf(by.launch);
    if (mshrs_.unused(copy) <= config_.prefetchReserve || !port_.canSend()) return;
    const std::uint32_t set = setOf(line, by.launch);
    if (tags_.find(set, line) != CacheTags::kNoWay || findMshr(line, by.launch) != MshrFile::kNone || isBeside(line))
        return;
    if (config_.allocatesOnMiss) {
        const std::uint32_t way = tags_.victim(set);
        if (way == CacheTags::kNoWay || tags_.state(way).dirty) return;
        makeRoom(way, by);
        tags_.place(set, way, line, by.slot);
        tags_.state(way).pending = sectors;
    }
    MshrFile::Entry& entry = mshrs_[takeMshr(line, by.launch)];
    entry.pending = entry.prefetched = sectors;
    ++sim_.counters(by.launch).l1Prefetches;
    send(RequestKind::read, by, line, sectors, 0, kForL1);
}

LoadStore::Passed LoadStore::passBypass(Operation& op, const Transaction& t) {
    if (!port_.canSend()) return Passed::port;
    Counters& counters = sim_.counters(op.launch);
    ++counters.l1Bypasses;
    countSectors(counters, t.sectors, 0);
    send(RequestKind::read, op, t.line, t.sectors, 0, op.load);
    return Passed::yes;
}

bool LoadStore::mshrRefuses(std::uint32_t entry, const Issuer& by) const {
    return entry != MshrFile::kNone ? !mshrs_.canMerge(entry) : mshrs_.full(copyOf(by.launch));
}

LoadStore::Passed LoadStore::passLoad(Operation& op, const Transaction& t) {
    if (op.bypass) return passBypass(op, t);
    const Place at = find(op, t);
    if (at.hit) return passHit(op, t, at);
    if (op.route == Route::bypass) return passBypass(op, t);
    return passMiss(op, t, at, findMshr(t.line, op.launch));
}

/// `entry`: the MSHR that the line is under way for, or none.
LoadStore::Passed LoadStore::passMiss(Operation& op, const Transaction& t, Place at, std::uint32_t entry) {
    if (mshrRefuses(entry, op)) return Passed::mshr;
    const std::uint8_t fetched = missing(t, at, entry);
    if (const Passed passed = takePlace(op, t, at, fetched != 0); passed != Passed::yes) return passed;
    Counters& counters = sim_.counters(op.launch);
    ++counters.l1Misses;
    if (!fetched) ++counters.l1Merges;
    countSectors(counters, t.sectors, static_cast<std::uint8_t>(t.sectors & ~fetched));
    sm_.l1Missed(op.slot, t.line);
    entry = waitFor(fetched, op, t, at, entry);
    if (fetched) send(RequestKind::read, op, t.line, fetched, 0, kForL1);
    if (prefetch_ && (joinsAhead(t, at, entry, counters) || fetched)) lookAhead(op, t);
    return Passed::yes;
}

/// Sectors of the line that are neither here nor under way.
std::uint8_t LoadStore::missing(const Transaction& t, Place at, std::uint32_t entry) const {
    std::uint8_t present = entry == MshrFile::kNone ? std::uint8_t{0} : mshrs_[entry].pending;
    if (at.way != CacheTags::kNoWay)
        present |= static_cast<std::uint8_t>(tags_.state(at.way).valid | tags_.state(at.way).pending);
    return static_cast<std::uint8_t>(widen(t.sectors) & ~present);
}

/// Room at the request port, if the miss `sends` a request, and in L1D, if a line is taken at the miss.
LoadStore::Passed LoadStore::takePlace(const Operation& op, const Transaction& t, Place& at, bool sends) {
    if (sends && !port_.canSend()) return Passed::port;
    if (at.way != CacheTags::kNoWay) {
        tags_.use(at.set, at.way);
        return Passed::yes;
    }
    if (!config_.allocatesOnMiss) return Passed::yes;
    const std::uint32_t way = tags_.victim(at.set);
    if (way == CacheTags::kNoWay) return Passed::line;
    if (!makeRoom(way, op)) return Passed::port;
    tags_.place(at.set, way, t.line, op.slot);
    if (sends && !port_.canSend()) {  // a write-back took the last place; the line is ours when we come again
        tags_.drop(way);
        return Passed::port;
    }
    at.way = way;
    return Passed::yes;
}

/// The load waits, at the MSHR or a new one, for what it wants and is not here; `sectors` are under way from now on.
std::uint32_t LoadStore::waitFor(std::uint8_t sectors, const Operation& op, const Transaction& t, Place at,
                                 std::uint32_t entry) {
    if (entry == MshrFile::kNone) entry = takeMshr(t.line, op.launch);
    mshrs_[entry].pending |= sectors;
    std::uint8_t valid = 0;
    if (at.way != CacheTags::kNoWay) {
        tags_.state(at.way).pending |= sectors;
        valid = tags_.state(at.way).valid;
    }
    mshrs_.wait(entry, op.load, static_cast<std::uint8_t>(t.sectors & ~valid));
    return entry;
}

LoadStore::Passed LoadStore::pass(Operation& op, const Transaction& t) {
    if (op.constant) return passConstant(op, t);
    if (op.kind != AccessKind::load && op.kind != AccessKind::asyncCopy) return passStore(op, t);
    return passLoad(op, t);
}

LoadStore::Passed LoadStore::passStore(Operation& op, const Transaction& t) {
    const Place at = find(op, t);
    if (op.local && config_.localWriteBack) return writeLocal(op, t, at);
    if (!port_.canSend()) return Passed::port;
    if (op.kind == AccessKind::store) {
        // Write-through, no allocation: a line that is here is updated and stays.
        send(RequestKind::write, op, t.line, t.sectors, t.complete, kNoLoad, 0, t.words);
        return Passed::yes;
    }
    // Atomics are executed at the slice, so a copy here would go stale.
    if (at.way != CacheTags::kNoWay && !tags_.state(at.way).pending) {
        sim_.counters(op.launch).l1PrefetchesUseless += tags_.state(at.way).prefetched != 0;
        tags_.drop(at.way);
    }
    dropBeside(t.line);
    send(op.kind == AccessKind::atomic ? RequestKind::atomic : RequestKind::reduction, op, t.line, t.sectors, 0,
         op.load, t.turns);
    return Passed::yes;
}

LoadStore::Passed LoadStore::writeLocal(Operation& op, const Transaction& t, Place at) {
    if (at.way == CacheTags::kNoWay) {
        at.way = tags_.victim(at.set);
        if (at.way == CacheTags::kNoWay) return Passed::line;
        if (!makeRoom(at.way, op)) return Passed::port;
        tags_.place(at.set, at.way, t.line, op.slot);
    } else {
        tags_.use(at.set, at.way);
    }
    tags_.state(at.way).dirty |= t.sectors;
    // What a lane's own local variable does not cover is not read before it is written: the sector is good.
    tags_.state(at.way).valid |= t.sectors;
    return Passed::yes;
}

/// Empties a way. False if what it holds must be written back and the request port is full.
bool LoadStore::makeRoom(std::uint32_t way, const Issuer& by) {
    if (tags_.line(way) == CacheTags::kNoLine) return true;
    const CacheTags::State state = tags_.state(way);
    if (state.dirty && !port_.canSend()) return false;
    const std::uint64_t line = tags_.line(way);
    Counters& counters = sim_.counters(by.launch);
    ++counters.l1Evictions;
    counters.l1PrefetchesUseless += state.prefetched != 0;
    sm_.evicted(by.slot, state.owner, line);
    tags_.drop(way);
    if (state.dirty) {
        sm_.storeSent(state.owner, by.launch);
        send(RequestKind::write, {state.owner, by.launch}, line, state.dirty, state.dirty, kNoLoad);
    }
    return true;
}

void LoadStore::send(RequestKind kind, const Issuer& by, std::uint64_t line, std::uint8_t sectors,
                     std::uint8_t complete, std::uint32_t token, std::uint16_t turns, std::uint32_t words) {
    const RequestId id = sim_.requests.take();
    Request& request = sim_.requests[id];
    request.goTo(sim_.profile.map, line);
    request.kind = kind;
    request.sm = portNumber_;
    request.launch = by.launch;
    request.token = token;
    request.sectors = sectors;
    request.complete = complete;
    request.words = words;
    request.turns = turns;
    request.bytes = static_cast<std::uint16_t>(std::popcount(sectors) * sim_.config.l2.sectorBytes);
    if (kind == RequestKind::write)
        request.bytes += static_cast<std::uint16_t>(std::popcount(static_cast<std::uint8_t>(sectors & ~complete)) *
                                                    sim_.config.crossbar.maskExtra);
    request.warp = static_cast<std::uint8_t>(by.slot);
    request.retention = sim_.retentionOf(by.launch, line);
    port_.send(id);
}

void LoadStore::receive(RequestId id) {
    const Request request = sim_.requests[id];
    sim_.requests.release(id);
    if (request.token != kForL1) {
        lineDone(request.token, sim_.now());
        return;
    }
    const std::uint32_t entry = findMshr(request.line, request.launch);
    fill(request, mshrs_[entry]);
    mshrs_.arrive(entry, request.sectors, [&](std::uint32_t load) { lineDone(load, sim_.now()); });
    unblock();
}

void LoadStore::fill(const Request& request, const MshrFile::Entry& entry) {
    const std::uint32_t set = setOf(request.line, request.launch);
    std::uint32_t way = tags_.find(set, request.line);
    if (way == CacheTags::kNoWay) {  // allocation on fill
        way = tags_.victim(set);
        if (way == CacheTags::kNoWay ||
            !makeRoom(way, {request.warp, request.launch})) {  // the data go to the registers alone
            sim_.counters(request.launch).l1PrefetchesUseless += entry.prefetched != 0;
            return;
        }
        tags_.place(set, way, request.line, request.warp);
    }
    tags_.state(way).valid |= request.sectors;
    tags_.state(way).pending &= static_cast<std::uint8_t>(~request.sectors);
    tags_.state(way).prefetched |= static_cast<std::uint8_t>(entry.prefetched & request.sectors);
}

void LoadStore::lineDone(std::uint32_t load, Cycles when) {
    Load& l = loads_[load];
    l.readyAt = std::max(l.readyAt, when);
    if (--l.remaining) return;
    const Cycles readyAt = std::max(l.readyAt, sim_.now()) + l.extra;
    l.nextFree = freeLoad_;
    freeLoad_ = load;
    sm_.loaded(load, readyAt);
}

}  // namespace bulkhead::sim
