#pragma once

#include <cstdint>

#include "gpgpusim/configuration.h"

namespace bulkhead::gpgpusim {

/// The timings of -gpgpu_dram_timing_opt, in cycles of DRAM's command clock.
struct DramTiming {
    std::int64_t banks = 0, tCCD = 0, tRCD = 0, tRAS = 0, tRP = 0, tCL = 0, tWR = 0;
};

/// Either `nbk=16:CCD=2:...` in any order, or the plain list `16:2:6:12:28:12:40:12:4:5:12[:4:3:2]`.
DramTiming dramTiming(const Setting&);

}  // namespace bulkhead::gpgpusim
