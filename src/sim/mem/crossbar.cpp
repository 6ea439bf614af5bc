#include "sim/mem/crossbar.h"

#include <algorithm>
#include <bit>

#include "sim/mem/l2_slice.h"
#include "sim/mem/memory_latency.h"

namespace bulkhead::sim {

Crossbar::Crossbar(SimContext& sim) : sim_(sim), waiters_(sim.profile.map.slices()) {
    const StageLatencies stages = stageLatencies(sim.profile);
    requestLatency_ = stages.request;
    responseLatency_ = stages.response;
    credits_.assign(waiters_.size(), static_cast<std::int64_t>(placesPerSlice()));
}

std::size_t Crossbar::placesPerSlice() const {
    return static_cast<std::size_t>(sim_.profile.crossbar.sliceQueue) + sim_.l2Clock.edgeAt(requestLatency_);
}

void Crossbar::attach(Requester& requester) {
    Port port;
    port.requester = &requester;
    port.queue = Ring<RequestId>(static_cast<std::size_t>(sim_.profile.crossbar.smQueue));
    ports_.push_back(std::move(port));
}

/// An atomic or a write goes to the line's home, which may be on the far side, or in the far half of a side. Reads are
/// served by a near copy (H200: only atomics show the side).
Cycles Crossbar::far(const Request& request) const {
    const auto& l2 = sim_.profile.l2;
    if (l2.sides == 1 || request.kind == RequestKind::read) return 0;
    const auto sides = static_cast<std::uint64_t>(l2.sides), sms = static_cast<std::uint64_t>(sim_.profile.sm.count);
    const std::uint64_t sm = request.sm % sms, slices = sim_.profile.map.slices();
    const std::uint64_t smSide = sm * sides / sms, sliceSide = request.slice * sides / slices;
    if (smSide != sliceSide) return static_cast<Cycles>(l2.farLatency) / 2;
    if (l2.halfLatency == 0) return 0;
    // Two multiprocessors make a TPC, which is not divided.
    const std::uint64_t smHalf = (sm - smSide * sms / sides) / 2 * 4 * sides / sms,
                        sliceHalf = (request.slice - sliceSide * slices / sides) * 2 * sides / slices;
    return smHalf == sliceHalf ? 0 : static_cast<Cycles>(l2.halfLatency) / 2;
}

std::uint64_t Crossbar::requestEdges(const Request& request) const {
    return request.kind == RequestKind::read ? 1 : portEdges(request.bytes, sim_.profile.crossbar.requestBytesPerCycle);
}

void Crossbar::send(RequestId id) {
    Request& request = sim_.requests[id];
    request.since = sim_.now;
    Port& port = ports_[request.sm];
    const bool first = port.queue.empty();
    port.queue.push(id);
    if (first && !port.waiting) scheduleInject(request.sm, sim_.l2Clock.coreAt(port.requestFree));
}

void Crossbar::scheduleInject(std::uint32_t sm, Cycles when) {
    Port& port = ports_[sm];
    when = std::max(when, sim_.now);
    if (when >= port.scheduled) return;
    port.scheduled = when;
    if (when == sim_.now) {
        inject(sm);
    } else {
        sim_.events.push(when, EventKind::inject, sm);
    }
}

void Crossbar::inject(std::uint32_t sm) {
    Port& port = ports_[sm];
    if (sim_.now != port.scheduled) return;
    port.scheduled = kNever;
    if (port.queue.empty() || port.waiting) return;
    const RequestId id = port.queue.front();
    Request& request = sim_.requests[id];
    if (credits_[request.slice] == 0) {
        port.waiting = true;
        request.since = sim_.now;
        waiters_[request.slice].push_back(sm);
        return;
    }
    --credits_[request.slice];
    port.queue.pop();
    const std::uint64_t edges = requestEdges(request);
    port.requestFree = std::max(sim_.l2Clock.edgeAt(sim_.now), port.requestFree) + edges;
    const Cycles sent = sim_.l2Clock.coreAt(port.requestFree);
    sim_.counters[request.launch].bytesL2 += request.kind == RequestKind::read ? 0 : request.bytes;
    sim_.events.push(sent + requestLatency(request), EventKind::sliceArrive, id);
    if (!port.queue.empty()) scheduleInject(sm, std::max(sent, sim_.now + 1));
    port.requester->requestPortFreed();
}

void Crossbar::returnCredit(std::uint32_t slice) {
    ++credits_[slice];
    if (waiters_[slice].empty()) return;
    const std::uint32_t sm = waiters_[slice].front();
    waiters_[slice].pop_front();
    Port& port = ports_[sm];
    port.waiting = false;
    const Request& request = sim_.requests[port.queue.front()];
    sim_.counters[request.launch].portWait += sim_.now - request.since;
    scheduleInject(sm, sim_.l2Clock.coreAt(port.requestFree));
}

void Crossbar::respond(RequestId id) {
    const Request& request = sim_.requests[id];
    Port& port = ports_[request.sm];
    // The response has already spent its transfer time on the slice's port, and both ports are equally wide: it waits
    // here only if responses from other slices still occupy this one.
    const auto bytes = static_cast<std::uint64_t>(std::popcount(request.sectors)) *
                       static_cast<std::uint64_t>(sim_.profile.l2.sectorBytes);
    const std::uint64_t edges = portEdges(bytes, sim_.profile.crossbar.responseBytesPerCycle);
    port.responseFree = std::max(sim_.l2Clock.edgeAt(sim_.now), port.responseFree + edges);
    const Cycles when = sim_.l2Clock.coreAt(port.responseFree);
    if (when <= sim_.now) {
        deliver(id);
    } else {
        sim_.events.push(when, EventKind::deliver, id);
    }
}

void Crossbar::deliver(RequestId id) {
    ports_[sim_.requests[id].sm].requester->receive(id);
}

void Crossbar::acknowledge(RequestId id) {
    const Request& request = sim_.requests[id];
    ports_[request.sm].requester->stored(request.warp, request.launch, sim_.now + responseLatency(request));
}

}  // namespace bulkhead::sim
