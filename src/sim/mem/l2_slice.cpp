#include "sim/mem/l2_slice.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sim/mem/crossbar.h"
#include "sim/mem/dram_channel.h"

namespace bulkhead::sim {
namespace {

/// Marks the tag of a copy: no physical address is as high.
constexpr std::uint64_t kCopy = std::uint64_t{1} << 62;

/// Sectors of a copy that are here or on their way.
std::uint8_t arriving(const LineState& copy) {
    return copy.valid | copy.prefetched;
}

/// A read that crossed over has been looked up on its own side before, in vain.
void countSectors(Counters& counters, const Request& request, std::uint8_t hits) {
    counters.l2Sectors +=
        static_cast<unsigned>(std::popcount(request.sectors)) * (request.crosses && !request.joins ? 2u : 1u);
    counters.l2SectorHits += static_cast<unsigned>(std::popcount(hits));
}

}  // namespace

std::span<const L2Slice::WriteChoice> L2Slice::writePolicies() {
    static constexpr std::array kPolicies = {
        WriteChoice{"write-back", "a write takes a line, which goes to DRAM when it is evicted", &L2Slice::writeBack},
        WriteChoice{"write-through", "a write goes to DRAM at once, and takes no line", &L2Slice::writeThrough},
        WriteChoice{"write-back-fetch",
                    "the same as write-back, but a write that misses goes to DRAM and fetches its line",
                    &L2Slice::writeBackFetch},
    };
    static_assert(std::ranges::equal(kPolicies, arch::DeviceProfile::kL2WriteNames, {}, &WriteChoice::name));
    return kPolicies;
}

L2Slice::L2Slice(SimContext& sim, std::uint32_t index, SlicePort& port, DramChannel& channel)
    : sim_(sim),
      index_(index),
      port_(port),
      channel_(channel),
      sets_(sim.profile.map.setsPerSlice()),
      tags_(sets_ * sim.separation.copies(Resource::l2), sim.config.l2.ways, sim.profile.l2.replacement),
      serveWrite_(writePolicies()[static_cast<std::size_t>(sim.profile.l2.writePolicy)].serve),
      mshrs_(sim.config.l2.mshrs, sim.config.l2.mshrMerges, sim.separation.copiesOfQueues()),
      joiner_(sim),
      wide_(wideSectors(sim.config.l2.lineBytes / sim.config.l2.sectorBytes, sim.config.l2.sectorsFetched)),
      ports_(sim.separation.copies(Resource::ports)),
      responseBacklog_(sim.config.l2.responseQueue *
                       portEdges(sim.config.l2.sectorBytes, sim.config.crossbar.responseBytesPerCycle)) {
    channel.notifyWhenRoom(*this);
}

void L2Slice::arrive(RequestId id) {
    Request& request = sim_.requests[id];
    request.set += sets_ * sim_.separation.copyOf(Resource::l2, request.launch);
    if (const ReadJoiner::Arrival arrival = joiner_.arrive(id); arrival != ReadJoiner::Arrival::first) {
        port_.credit(id);
        if (arrival == ReadJoiner::Arrival::answered) send(id, joiner_.answerTo(id));
        return;
    }
    const std::uint32_t index = portOf(request);
    append(ports_[index].queue, id);
    const Port& port = ports_[index];
    if (port.stalled == Served::yes) schedule(index, std::max(sim_.now(), sim_.l2Clock.coreAt(port.busyUntil)));
}

void L2Slice::append(Queue& queue, RequestId id) {
    sim_.requests[id].next = kNoRequest;
    (queue.last == kNoRequest ? queue.first : sim_.requests[queue.last].next) = id;
    queue.last = id;
}

RequestId L2Slice::takeFirst(Queue& queue) {
    const RequestId id = queue.first;
    queue.first = sim_.requests[id].next;
    if (queue.first == kNoRequest) queue.last = kNoRequest;
    return id;
}

void L2Slice::schedule(std::uint32_t index, Cycles when) {
    Port& port = ports_[index];
    if (when >= port.scheduled) return;
    port.scheduled = when;
    if (when == sim_.now()) {
        process(index);
    } else {
        sim_.schedule(when, EventKind::sliceProcess, index_ * kMostPorts + index);
    }
}

void L2Slice::process(std::uint32_t index) {
    Port& port = ports_[index];
    if (sim_.now() != port.scheduled) return;  // overtaken by an earlier one
    port.scheduled = kNever;
    while (port.queue.first != kNoRequest || (port.aside.first != kNoRequest && !port.asideWaits)) {
        const std::uint64_t edge = std::max(sim_.l2Clock.edgeAt(sim_.now()), port.busyUntil);
        if (sim_.l2Clock.coreAt(edge) > sim_.now()) {
            schedule(index, sim_.l2Clock.coreAt(edge));
            return;
        }
        if (port.aside.first != kNoRequest && !port.asideWaits) [[unlikely]] {
            if (!serveAside(index, edge)) return;
            continue;
        }
        const RequestId id = port.queue.first, next = sim_.requests[id].next;
        const std::uint32_t launch = sim_.requests[id].launch;
        if (port.aside.first != kNoRequest && sim_.separation.isNeighbour(launch)) [[unlikely]] {
            append(port.aside, takeFirst(port.queue));
            continue;
        }
        const Served served = serve(port, id, edge);
        if (waitsForItsOwn(served, launch)) [[unlikely]] {
            append(port.aside, takeFirst(port.queue));
            port.asideWaits = true;
            continue;
        }
        if (served != port.stalled) {
            noteStall(port, launch);
            port.stalled = served;
            port.stalledSince = sim_.now();
        }
        if (served != Served::yes) {
            if (served == Served::responseFull)
                schedule(index,
                         std::max(sim_.now() + 1, sim_.l2Clock.coreAt(port.responseFree - responseBacklog_ + 1)));
            return;  // the other stalls end when a fill comes or the channel has room
        }
        port.queue.first = next;
        if (next == kNoRequest) port.queue.last = kNoRequest;
        port_.credit(id);
    }
}

/// Whether a launch's request waits for something that others have another copy of.
bool L2Slice::waitsForItsOwn(Served served, std::uint32_t launch) const {
    const Separation& s = sim_.separation;
    switch (served) {
        case Served::yes:
        case Served::responseFull:
            return false;
        case Served::mshrFull:
        case Served::dramFull:
            return s.queuesOf(launch) != 0;
        case Served::lineBusy:
            return s.copyOf(Resource::l2, launch) != 0;
    }
    return false;
}

/// The first of those that stepped aside. False if the port has to wait for something that is everybody's.
bool L2Slice::serveAside(std::uint32_t index, std::uint64_t edge) {
    Port& port = ports_[index];
    const RequestId id = port.aside.first, next = sim_.requests[id].next;
    const Served served = serve(port, id, edge);
    if (served == Served::yes) {
        port.aside.first = next;
        if (next == kNoRequest) port.aside.last = kNoRequest;
        port_.credit(id);
        return true;
    }
    // Others need not wait for it, whatever it waits for by now.
    if (served != Served::responseFull) {
        port.asideWaits = true;
        return true;
    }
    schedule(index, std::max(sim_.now() + 1, sim_.l2Clock.coreAt(port.responseFree - responseBacklog_ + 1)));
    return false;
}

void L2Slice::noteStall(const Port& port, std::uint32_t launch) {
    Counters& counters = sim_.counters(launch);
    const Cycles waited = sim_.now() - port.stalledSince;
    switch (port.stalled) {
        case Served::yes:
            break;
        case Served::mshrFull:
            counters.l2StallMshr += waited;
            break;
        case Served::responseFull:
            counters.l2StallResponse += waited;
            break;
        case Served::dramFull:
            counters.l2StallDram += waited;
            break;
        case Served::lineBusy:
            counters.l2StallLine += waited;
            break;
    }
}

L2Slice::Served L2Slice::serve(Port& port, RequestId id, std::uint64_t edge) {
    Request& request = sim_.requests[id];
    if (request.sm == kCopyEngine) [[unlikely]]
        return serveCopy(port, id, edge);
    const std::uint32_t way = tags_.find(request.set, request.line);
    const bool writes = request.kind == RequestKind::write;
    if (!writes && port.responseFree >= edge + responseBacklog_) return Served::responseFull;
    std::uint64_t service = 1;
    if (writes) {
        service = portEdges(bytesOf(request.sectors), sim_.config.crossbar.requestBytesPerCycle);
    } else if (request.kind != RequestKind::read) {
        service = std::max<std::uint64_t>(
            sim_.config.l2.atomicInterval * static_cast<std::uint64_t>(std::popcount(request.sectors)), request.turns);
    }
    const Served served = writes ? (this->*serveWrite_)(id, way) : serveRead(id, way);
    if (served != Served::yes) return served;
    port.busyUntil = edge + service;
    if (request.kind != RequestKind::read && sim_.config.l2.copiesFarLines) {
        if (writes && port_.apart(request))
            writeCopy(request);
        else
            dropCopy(request.set, request.line);  // what was there is no longer the same
    }
    return served;
}

/// A line of a copy or a fill takes time of the slice and of DRAM, and leaves tags as they are: what stays of a copy is
/// L2Copies'.
L2Slice::Served L2Slice::serveCopy(Port& port, RequestId id, std::uint64_t edge) {
    const Request& request = sim_.requests[id];
    const bool writes = request.kind == RequestKind::write;
    if (!writes && port.responseFree >= edge + responseBacklog_) return Served::responseFull;
    const std::uint32_t way = tags_.find(request.set, request.line);
    if (!writes && way != CacheTags::kNoWay && (request.sectors & ~tags_.state(way).valid) == 0) {
        finish(id);
    } else if (channel_.room(request.launch) == 0 ||
               (!writes && !channel_.hasRoomForFill(request.bank, request.launch))) {
        return Served::dramFull;
    } else if (writes) {
        sendWriteback(request.line, request.bank, request.row, request.sectors, request.launch);
        finish(id);
    } else {
        sendFill(request, request.sectors, id);
    }
    port.busyUntil = edge + (writes ? portEdges(request.bytes, sim_.config.crossbar.requestBytesPerCycle) : 1);
    return Served::yes;
}

/// Reads, and atomics, which read and modify at the slice.
L2Slice::Served L2Slice::serveRead(RequestId id, std::uint32_t way) {
    Request& request = sim_.requests[id];
    Counters& counters = sim_.counters(request.launch);
    const bool modifies = request.kind != RequestKind::read;
    if (!modifies && sim_.config.l2.copiesFarLines && findCopy(id)) return Served::yes;
    if (way != CacheTags::kNoWay && (request.sectors & ~tags_.state(way).valid) == 0) {
        ++counters.l2Hits;
        if (request.crosses) {
            ++counters.l2FarReads;
            expectCopy(request);
        }
        if (modifies) {
            ++counters.l2Atomics;
            markDirty(request.set, way, request.sectors, request.launch);
        } else {
            countSectors(counters, request, request.sectors);
        }
        tags_.use(request.set, way);
        retain(request.set, way, request.retention);
        finish(id);
        return Served::yes;
    }

    const std::uint64_t key = mshrKey(request.set, request.line);
    const std::uint32_t copy = sim_.separation.queuesOf(request.launch);
    std::uint32_t entry = mshrs_.find(key);
    if (entry != MshrFile::kNone ? !mshrs_.canMerge(entry) : mshrs_.full(copy)) return Served::mshrFull;
    const bool newLine = way == CacheTags::kNoWay;
    if (newLine) {
        way = tags_.victim(request.set);
        if (way == CacheTags::kNoWay) return Served::lineBusy;
    }
    const std::uint8_t present =
        newLine ? std::uint8_t{0} : static_cast<std::uint8_t>(tags_.state(way).valid | tags_.state(way).pending);
    const auto missing = static_cast<std::uint8_t>(widen(request.sectors) & ~present);
    const std::size_t room = (missing != 0) + (newLine && tags_.state(way).dirty != 0);
    if (channel_.room(request.launch) < room) return Served::dramFull;
    if (missing != 0 && !channel_.hasRoomForFill(request.bank, request.launch)) return Served::dramFull;

    ++counters.l2Misses;
    if (request.crosses) {
        ++counters.l2FarReads;
        expectCopy(request);
    }
    if (modifies) {
        ++counters.l2Atomics;
    } else {
        countSectors(counters, request, static_cast<std::uint8_t>(request.sectors & present));
    }
    if (missing == 0) ++counters.l2Merges;
    if (newLine) {
        evict(way, request);
        tags_.place(request.set, way, request.line, request.launch);
    } else {
        tags_.use(request.set, way);
    }
    retain(request.set, way, request.retention);
    tags_.state(way).pending |= missing;
    if (entry == MshrFile::kNone) entry = mshrs_.allocate(key, copy);
    mshrs_[entry].pending |= missing;
    mshrs_.wait(entry, id, static_cast<std::uint8_t>(request.sectors & ~tags_.state(way).valid));
    if (missing) sendFill(request, missing);
    return Served::yes;
}

/// Sectors that were written in pieces are whole in the end.
void L2Slice::mergeWords(LineState& line, const Request& request) const {
    const auto words = static_cast<unsigned>(sim_.config.l2.sectorBytes / 4);
    const std::uint32_t all = words >= 32 ? ~0u : (1u << words) - 1;
    line.words |= request.words;
    for (unsigned s = 0; s * words < 32; ++s)
        if ((line.words >> s * words & all) == all) line.valid |= static_cast<std::uint8_t>(1u << s);
}

/// A line was written. Of more dirty lines than a set may have, the oldest goes to DRAM, and stays.
void L2Slice::markDirty(std::uint32_t set, std::uint32_t way, std::uint8_t sectors, std::uint32_t launch) {
    const bool clean = tags_.state(way).dirty == 0;
    tags_.state(way).dirty |= sectors;
    if (!clean || !sim_.config.l2.dirtyWays) return;
    while (channel_.room(launch) > 0 && tags_.dirtyLines(set) > sim_.config.l2.dirtyWays)
        if (!writeOldest(set, launch)) return;
}

/// False if all dirty lines wait for something.
bool L2Slice::writeOldest(std::uint32_t set, std::uint32_t launch) {
    const std::uint32_t way = tags_.oldestDirty(set);
    if (way == CacheTags::kNoWay) return false;
    writeDirty(way, launch);
    tags_.state(way).dirty = 0;
    return true;
}

void L2Slice::writeDirty(std::uint32_t way, std::uint32_t launch) {
    ++sim_.counters(launch).l2Writebacks;
    const std::uint64_t line = tags_.line(way);
    const arch::AddressMap::Location where = sim_.profile.map.locate(line);
    sendWriteback(line, where.bank, where.row, tags_.state(way).dirty, launch);
}

/// A read from the other side looks there first: a copy that an earlier read has left serves it. One
/// that finds none crosses over, and is answered later. Copies are kept with the line's slice, in another set, though
/// they take the place of other lines on the reader's side: there is as much to and fro.
bool L2Slice::findCopy(RequestId id) {
    Request& request = sim_.requests[id];
    if (!port_.apart(request)) return false;
    const std::uint32_t set = copySet(request.set), way = tags_.find(set, request.line | kCopy);
    const bool here = way != CacheTags::kNoWay && (request.sectors & ~tags_.state(way).valid) == 0;
    request.crosses = !here;
    if (!here) {
        request.joins = way != CacheTags::kNoWay && (request.sectors & ~arriving(tags_.state(way))) == 0;
        return false;
    }
    Counters& counters = sim_.counters(request.launch);
    ++counters.l2Hits;
    countSectors(counters, request, request.sectors);
    tags_.use(set, way);
    finish(id);
    return true;
}

/// Others need not cross for what is under way. It is not kept from being evicted: nobody waits for the place.
void L2Slice::expectCopy(const Request& request) {
    if (request.joins) return;
    leaveCopy(request, 0);
    const std::uint32_t way = tags_.find(copySet(request.set), request.line | kCopy);
    if (way != CacheTags::kNoWay) tags_.state(way).prefetched |= widen(request.sectors);
}

/// The way of the copy, which may be new and empty, or none if there is no room.
std::uint32_t L2Slice::copyFor(const Request& request) {
    const std::uint32_t set = copySet(request.set);
    std::uint32_t way = tags_.find(set, request.line | kCopy);
    if (way != CacheTags::kNoWay) return way;
    way = tags_.victim(set);
    if (way == CacheTags::kNoWay || (tags_.state(way).dirty && channel_.room(request.launch) == 0))
        return CacheTags::kNoWay;
    evict(way, request);
    tags_.place(set, way, request.line | kCopy, request.launch);
    return way;
}

/// What is written from the other side is there too, and what was there stays.
void L2Slice::writeCopy(const Request& request) {
    const bool merges = sim_.config.l2.mergesWrites && request.words != 0;
    if (!request.complete && !merges) return;
    if (request.complete) leaveCopy(request, request.complete);
    const std::uint32_t way = merges ? copyFor(request) : CacheTags::kNoWay;
    if (way != CacheTags::kNoWay) mergeWords(tags_.state(way), request);
}

void L2Slice::leaveCopy(const Request& request, std::uint8_t sectors) {
    const std::uint32_t way = copyFor(request);
    if (way == CacheTags::kNoWay) return;
    const std::uint32_t home = tags_.find(request.set, request.line);
    tags_.state(way).valid |= sectors;
    if (home != CacheTags::kNoWay) tags_.state(way).valid |= widen(sectors) & tags_.state(home).valid;
}

void L2Slice::dropCopy(std::uint32_t set, std::uint64_t line) {
    const std::uint32_t way = tags_.find(copySet(set), line | kCopy);
    if (way != CacheTags::kNoWay) tags_.drop(way);
}

void L2Slice::evict(std::uint32_t way, const Request& by) {
    if (tags_.line(way) == CacheTags::kNoLine) return;
    ++sim_.counters(by.launch).l2Evictions;
    const CacheTags::State& state = tags_.state(way);
    if (sim_.observer) sim_.observer->l2Eviction(sim_.now(), index_, tags_.line(way) & ~kCopy, state.owner, by.launch);
    if (state.dirty) writeDirty(way, by.launch);
}

void L2Slice::sendWriteback(std::uint64_t line, std::uint32_t bank, std::uint64_t row, std::uint8_t sectors,
                            std::uint32_t launch) {
    const RequestId id = sim_.requests.take();
    Request& writeback = sim_.requests[id];
    writeback.kind = RequestKind::writeback;
    writeback.line = line;
    writeback.slice = index_;
    writeback.bank = bank;
    writeback.row = row;
    writeback.sectors = sectors;
    writeback.bytes = bytesOf(sectors);
    writeback.launch = launch;
    channel_.enqueue(id);
}

void L2Slice::sendFill(const Request& by, std::uint8_t sectors, RequestId copied) {
    const RequestId id = sim_.requests.take();
    Request& fill = sim_.requests[id];
    fill.kind = RequestKind::fill;
    fill.line = by.line;
    fill.slice = index_;
    fill.set = by.set;
    fill.bank = by.bank;
    fill.row = by.row;
    fill.sectors = sectors;
    fill.bytes = bytesOf(sectors);
    fill.launch = by.launch;
    fill.token = copied;
    channel_.enqueue(id);
}

void L2Slice::fill(RequestId id) {
    const Request fill = sim_.requests[id];
    sim_.requests.release(id);
    if (fill.token != kNoRequest) return sim_.schedule(sim_.now() + missLatency_, EventKind::sliceAnswer, fill.token);
    const std::uint32_t way = tags_.find(fill.set, fill.line);
    tags_.state(way).valid |= fill.sectors;
    tags_.state(way).pending &= static_cast<std::uint8_t>(~fill.sectors);
    mshrs_.arrive(mshrs_.find(mshrKey(fill.set, fill.line)), fill.sectors, [&](std::uint32_t waiter) {
        if (sim_.requests[waiter].kind != RequestKind::read) tags_.state(way).dirty |= sim_.requests[waiter].sectors;
        sim_.schedule(sim_.now() + missLatency_, EventKind::sliceAnswer, waiter);
    });
    retryIf([](Served stalled) { return stalled == Served::mshrFull || stalled == Served::lineBusy; });
}

void L2Slice::dramHasRoom() {
    retryIf([](Served stalled) { return stalled == Served::dramFull; });
}

/// The slice has done its part: data or an acknowledgement goes back.
void L2Slice::finish(RequestId id) {
    const Request& request = sim_.requests[id];
    if (request.kind == RequestKind::write || request.kind == RequestKind::reduction) {
        port_.send(id, sim_.now());
    } else {
        respond(id);
    }
}

void L2Slice::respond(RequestId id) {
    const Request& request = sim_.requests[id];
    const std::uint64_t edges = portEdges(bytesOf(request.sectors), sim_.config.crossbar.responseBytesPerCycle);
    std::uint64_t& responseFree = ports_[portOf(request)].responseFree;
    responseFree = std::max(sim_.l2Clock.edgeAt(sim_.now()), responseFree) + edges;
    if (request.crosses) leaveCopy(request, request.sectors);
    const ReadJoiner::Answer answer{.leaves = sim_.l2Clock.coreAt(responseFree), .crosses = request.crosses};
    joiner_.answer(id, answer, [&](RequestId with) { send(with, answer); });
    send(id, answer);
}

void L2Slice::send(RequestId id, const ReadJoiner::Answer& answer) {
    Request& request = sim_.requests[id];
    request.crosses = answer.crosses;
    sim_.counters(request.launch).bytesL2 += bytesOf(request.sectors);
    sim_.l2Answered(bytesOf(request.sectors));
    port_.send(id, std::max(sim_.now(), answer.leaves));
}

std::uint16_t L2Slice::bytesOf(std::uint8_t sectors) const {
    return static_cast<std::uint16_t>(std::popcount(sectors) * sim_.config.l2.sectorBytes);
}

void L2Slice::touch(RequestKind kind, std::uint32_t set, std::uint64_t line, std::uint8_t sectors,
                    std::uint8_t complete, std::uint32_t launch, Retention retention) {
    const bool writes = kind == RequestKind::write;
    const auto policy = sim_.profile.l2.writePolicy;
    const bool through = writes && policy == arch::DeviceProfile::L2Write::through;
    std::uint32_t way = tags_.find(set, line);
    const bool fetched = writes && policy == arch::DeviceProfile::L2Write::fetch && way == CacheTags::kNoWay;
    if (way != CacheTags::kNoWay) {
        tags_.use(set, way);
    } else {
        if (through) return;
        way = tags_.victim(set);
        if (way == CacheTags::kNoWay) return;
        tags_.place(set, way, line, launch, writes ? sim_.config.l2.writeRetention : 0);
    }
    retain(set, way, retention);
    tags_.state(way).valid |= writes && !fetched ? complete : sectors;
    if (kind != RequestKind::read && !through && !fetched) tags_.state(way).dirty |= sectors;
    if (kind != RequestKind::read && sim_.config.l2.copiesFarLines) dropCopy(set, line);
}

void L2Slice::keepCopied(std::uint32_t set, std::uint64_t line, std::uint8_t complete) {
    std::uint32_t way = tags_.find(set, line);
    if (way == CacheTags::kNoWay) {
        way = tags_.victim(set);
        if (way == CacheTags::kNoWay || tags_.line(way) != CacheTags::kNoLine) return;
        tags_.place(set, way, line, 0);
    }
    tags_.state(way).valid |= complete;
    tags_.state(way).dirty &= static_cast<std::uint8_t>(~complete);
    if (sim_.config.l2.copiesFarLines) dropCopy(set, line);
}

}  // namespace bulkhead::sim
