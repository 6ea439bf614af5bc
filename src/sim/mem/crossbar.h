#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/mem/ring.h"
#include "sim/sim_context.h"

namespace bulkhead::sim {

class L2Slice;

/// L2 edges that a port of this width is taken by a payload: one at the least.
inline std::uint64_t portEdges(std::uint64_t bytes, std::int64_t bytesPerCycle) {
    const auto width = static_cast<std::uint64_t>(bytesPerCycle);
    return bytes > width ? (bytes + width - 1) / width : 1;
}

/// Whoever sends requests: an SM.
class Requester {
  public:
    virtual void receive(
        RequestId) = 0;  ///< the response to a read or atomic; the request is the receiver's to release
    /// A write or reduction of a warp has been done; the warp may count on it from `doneAt` on.
    virtual void stored(std::uint32_t warp, std::uint32_t launch, Cycles doneAt) = 0;
    virtual void requestPortFreed() = 0;  ///< there is room to send again

  protected:
    ~Requester() = default;
};

/// Joins SMs and L2 slices. Every SM has a request port and a response port, every slice a bounded queue: a request
/// leaves its SM only when its slice has a place for it, and holds up those behind it until then.
class Crossbar {
  public:
    explicit Crossbar(SimContext&);

    void attach(Requester&);  ///< as port number `ports()`
    void attach(L2Slice& slice) { slices_.push_back(&slice); }
    std::size_t ports() const { return ports_.size(); }
    /// Requests that can be between the ports and a slice's tags: its queue, and one a stage of the pipeline that leads
    /// there. A slice that stalls fills both.
    std::size_t placesPerSlice() const;

    bool canSend(std::uint32_t sm) const { return !ports_[sm].queue.full(); }
    void send(RequestId);           ///< canSend(request.sm) must hold
    void inject(std::uint32_t sm);  ///< on EventKind::inject
    void returnCredit(std::uint32_t slice);

    void respond(RequestId);      ///< on EventKind::respond: at the SM's response port
    void deliver(RequestId);      ///< on EventKind::deliver
    void acknowledge(RequestId);  ///< a write or reduction has been done; costs no bandwidth

    Cycles requestLatency(const Request& r) const { return requestLatency_ + far(r); }
    Cycles responseLatency(const Request& r) const { return responseLatency_ + far(r); }

  private:
    struct Port {
        Requester* requester = nullptr;
        Ring<RequestId> queue;
        std::uint64_t requestFree = 0, responseFree = 0;  ///< L2 edges
        bool waiting = false;                             ///< for a credit
        Cycles scheduled = kNever;
    };
    std::uint64_t requestEdges(const Request&) const;
    Cycles far(const Request&) const;
    void scheduleInject(std::uint32_t sm, Cycles when);

    SimContext& sim_;
    std::vector<Port> ports_;
    std::vector<L2Slice*> slices_;
    std::vector<std::int64_t> credits_;               ///< places left at each slice
    std::vector<std::deque<std::uint32_t>> waiters_;  ///< SMs whose head waits for the slice, first come first
    Cycles requestLatency_, responseLatency_;
};

}  // namespace bulkhead::sim
