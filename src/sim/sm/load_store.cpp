#include "sim/sm/load_store.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/error.h"
#include "sim/mem/crossbar.h"
#include "sim/sm/sm.h"

namespace bulkhead::sim {
namespace {

std::uint32_t setsOf(std::int64_t bytes, std::int64_t lineBytes, std::int64_t ways) {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(1, bytes / (lineBytes * ways)));
}

}  // namespace

LoadStore::LoadStore(SimContext& sim, Crossbar& crossbar, Sm& sm, std::uint32_t port, bool redirects)
    : sim_(sim),
      crossbar_(crossbar),
      sm_(sm),
      port_(port),
      lineShift_(static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(sim.profile.l1.lineBytes)))),
      coalescer_(sim.profile.l2.lineBytes, sim.profile.l2.sectorBytes),
      tags_(setsOf(sim.profile.l1.bytes, sim.profile.l1.lineBytes, sim.profile.l1.ways),
            static_cast<std::uint32_t>(sim.profile.l1.ways), sim.profile.l1.replacement),
      constants_(setsOf(sim.profile.constant.bytes, sim.profile.constant.lineBytes, sim.profile.constant.ways),
                 static_cast<std::uint32_t>(sim.profile.constant.ways)),
      mshrs_(static_cast<std::uint32_t>(sim.profile.l1.mshrs), static_cast<std::uint32_t>(sim.profile.l1.mshrMerges)),
      queue_(static_cast<std::size_t>(sim.profile.l1.queue) + 1),
      operations_(static_cast<std::size_t>(sim.profile.l1.queue) + 1) {
    for (std::uint32_t i = 0; i < operations_.size(); ++i) freeOperations_.push_back(i);
    if (!redirects) return;
    if (lineShift_ != AddressTranslation::kBlockBits)
        throw Error("{}: shared memory can serve as a cache of 128-byte lines only, and l1.lineBytes is {}",
                    sim.profile.name, sim.profile.l1.lineBytes);
    shared_.emplace(static_cast<std::uint32_t>(sim.profile.sm.sharedBytes),
                    sim.profile.l1.setHash != arch::DeviceProfile::SetHash::linear);
}

void LoadStore::blockStarted(std::uint32_t block, std::uint32_t sharedBytes) {
    if (shared_ && shared_->blockStarted(block, sharedBytes)) mshrs_.forgetSharedPlaces();
}

void LoadStore::setCapacity(std::int64_t l1Bytes) {
    const std::uint32_t sets = setsOf(l1Bytes, sim_.profile.l1.lineBytes, sim_.profile.l1.ways);
    if (sets != tags_.sets())
        tags_ = CacheTags(sets, static_cast<std::uint32_t>(sim_.profile.l1.ways), sim_.profile.l1.replacement);
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
    issued.readyAt = sim_.now + 1;
    Counters& counters = sim_.counters[launch];
    for (const Access& access : warp.accesses()) {
        switch (access.space) {
            case ptx::Space::shared: {
                const unsigned passes = bankPasses(access, static_cast<unsigned>(sim_.profile.shared.banks),
                                                   static_cast<unsigned>(sim_.profile.shared.bankBytes));
                ++counters.sharedAccesses;
                counters.sharedConflicts += passes - 1;
                issued.passes = std::max(issued.passes, passes);
                issued.readyAt =
                    std::max(issued.readyAt, sim_.now + static_cast<Cycles>(sim_.profile.shared.latency) + passes - 1);
                break;
            }
            case ptx::Space::param:
                issued.readyAt =
                    std::max(issued.readyAt, sim_.now + static_cast<Cycles>(sim_.profile.constant.hitLatency));
                break;
            default: {
                const std::uint32_t index = freeOperations_.back();
                freeOperations_.pop_back();
                Operation& op = operations_[index];
                op.kind = access.kind;
                op.local = access.space == ptx::Space::local;
                op.constant = access.space == ptx::Space::constant;
                op.bypass = !op.local && (!sim_.profile.l1.cachesGlobal || access.cacheOp == CacheOp::cg ||
                                          access.cacheOp == CacheOp::cv);
                op.redirected = !op.local && route == Route::sharedCache;
                op.keepsOut = !op.local && route == Route::bypass;
                op.slot = slot;
                op.launch = launch;
                op.load = kNoLoad;
                op.next = 0;
                const AddressSpace& memory = *warp.block().launch->memory;
                if (op.local) {
                    coalescer_.gatherLocal(access, sm_.localBase(slot), op.lines);
                } else if (op.constant) {
                    gatherConstant(access, memory, op.lines);
                } else {
                    coalescer_.gather(access, op.lines);
                    for (std::size_t i = 0; i < op.lines.count; ++i)
                        op.lines.items[i].line = memory.physical(op.lines.items[i].line);
                }
                for (std::size_t i = 0; i < op.lines.count; ++i) counters.bytesL1 += op.lines.items[i].bytes;
                if (access.kind == AccessKind::store || access.kind == AccessKind::reduction) {
                    // Local stores that stay in L1D need no acknowledgement.
                    if (!op.local || !sim_.profile.l1.localWriteBack)
                        issued.stores += static_cast<std::uint32_t>(op.lines.count);
                } else {
                    if (issued.load == kNoLoad) issued.load = takeLoad();
                    op.load = issued.load;
                    loads_[op.load].remaining += static_cast<std::uint32_t>(op.lines.count);
                }
                queue_.push(index);
                break;
            }
        }
    }
    if (issued.load != kNoLoad) loads_[issued.load].readyAt = std::max(loads_[issued.load].readyAt, issued.readyAt);
    return issued;
}

/// The constant cache answers one address a cycle to any number of lanes.
void LoadStore::gatherConstant(const Access& access, const AddressSpace& memory, Transactions& out) const {
    std::uint64_t seen[kLanes];
    const auto lineBytes = static_cast<std::uint64_t>(sim_.profile.constant.lineBytes);
    out.count = 0;
    for (LaneMask rest = access.lanes; rest; rest &= rest - 1) {
        const std::uint64_t address = access.address[std::countr_zero(rest)];
        if (std::find(seen, seen + out.count, address) != seen + out.count) continue;
        seen[out.count] = address;
        out.items[out.count++] = {memory.physical(address) / lineBytes * lineBytes, 1, 0, access.bytes};
    }
}

LoadStore::Passed LoadStore::passConstant(Operation& op, const Transaction& t) {
    Counters& counters = sim_.counters[op.launch];
    const auto lineBytes = static_cast<std::uint64_t>(sim_.profile.constant.lineBytes);
    const auto set = static_cast<std::uint32_t>(t.line / lineBytes % constants_.sets());
    std::uint32_t way = constants_.find(set, t.line);
    if (way != CacheTags::kNoWay) {
        ++counters.constantHits;
        constants_.use(set, way);
        lineDone(op.load, sim_.now - 1 + static_cast<Cycles>(sim_.profile.constant.hitLatency));
        return Passed::yes;
    }
    if (!crossbar_.canSend(port_)) return Passed::port;
    ++counters.constantMisses;
    // The tag is taken at once: a second miss on the line does not ask again, and is answered no earlier than the
    // hit latency allows.
    way = constants_.victim(set);
    constants_.place(set, way, t.line, op.slot);
    const auto l2LineBytes = static_cast<std::uint64_t>(sim_.profile.l2.lineBytes);
    const std::uint64_t line = t.line / l2LineBytes * l2LineBytes;
    const auto sector = (t.line - line) / static_cast<std::uint64_t>(sim_.profile.l2.sectorBytes);
    send(RequestKind::read, op, line, static_cast<std::uint8_t>(1u << sector), 0, op.load);
    return Passed::yes;
}

void LoadStore::tick() {
    if (queue_.empty() || blocked_) return;
    const std::uint32_t index = queue_.front();
    Operation& op = operations_[index];
    const Passed passed = pass(op, op.lines.items[op.next]);
    if (passed != Passed::yes) {
        blocked_ = true;
        blockedBy_ = passed;
        blockedSince_ = sim_.now;
        return;
    }
    if (++op.next == op.lines.count) {
        queue_.pop();
        freeOperations_.push_back(index);
    }
}

void LoadStore::unblock() {
    if (!blocked_) return;
    blocked_ = false;
    Counters& counters = sim_.counters[operations_[queue_.front()].launch];
    const Cycles waited = sim_.now - blockedSince_;
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

LoadStore::Passed LoadStore::passHit(Operation& op, std::uint32_t set, std::uint32_t way) {
    ++sim_.counters[op.launch].l1Hits;
    sm_.l1Hit(op.slot);
    tags_.use(set, way);
    lineDone(op.load, hitAt());
    return Passed::yes;
}

LoadStore::Passed LoadStore::passBypass(Operation& op, const Transaction& t) {
    if (!crossbar_.canSend(port_)) return Passed::port;
    ++sim_.counters[op.launch].l1Bypasses;
    send(RequestKind::read, op, t.line, t.sectors, 0, op.load);
    return Passed::yes;
}

bool LoadStore::mshrRefuses(std::uint32_t entry) const {
    return entry != MshrFile::kNone ? !mshrs_.canMerge(entry) : mshrs_.full();
}

template <bool Beside>
LoadStore::Passed LoadStore::passLoad(Operation& op, const Transaction& t) {
    if (op.bypass) return passBypass(op, t);
    Counters& counters = sim_.counters[op.launch];
    const std::uint32_t set = setOf(t.line);
    std::uint32_t way = tags_.find(set, t.line);
    const bool hit = way != CacheTags::kNoWay && (t.sectors & ~tags_.state(way).valid) == 0;
    const bool redirected = Beside && op.redirected && shared_->usable();
    if (hit && !redirected) return passHit(op, set, way);
    if (op.keepsOut) return passBypass(op, t);

    std::uint32_t entry = mshrs_.find(t.line);
    if constexpr (Beside) {
        // Data under way arrive where they were sent for, whoever joins.
        const bool toShared = entry == MshrFile::kNone ? redirected : mshrs_[entry].sharedPlace != MshrFile::kNone;
        if (toShared) return passRedirected(op, t, way, entry);
        if (hit) return passHit(op, set, way);
    }
    if (mshrRefuses(entry)) return Passed::mshr;
    const std::uint8_t wanted = widen(t.sectors);
    std::uint8_t present = entry == MshrFile::kNone ? std::uint8_t{0} : mshrs_[entry].pending;
    if (way != CacheTags::kNoWay)
        present |= static_cast<std::uint8_t>(tags_.state(way).valid | tags_.state(way).pending);
    const auto missing = static_cast<std::uint8_t>(wanted & ~present);
    const std::uint8_t elsewhere = Beside ? shared_->valid(t.line) : std::uint8_t{0};
    const auto fetched = static_cast<std::uint8_t>(missing & ~elsewhere);
    if (fetched && !crossbar_.canSend(port_)) return Passed::port;
    const bool wasHere = way != CacheTags::kNoWay;
    if (!wasHere && sim_.profile.l1.allocate == arch::DeviceProfile::Allocate::onMiss) {
        way = tags_.victim(set);
        if (way == CacheTags::kNoWay) return Passed::line;
        if (!makeRoom(way, op)) return Passed::port;
        tags_.place(set, way, t.line, op.slot);
        if (fetched &&
            !crossbar_.canSend(port_)) {  // the write-back took the last place; the line is ours when we come again
            tags_.drop(way);
            return Passed::port;
        }
    }
    if (elsewhere) {
        ++counters.movedToL1;
    } else {
        ++counters.l1Misses;
        if (!missing) ++counters.l1Merges;
        sm_.l1Missed(op.slot, t.line);
    }
    if (entry == MshrFile::kNone) entry = mshrs_.allocate(t.line);
    const auto under = static_cast<std::uint8_t>(missing | elsewhere);
    mshrs_[entry].pending |= under;
    std::uint8_t valid = 0;
    if (way != CacheTags::kNoWay) {
        if (wasHere) tags_.use(set, way);
        tags_.state(way).pending |= under;
        valid = tags_.state(way).valid;
    }
    mshrs_.wait(entry, op.load, static_cast<std::uint8_t>(t.sectors & ~valid));
    if (elsewhere) {
        shared_->drop(t.line);
        move(op, t.line, elsewhere);
    }
    if (fetched) send(RequestKind::read, op, t.line, fetched, 0, kForL1);
    return Passed::yes;
}

/// A load whose data are in shared memory, or go there: CIAO IV-B, "performance optimization and coherence". The tags
/// of L1D have been looked at first; what they hold moves over. `entry` is an MSHR that fills shared memory, or none.
LoadStore::Passed LoadStore::passRedirected(Operation& op, const Transaction& t, std::uint32_t way,
                                            std::uint32_t entry) {
    Counters& counters = sim_.counters[op.launch];
    const std::uint8_t valid = shared_->valid(t.line);
    if ((t.sectors & ~valid) == 0) {
        ++counters.sharedCacheHits;
        lineDone(op.load, sim_.now - 1 + static_cast<Cycles>(sim_.profile.shared.latency));
        return Passed::yes;
    }
    if (mshrRefuses(entry)) return Passed::mshr;
    const std::uint8_t elsewhere = way == CacheTags::kNoWay ? std::uint8_t{0} : tags_.state(way).valid;
    const std::uint8_t under = entry == MshrFile::kNone ? std::uint8_t{0} : mshrs_[entry].pending;
    const auto missing = static_cast<std::uint8_t>(widen(t.sectors) & ~(valid | under));
    const auto fetched = static_cast<std::uint8_t>(missing & ~elsewhere);
    if (fetched && !crossbar_.canSend(port_)) return Passed::port;
    if (elsewhere) {
        ++counters.movedToShared;
    } else {
        ++counters.sharedCacheMisses;
        sm_.missed(op.slot, t.line);
    }
    if (entry == MshrFile::kNone) entry = mshrs_.allocate(t.line);
    mshrs_[entry].sharedPlace = shared_->placeOf(t.line);
    mshrs_[entry].pending |= static_cast<std::uint8_t>(missing | elsewhere);
    mshrs_.wait(entry, op.load, static_cast<std::uint8_t>(t.sectors & ~valid));
    if (elsewhere) {
        tags_.drop(way);
        move(op, t.line, elsewhere);
    }
    if (fetched) send(RequestKind::read, op, t.line, fetched, 0, kForL1);
    return Passed::yes;
}

/// Sectors that one of the two caches gives up go through the response queue to the MSHR that waits for them: read
/// there, written here.
void LoadStore::move(const Operation& op, std::uint64_t line, std::uint8_t sectors) {
    const RequestId id = sim_.requests.take();
    Request& request = sim_.requests[id];
    request.kind = RequestKind::read;
    request.line = line;
    request.sm = port_;
    request.launch = op.launch;
    request.token = kForL1;
    request.sectors = sectors;
    request.warp = static_cast<std::uint8_t>(op.slot);
    sim_.events.push(sim_.now + static_cast<Cycles>(sim_.profile.l1.hitLatency + sim_.profile.shared.latency),
                     EventKind::deliver, id);
}

LoadStore::Passed LoadStore::pass(Operation& op, const Transaction& t) {
    if (op.constant) return passConstant(op, t);
    if (op.kind != AccessKind::load && op.kind != AccessKind::asyncCopy) return passStore(op, t);
    return shared_ ? passLoad<true>(op, t) : passLoad<false>(op, t);
}

LoadStore::Passed LoadStore::passStore(Operation& op, const Transaction& t) {
    const std::uint32_t set = setOf(t.line);
    std::uint32_t way = tags_.find(set, t.line);
    if (op.local && sim_.profile.l1.localWriteBack) {
        if (way == CacheTags::kNoWay) {
            way = tags_.victim(set);
            if (way == CacheTags::kNoWay) return Passed::line;
            if (!makeRoom(way, op)) return Passed::port;
            tags_.place(set, way, t.line, op.slot);
        } else {
            tags_.use(set, way);
        }
        tags_.state(way).dirty |= t.sectors;
        // What a lane's own local variable does not cover is not read before it is written: the sector is good.
        tags_.state(way).valid |= t.sectors;
        return Passed::yes;
    }
    if (!crossbar_.canSend(port_)) return Passed::port;
    if (op.kind == AccessKind::store) {
        // Write-through, no allocation: a line that is here is updated and stays.
        send(RequestKind::write, op, t.line, t.sectors, t.complete, kNoLoad);
        return Passed::yes;
    }
    // Atomics are executed at the slice, so a copy here would go stale.
    if (way != CacheTags::kNoWay && !tags_.state(way).pending) tags_.drop(way);
    if (shared_) shared_->drop(t.line);
    send(op.kind == AccessKind::atomic ? RequestKind::atomic : RequestKind::reduction, op, t.line, t.sectors, 0,
         op.load);
    return Passed::yes;
}

/// Empties a way. False if what it holds must be written back and the request port is full.
bool LoadStore::makeRoom(std::uint32_t way, const Operation& op) {
    if (tags_.line(way) == CacheTags::kNoLine) return true;
    const CacheTags::State state = tags_.state(way);
    if (state.dirty && !crossbar_.canSend(port_)) return false;
    const std::uint64_t line = tags_.line(way);
    ++sim_.counters[op.launch].l1Evictions;
    sm_.evicted(op.slot, state.owner, line);
    tags_.drop(way);
    if (state.dirty) {
        sm_.storeSent(state.owner, op.launch);
        Operation writeback;
        writeback.slot = state.owner;
        writeback.launch = op.launch;
        send(RequestKind::write, writeback, line, state.dirty, state.dirty, kNoLoad);
    }
    return true;
}

void LoadStore::send(RequestKind kind, const Operation& op, std::uint64_t line, std::uint8_t sectors,
                     std::uint8_t complete, std::uint32_t token) {
    const RequestId id = sim_.requests.take();
    Request& request = sim_.requests[id];
    const arch::AddressMap::Location where = sim_.profile.map.locate(line);
    request.kind = kind;
    request.line = line;
    request.slice = where.slice;
    request.set = where.set;
    request.bank = where.bank;
    request.row = where.row;
    request.sm = port_;
    request.launch = op.launch;
    request.token = token;
    request.sectors = sectors;
    request.complete = complete;
    request.bytes = static_cast<std::uint16_t>(std::popcount(sectors) * sim_.profile.l2.sectorBytes);
    request.warp = static_cast<std::uint8_t>(op.slot);
    crossbar_.send(id);
}

void LoadStore::receive(RequestId id) {
    const Request request = sim_.requests[id];
    sim_.requests.release(id);
    if (request.token != kForL1) {
        lineDone(request.token, sim_.now);
        return;
    }
    const std::uint32_t entry = mshrs_.find(request.line);
    if (const std::uint32_t place = mshrs_[entry].sharedPlace; place != MshrFile::kNone) {
        fillShared(request, place);
    } else {
        fillL1(request);
    }
    mshrs_.arrive(entry, request.sectors, [&](std::uint32_t load) { lineDone(load, sim_.now); });
    unblock();
}

void LoadStore::fillL1(const Request& request) {
    assert(!shared_ || !shared_->valid(request.line));
    const std::uint32_t set = setOf(request.line);
    std::uint32_t way = tags_.find(set, request.line);
    if (way == CacheTags::kNoWay) {  // allocation on fill
        way = tags_.victim(set);
        Operation op;
        op.slot = request.warp;
        op.launch = request.launch;
        if (way == CacheTags::kNoWay || !makeRoom(way, op)) return;  // the data go to the registers alone
        tags_.place(set, way, request.line, request.warp);
    }
    tags_.state(way).valid |= request.sectors;
    tags_.state(way).pending &= static_cast<std::uint8_t>(~request.sectors);
}

void LoadStore::fillShared(const Request& request, std::uint32_t place) {
    assert(tags_.find(setOf(request.line), request.line) == CacheTags::kNoWay);
    const auto victim = shared_->fill(place, request.line, request.sectors, request.warp);
    if (!victim) return;
    ++sim_.counters[request.launch].sharedCacheEvictions;
    sm_.evicted(request.warp, victim->owner, victim->line);
}

void LoadStore::lineDone(std::uint32_t load, Cycles when) {
    Load& l = loads_[load];
    l.readyAt = std::max(l.readyAt, when);
    if (--l.remaining) return;
    const Cycles readyAt = l.readyAt;
    l.nextFree = freeLoad_;
    freeLoad_ = load;
    sm_.loaded(load, std::max(readyAt, sim_.now));
}

std::uint32_t LoadStore::setOf(std::uint64_t line) const {
    const std::uint64_t number = line >> lineShift_;
    const std::uint32_t sets = tags_.sets();
    if (sim_.profile.l1.setHash == arch::DeviceProfile::SetHash::linear)
        return static_cast<std::uint32_t>(number % sets);
    // XOR of every group of index bits: what differs anywhere in the address differs in the set.
    const auto bits = static_cast<unsigned>(std::bit_width(sets - 1));
    std::uint64_t folded = 0;
    for (std::uint64_t rest = number; bits && rest; rest >>= bits) folded ^= rest & ((std::uint64_t{1} << bits) - 1);
    return static_cast<std::uint32_t>(folded < sets ? folded : folded % sets);
}

/// L1D may fetch more than L2's sector at a time.
std::uint8_t LoadStore::widen(std::uint8_t sectors) const {
    const auto group = static_cast<unsigned>(sim_.profile.l1.sectorBytes / sim_.profile.l2.sectorBytes);
    if (group <= 1) return sectors;
    const unsigned mask = (1u << group) - 1;
    unsigned wide = 0;
    for (unsigned at = 0; at < 8; at += group)
        if (sectors >> at & mask) wide |= mask << at;
    const unsigned line = (1u << (sim_.profile.l2.lineBytes / sim_.profile.l2.sectorBytes)) - 1;
    return static_cast<std::uint8_t>(wide & line);
}

}  // namespace bulkhead::sim
