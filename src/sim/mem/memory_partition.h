#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/mem/crossbar.h"
#include "sim/mem/dram_channel.h"
#include "sim/mem/l2_slice.h"

namespace bulkhead::sim {

/// A DRAM channel and the slices of L2 before it: they advance together, and apart from all others.
class MemoryPartition {
  public:
    MemoryPartition(SimShared&, const CrossbarLatency&, Observer*, std::uint32_t channel);

    Simulation& sim() { return sim_; }
    const Simulation& sim() const { return sim_; }
    SlicePort& port() { return port_; }

    void arrive(const Message& message) { sim_.schedule(message.arrival, EventKind::sliceArrive, message.request); }
    /// Up to that time, and not what happens in it.
    void advanceTo(Cycles end);
    L2Slice& slice(std::uint32_t index) { return *slices_[index - firstSlice_]; }
    template <class Visit>
    void forEachSlice(Visit visit) {
        for (const auto& slice : slices_) visit(*slice);
    }

  private:
    L2Slice& sliceOf(RequestId request) { return *slices_[sim_.requests[request].slice - firstSlice_]; }
    void arriveAtSlice(RequestId request) { sliceOf(request).arrive(request); }
    void fillSlice(RequestId request) { sliceOf(request).fill(request); }
    void answerFromSlice(RequestId request) { sliceOf(request).answer(request); }
    void processSlice(std::uint32_t port) {
        slices_[port / L2Slice::kMostPorts - firstSlice_]->process(port % L2Slice::kMostPorts);
    }
    void stepChannel(std::uint32_t) { channel_->step(); }

    Simulation sim_;
    SlicePort port_;
    std::uint32_t firstSlice_;
    std::unique_ptr<DramChannel> channel_;
    std::vector<std::unique_ptr<L2Slice>> slices_;
};

}  // namespace bulkhead::sim
