#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/mem/memory_latency.h"
#include "sim/mem/ring.h"
#include "sim/sim_context.h"

namespace bulkhead::sim {

/// L2 edges that a port of this width is taken by a payload: one at the least.
inline std::uint64_t portEdges(std::uint64_t bytes, std::uint64_t bytesPerCycle) {
    return bytes > bytesPerCycle ? (bytes + bytesPerCycle - 1) / bytesPerCycle : 1;
}

/// Whoever sends requests: an SM.
class Requester {
  public:
    virtual void receive(
        RequestId) = 0;  ///< the response to a read or atomic; the request is the receiver's to release
    virtual void stored(const Request&) = 0;  ///< a write or reduction has been done
    virtual void requestPortFreed() = 0;      ///< there is room to send again

  protected:
    ~Requester() = default;
};

/// Where the ways between SMs and slices lead, and how long they are.
class CrossbarLatency {
  public:
    explicit CrossbarLatency(const SimShared&);

    Cycles request(const Request& r) const { return stages_.request + far(r); }
    Cycles response(const Request& r) const {
        return stages_.response + far(r) + (r.crosses ? config_.l2.farLatency : 0);
    }
    /// The asker and the slice are on different sides of L2.
    bool apart(const Request&) const;
    /// What one side sends reaches the other no sooner.
    Cycles shortest() const { return std::min(stages_.request, stages_.response); }
    std::uint32_t partitions() const { return partitions_; }
    std::uint32_t partitionOf(const Request& r) const { return r.slice / slicesPerPartition_; }

  private:
    Cycles far(const Request&) const;

    const arch::DeviceProfile::Region& regionOfSm(const Request& r) const {
        return config_.l2.regionsOfSms[r.sm % config_.sm.count];
    }

    const MachineConfig& config_;
    std::uint32_t partitions_, slicesPerPartition_;
    StageLatencies stages_;
};

/// A request, response or acknowledgement on its way across.
struct Message {
    Cycles arrival;
    RequestId request;
};

/// An SM's end of the crossbar: a bounded queue of requests before a request port, and a response port. So many
/// requests of an SM can be between its port and the tags of the slices; then it waits until a slice has served one.
class SmPort {
  public:
    SmPort(SimContext&, const CrossbarLatency&, Requester&);

    bool canSend() const { return !queue_.full(); }
    void send(RequestId);  ///< canSend() must hold
    /// Slices have served so many of its requests. Sends nothing yet.
    void credit(std::uint32_t served);

    /// To a memory partition.
    std::vector<Message>& sentTo(std::uint32_t partition) { return sent_[partition]; }
    /// The partitions that it has sent something to.
    std::vector<std::uint32_t>& receivers() { return receivers_; }
    void arrive(const Message&);

  private:
    void inject(std::uint32_t);
    void scheduleInject(Cycles when);
    void respond(RequestId);
    void deliver(RequestId id) { requester_.receive(id); }
    void acknowledge(RequestId);
    std::uint64_t requestEdges(const Request&) const;
    std::uint64_t bulkEdges(std::uint64_t bytes);

    SimContext& sim_;
    const CrossbarLatency& latency_;
    Requester& requester_;
    Ring<RequestId> queue_;
    std::uint32_t credits_;
    std::uint64_t requestFree_ = 0, responseFree_ = 0;  ///< L2 edges
    std::uint64_t bulkRest_ = 0;                        ///< bytes of bulk copies that have not taken an edge yet
    Cycles scheduled_ = kNever;
    std::vector<std::vector<Message>> sent_;  ///< by partition
    std::vector<std::uint32_t> receivers_;
};

/// The slices' end of it: what some slices that advance together send back.
class SlicePort {
  public:
    SlicePort(SimContext& sim, const CrossbarLatency& latency) : sim_(sim), latency_(latency) {}

    /// A response that leaves its slice then, or an acknowledgement, which costs no bandwidth.
    void send(RequestId id, Cycles leaves) {
        const Request& request = sim_.requests[id];
        if (request.sm == kCopyEngine) [[unlikely]]
            copied_.push_back({leaves + latency_.shortest(), id});
        else
            to(request.sm).messages.push_back({leaves + latency_.response(request), id});
    }
    bool apart(const Request& request) const { return latency_.apart(request); }
    /// A request has left the queue of its slice.
    void credit(RequestId id) {
        if (sim_.requests[id].sm != kCopyEngine) ++to(sim_.requests[id].sm).served;
    }

    /// What goes to an SM.
    struct Sent {
        std::vector<Message> messages;
        std::uint32_t served = 0;  ///< of its requests
    };
    Sent& sentTo(std::uint32_t sm) { return to_[sm]; }
    /// What goes to copies and fills.
    std::vector<Message>& copied() { return copied_; }
    /// The SMs that it has sent something to.
    std::vector<std::uint32_t>& receivers() { return receivers_; }
    void addSms(std::uint32_t count) { to_.resize(to_.size() + count); }

  private:
    Sent& to(std::uint32_t sm) {
        Sent& sent = to_[sm];
        if (sent.messages.empty() && !sent.served) receivers_.push_back(sm);
        return sent;
    }

    SimContext& sim_;
    const CrossbarLatency& latency_;
    std::vector<Sent> to_;  ///< by number of the SM's port
    std::vector<Message> copied_;
    std::vector<std::uint32_t> receivers_;
};

}  // namespace bulkhead::sim
