#pragma once

#include <deque>
#include <vector>

#include "arch/device_profile.h"
#include "sim/clock.h"
#include "sim/counters.h"
#include "sim/event_queue.h"
#include "sim/mem/request.h"
#include "sim/observer.h"

namespace bulkhead::sim {

/// What every unit of one simulated GPU shares: time, events, requests under way, and the counters of each launch.
struct SimContext {
    explicit SimContext(const arch::DeviceProfile& p)
        : profile(p), l2Clock(p.clock.l2MHz, p.clock.coreMHz), memoryClock(p.clock.memoryMHz, p.clock.coreMHz) {
        const auto coreMHz = static_cast<double>(p.clock.coreMHz);
        peak.l2 = static_cast<double>(p.map.slices()) * static_cast<double>(p.crossbar.responseBytesPerCycle) *
                  static_cast<double>(p.clock.l2MHz) / coreMHz;
        peak.dram = p.dramGBps() * 1e3 / coreMHz;
    }

    const arch::DeviceProfile& profile;
    ClockDomain l2Clock, memoryClock;
    Cycles now = 0;
    EventQueue events;
    RequestPool requests;
    std::deque<Counters> counters;              ///< by launch; a deque, so that references stay good. [0] is nobody's
    std::vector<std::uint64_t> storesUnderWay;  ///< by launch
    Observer* observer = nullptr;

    struct Traffic {
        std::uint64_t l2 = 0, dram = 0;
    };
    Traffic traffic;  ///< bytes so far: L2 responses, DRAM both ways
    struct Peak {
        double l2 = 0, dram = 0;
    };
    Peak peak;  ///< bytes a core cycle

    /// Grows with everything that a spinning warp could be waiting for: a store, an atomic that changed memory, a
    /// barrier passed, a warp that started or ended, something the host did.
    std::uint64_t effects = 0;
    bool watching = false;  ///< SMs compare warps with their snapshots; see Gpu::watchProgress
};

}  // namespace bulkhead::sim
