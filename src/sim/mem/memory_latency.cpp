#include "sim/mem/memory_latency.h"

#include <algorithm>

#include "base/error.h"
#include "sim/clock.h"

namespace bulkhead::sim {

StageLatencies stageLatencies(const arch::DeviceProfile& p) {
    const ClockDomain l2(p.clock.l2MHz, p.clock.coreMHz), memory(p.clock.memoryMHz, p.clock.coreMHz);
    // A chase asks for one sector: a cycle from issue to the tags of L1D, one edge on the request port, then the
    // sector on the response port.
    const std::int64_t sector = std::max(p.l1.sectorBytes, p.l2.sectorBytes);
    const std::int64_t responseEdges =
        std::max<std::int64_t>(1, (sector + p.crossbar.responseBytesPerCycle - 1) / p.crossbar.responseBytesPerCycle);
    const auto ports =
        static_cast<std::int64_t>(1 + l2.coreAt(1) + l2.coreAt(static_cast<std::uint64_t>(responseEdges)));
    const std::int64_t flight = p.l2.hitLatency - ports;
    if (flight < 2)
        throw Error("{}: l2.hitLatency is {}, but ports alone take {} cycles: give at least {}", p.name,
                    p.l2.hitLatency, ports, ports + 2);
    const std::int64_t bursts = (p.l2.sectorBytes + p.dram.burstBytes - 1) / p.dram.burstBytes;
    const auto timing = static_cast<std::int64_t>(
        memory.coreAt(static_cast<std::uint64_t>(p.dram.tRCD + p.dram.tCL + bursts * p.dram.tCCD)));
    const std::int64_t controller = p.dram.latency - p.l2.hitLatency - timing;
    if (controller < 0)
        throw Error("{}: dram.latency is {}, but l2.hitLatency and the DRAM timings take {} cycles", p.name,
                    p.dram.latency, p.l2.hitLatency + timing);
    const auto request = static_cast<Cycles>(flight / 2);
    return {request, static_cast<Cycles>(flight) - request, static_cast<Cycles>(controller)};
}

}  // namespace bulkhead::sim
