#include "sim/sm/redirecting_load_store.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"
#include "sim/mem/crossbar.h"
#include "sim/sm/sm.h"

namespace bulkhead::sim {

RedirectingLoadStore::RedirectingLoadStore(SimContext& sim, SmPort& port, Sm& sm, std::uint32_t portNumber)
    : LoadStore(sim, port, sm, portNumber),
      shared_(sim.config.sm.sharedBytes, sim.profile.l1.setHash != arch::DeviceProfile::SetHash::linear) {
    if (config_.lineBytes != 1u << AddressTranslation::kBlockBits)
        throw Error("{}: shared memory can serve as a cache of 128-byte lines only, and l1.lineBytes is {}",
                    sim.profile.name, config_.lineBytes);
}

void RedirectingLoadStore::setCapacity(Bytes l1Bytes, std::uint32_t sharedBytes) {
    LoadStore::setCapacity(l1Bytes, sharedBytes);
    shared_.setCarveout(sharedBytes);
}

void RedirectingLoadStore::invalidate() {
    LoadStore::invalidate();
    shared_.clear();
}

void RedirectingLoadStore::blockStarted(std::uint32_t block, std::uint32_t sharedBytes) {
    if (shared_.blockStarted(block, sharedBytes)) mshrs_.forgetSharedPlaces();
}

LoadStore::Passed RedirectingLoadStore::passLoad(Operation& op, const Transaction& t) {
    if (op.bypass || op.route == Route::bypass) return LoadStore::passLoad(op, t);
    const Place at = find(op, t);
    if (op.route == Route::both && shared_.usable()) return passEither(op, t, at);
    const bool redirected = op.route == Route::sharedCache && shared_.usable();
    if (at.hit && !redirected) return passHit(op, t, at);

    // Data under way arrive where they were sent for, whoever joins.
    const std::uint32_t entry = findMshr(t.line, op.launch);
    const bool toShared = entry == MshrFile::kNone ? redirected : mshrs_[entry].sharedPlace != MshrFile::kNone;
    if (toShared) return passRedirected(op, t, at, entry);
    if (at.hit) return passHit(op, t, at);
    if (shared_.usedBytes() == 0) return passMiss(op, t, at, entry);
    // Is it there? The tag says so.
    if (!banksFree()) return Passed::banks;
    takeBanks(1);
    const std::uint8_t elsewhere = shared_.valid(t.line);
    return elsewhere ? moveToL1(op, t, at, entry, elsewhere) : passMiss(op, t, at, entry);
}

/// A load that may have its line from either cache, and leaves it there. What is in neither goes to shared memory,
/// unless the block there is new or has been used since another line wanted its place: then to L1D.
LoadStore::Passed RedirectingLoadStore::passEither(Operation& op, const Transaction& t, Place at) {
    if (at.hit) return passHit(op, t, at);
    const std::uint32_t entry = findMshr(t.line, op.launch);
    const bool toShared = entry != MshrFile::kNone ? mshrs_[entry].sharedPlace != MshrFile::kNone
                                                   : at.way == CacheTags::kNoWay && shared_.takes(t.line);
    if (toShared) return passRedirected(op, t, at, entry);
    if (!banksFree()) return Passed::banks;
    takeBanks(1);
    const Passed passed = passMiss(op, t, at, entry);
    if (passed == Passed::yes && entry == MshrFile::kNone && at.way == CacheTags::kNoWay) shared_.spare(t.line);
    return passed;
}

Cycles RedirectingLoadStore::takeBanks(unsigned passes) {
    const Cycles from = std::max(sim_.now(), banksFree_);
    banksFree_ = from + passes;
    return from - sim_.now();
}

/// A load whose data are in shared memory, or go there: CIAO IV-B, "performance optimization and coherence". The tags
/// of L1D have been looked at first; what they hold moves over. `entry` is an MSHR that fills shared memory, or none.
LoadStore::Passed RedirectingLoadStore::passRedirected(Operation& op, const Transaction& t, Place at,
                                                       std::uint32_t entry) {
    if (!banksFree()) return Passed::banks;
    takeBanks(1);
    Counters& counters = sim_.counters(op.launch);
    const std::uint8_t valid = shared_.valid(t.line);
    if ((t.sectors & ~valid) == 0) {
        ++counters.sharedCacheHits;
        shared_.use(t.line);
        lineDone(op.load, sim_.now() - 1 + sim_.config.shared.latency);
        return Passed::yes;
    }
    if (mshrRefuses(entry, op)) return Passed::mshr;
    const std::uint8_t elsewhere = at.way == CacheTags::kNoWay ? std::uint8_t{0} : tags_.state(at.way).valid;
    const std::uint8_t under = entry == MshrFile::kNone ? std::uint8_t{0} : mshrs_[entry].pending;
    const auto missing = static_cast<std::uint8_t>(widen(t.sectors) & ~(valid | under));
    const auto fetched = static_cast<std::uint8_t>(missing & ~elsewhere);
    if (fetched && !port_.canSend()) return Passed::port;
    if (elsewhere && !canMove(config_.hitLatency)) return Passed::banks;
    if (elsewhere) {
        ++counters.movedToShared;
    } else {
        ++counters.sharedCacheMisses;
        sm_.missed(op.slot, t.line);
    }
    if (entry == MshrFile::kNone) entry = takeMshr(t.line, op.launch);
    mshrs_[entry].sharedPlace = shared_.placeOf(t.line);
    mshrs_[entry].pending |= static_cast<std::uint8_t>(missing | elsewhere);
    mshrs_.wait(entry, op.load, static_cast<std::uint8_t>(t.sectors & ~valid));
    if (elsewhere) {
        firstUse(t, tags_.state(at.way).prefetched, counters.l1PrefetchesUseful);
        tags_.drop(at.way);
        move(op, t.line, elsewhere, config_.hitLatency, sim_.config.shared.latency);
    }
    if (fetched) send(RequestKind::read, op, t.line, fetched, 0, kForL1);
    return Passed::yes;
}

/// A load that misses in L1D, of whose line shared memory holds some `sectors`.
LoadStore::Passed RedirectingLoadStore::moveToL1(Operation& op, const Transaction& t, Place at, std::uint32_t entry,
                                                 std::uint8_t sectors) {
    if (mshrRefuses(entry, op)) return Passed::mshr;
    const std::uint8_t wanted = missing(t, at, entry);
    const auto fetched = static_cast<std::uint8_t>(wanted & ~sectors);
    if (!canMove(sim_.config.shared.latency)) return Passed::banks;
    if (const Passed passed = takePlace(op, t, at, fetched != 0); passed != Passed::yes) return passed;
    ++sim_.counters(op.launch).movedToL1;
    waitFor(static_cast<std::uint8_t>(wanted | sectors), op, t, at, entry);
    shared_.drop(t.line);
    move(op, t.line, sectors, sim_.config.shared.latency, config_.hitLatency);
    if (fetched) send(RequestKind::read, op, t.line, fetched, 0, kForL1);
    return Passed::yes;
}

/// Whether there is a place in the response queue for a line that is read from its cache now.
bool RedirectingLoadStore::canMove(Cycles readLatency) {
    while (!moves_.empty() && moves_.front() <= sim_.now()) moves_.pop_front();
    const auto still = std::upper_bound(moves_.begin(), moves_.end(), sim_.now() + readLatency);
    return static_cast<std::size_t>(moves_.end() - still) < sim_.config.ciao.moveQueue;
}

/// Sectors that one of the two caches gives up go through the response queue to the MSHR that waits for them: read
/// there, written here.
void RedirectingLoadStore::move(const Operation& op, std::uint64_t line, std::uint8_t sectors, Cycles readLatency,
                                Cycles writeLatency) {
    Cycles leaves = sim_.now() + readLatency;
    if (!moves_.empty()) leaves = std::max(leaves, moves_.back() + 1);
    if (mshrs_[mshrs_.find(line)].sharedPlace != MshrFile::kNone) leaves = std::max(leaves, banksFree_);
    moves_.push_back(leaves);
    const RequestId id = sim_.requests.take();
    Request& request = sim_.requests[id];
    request.kind = RequestKind::read;
    request.line = line;
    request.sm = portNumber_;
    request.launch = op.launch;
    request.token = kForL1;
    request.sectors = sectors;
    request.warp = static_cast<std::uint8_t>(op.slot);
    sim_.schedule(leaves + writeLatency, EventKind::deliver, id);
}

void RedirectingLoadStore::fill(const Request& request, const MshrFile::Entry& entry) {
    if (entry.sharedPlace == MshrFile::kNone) {
        assert(!shared_.valid(request.line));
        LoadStore::fill(request, entry);
        return;
    }
    assert(tags_.find(setOf(request.line, request.launch), request.line) == CacheTags::kNoWay);
    takeBanks(1);
    const auto victim = shared_.fill(entry.sharedPlace, request.line, request.sectors, request.warp);
    if (!victim) return;
    ++sim_.counters(request.launch).sharedCacheEvictions;
    sm_.evicted(request.warp, victim->owner, victim->line);
}

}  // namespace bulkhead::sim
