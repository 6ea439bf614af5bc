#include "sim/mem/crossbar.h"

#include <algorithm>
#include <bit>

namespace bulkhead::sim {
namespace {

/// Requests of one SM that can be between its port and the tags of the slices: its part of the slices' queues, and one
/// for each stage of the way there and of the credit's way back.
std::uint32_t creditsOf(const SimContext& sim, const CrossbarLatency& latency) {
    const std::uint64_t queues = sim.profile.map.slices() * sim.config.crossbar.sliceQueue;
    const std::uint64_t stages = sim.l2Clock.edgeAt(2 * latency.shortest());
    return static_cast<std::uint32_t>((queues + sim.config.sm.count - 1) / sim.config.sm.count + stages);
}

}  // namespace

CrossbarLatency::CrossbarLatency(const SimShared& shared)
    : config_(shared.config),
      partitions_(shared.profile.map.channels()),
      slicesPerPartition_(shared.profile.map.slices() / partitions_),
      stages_(stageLatencies(shared.profile)) {}

bool CrossbarLatency::apart(const Request& request) const {
    return regionOfSm(request).side != config_.l2.regionsOfSlices[request.slice].side;
}

/// An atomic or a write goes to the line's home, which may be on the far side, or in the far half of a side. For reads,
/// it depends on whether there is a copy near by.
Cycles CrossbarLatency::far(const Request& request) const {
    const auto& l2 = config_.l2;
    if (l2.sides == 1 || request.kind == RequestKind::read) return 0;
    if (apart(request)) return l2.farLatency / 2;
    return regionOfSm(request).half == l2.regionsOfSlices[request.slice].half ? 0 : l2.halfLatency / 2;
}

SmPort::SmPort(SimContext& sim, const CrossbarLatency& latency, Requester& requester)
    : sim_(sim),
      latency_(latency),
      requester_(requester),
      queue_(sim.config.crossbar.smQueue),
      credits_(creditsOf(sim, latency)),
      sent_(latency.partitions()) {
    sim.onEvent<&SmPort::inject>(EventKind::inject, *this);
    sim.onEvent<&SmPort::respond>(EventKind::respond, *this);
    sim.onEvent<&SmPort::deliver>(EventKind::deliver, *this);
    sim.onEvent<&SmPort::acknowledge>(EventKind::acknowledge, *this);
}

std::uint64_t SmPort::requestEdges(const Request& request) const {
    return request.kind == RequestKind::read ? 1 : portEdges(request.bytes, sim_.config.crossbar.requestBytesPerCycle);
}

void SmPort::send(RequestId id) {
    const bool first = queue_.empty();
    queue_.push(id);
    if (!first) return;
    sim_.requests[id].since = sim_.now();
    scheduleInject(sim_.l2Clock.coreAt(requestFree_));
}

void SmPort::scheduleInject(Cycles when) {
    when = std::max(when, sim_.now());
    if (when >= scheduled_) return;
    scheduled_ = when;
    if (when == sim_.now()) {
        inject(0);
    } else {
        sim_.schedule(when, EventKind::inject, 0);
    }
}

void SmPort::inject(std::uint32_t) {
    if (sim_.now() != scheduled_) return;
    scheduled_ = kNever;
    if (queue_.empty()) return;
    const RequestId id = queue_.front();
    Request& request = sim_.requests[id];
    if (credits_ == 0) {
        request.since = sim_.now();
        return;
    }
    --credits_;
    queue_.pop();
    requestFree_ = std::max(sim_.l2Clock.edgeAt(sim_.now()), requestFree_) + requestEdges(request);
    const Cycles leaves = sim_.l2Clock.coreAt(requestFree_);
    sim_.counters(request.launch).bytesL2 += request.kind == RequestKind::read ? 0 : request.bytes;
    const std::uint32_t partition = latency_.partitionOf(request);
    if (sent_[partition].empty()) receivers_.push_back(partition);
    sent_[partition].push_back({leaves + latency_.request(request), id});
    if (!queue_.empty()) scheduleInject(std::max(leaves, sim_.now() + 1));
    requester_.requestPortFreed();
}

void SmPort::credit(std::uint32_t served) {
    if (!served) return;
    const bool waited = credits_ == 0 && !queue_.empty() && scheduled_ == kNever;
    credits_ += served;
    if (!waited) return;
    const Request& request = sim_.requests[queue_.front()];
    sim_.counters(request.launch).portWait += sim_.now() - request.since;
    // Not before the SM advances again: what it has sent so far is being handed over.
    scheduled_ = std::max(sim_.l2Clock.coreAt(requestFree_), sim_.now());
    sim_.schedule(scheduled_, EventKind::inject, 0);
}

void SmPort::arrive(const Message& message) {
    const RequestKind kind = sim_.requests[message.request].kind;
    const bool acknowledges = kind == RequestKind::write || kind == RequestKind::reduction;
    sim_.schedule(message.arrival, acknowledges ? EventKind::acknowledge : EventKind::respond, message.request);
}

void SmPort::respond(RequestId id) {
    const Request& request = sim_.requests[id];
    // The response has already spent its transfer time on the slice's port, and both ports are equally wide: it waits
    // here only if responses from other slices still occupy this one.
    const auto bytes = static_cast<std::uint64_t>(std::popcount(request.sectors)) * sim_.config.l2.sectorBytes;
    const std::uint64_t edges =
        request.isBulk ? bulkEdges(bytes) : portEdges(bytes, sim_.config.crossbar.responseBytesPerCycle);
    responseFree_ = std::max(sim_.l2Clock.edgeAt(sim_.now()), responseFree_ + edges);
    const Cycles when = sim_.l2Clock.coreAt(responseFree_);
    if (when <= sim_.now()) {
        deliver(id);
    } else {
        sim_.schedule(when, EventKind::deliver, id);
    }
}

/// Bulk copies leave no gaps: what does not fill an edge is left to the next.
std::uint64_t SmPort::bulkEdges(std::uint64_t bytes) {
    const std::uint64_t width = sim_.config.crossbar.bulkBytesPerCycle;
    bulkRest_ += bytes;
    const std::uint64_t edges = bulkRest_ / width;
    bulkRest_ %= width;
    return edges;
}

void SmPort::acknowledge(RequestId id) {
    const Request request = sim_.requests[id];
    sim_.requests.release(id);
    requester_.stored(request);
}

}  // namespace bulkhead::sim
