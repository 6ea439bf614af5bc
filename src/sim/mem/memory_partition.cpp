#include "sim/mem/memory_partition.h"

#include <algorithm>

#include "sim/mem/memory_latency.h"

namespace bulkhead::sim {

MemoryPartition::MemoryPartition(SimShared& shared, const CrossbarLatency& latency, Observer* observer,
                                 std::uint32_t channel)
    : sim_(shared, observer), port_(sim_, latency), channel_(makeDramChannel(sim_, channel)) {
    const arch::AddressMap& map = shared.profile.map;
    const std::uint32_t perChannel = map.slices() / map.channels();
    const Cycles missLatency = stageLatencies(shared.profile).miss;
    firstSlice_ = channel * perChannel;
    for (std::uint32_t i = 0; i < perChannel; ++i) {
        slices_.push_back(std::make_unique<L2Slice>(sim_, firstSlice_ + i, port_, *channel_));
        slices_.back()->setMissLatency(missLatency);
    }
    sim_.onEvent<&MemoryPartition::arriveAtSlice>(EventKind::sliceArrive, *this);
    sim_.onEvent<&MemoryPartition::processSlice>(EventKind::sliceProcess, *this);
    sim_.onEvent<&MemoryPartition::answerFromSlice>(EventKind::sliceAnswer, *this);
    sim_.onEvent<&MemoryPartition::stepChannel>(EventKind::channelStep, *this);
    sim_.onEvent<&MemoryPartition::fillSlice>(EventKind::dramDone, *this);
}

void MemoryPartition::advanceTo(Cycles end) {
    for (Cycles next = sim_.nextEvent(); next < end; next = sim_.nextEvent()) {
        sim_.advanceTo(next);
        sim_.handleEvents();
    }
    sim_.advanceTo(end);
}

}  // namespace bulkhead::sim
