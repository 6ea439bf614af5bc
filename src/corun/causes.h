#pragma once

#include "arch/device_profile.h"
#include "corun/pairs.h"

namespace bulkhead::corun {

/// By how many cycles what made a victim slower did so. Exact in sum; between the causes, what counters of launches
/// tell.
struct Causes {
    double setConflicts = 0;  ///< lines that were pushed out of L2 and had to come from DRAM
    double mshr = 0;          ///< waiting for a miss register, or for a way that is being filled
    double crossbar = 0;      ///< waiting for a slice's port
    double rowConflicts = 0;  ///< opening another DRAM row first
    double bus = 0;           ///< waiting for DRAM otherwise: its queue and its data bus
    double timeSlicing = 0;   ///< not being on the GPU
    double sms = 0;           ///< having to share them, or to do with fewer: what is left where nothing else can be

    double total() const { return setConflicts + mshr + crossbar + rowConflicts + bus + timeSlicing + sms; }
};

/// Of a pair on a GPU that counts launches.
Causes explainPair(const arch::DeviceProfile&, const Pair&);

}  // namespace bulkhead::corun
