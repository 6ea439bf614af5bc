#include <array>

#include "calibrate/measurement.h"

namespace bulkhead::calibrate {

std::span<const Measurement> measurements() {
    static constexpr std::array kAll = {
        Measurement{"attributes",
                    "compute.*, sm.count, sm.maxThreads, sm.maxBlocks, sm.maxThreadsPerBlock, "
                    "sm.registers, sm.sharedBytes, sm.maxSharedPerBlock, clock.memoryMHz",
                    "cuDeviceGetAttribute", "as the driver says", measureAttributes},
        Measurement{"clock", "clock.coreMHz", "one thread waits", "cycles of %clock64 by nanoseconds of %globaltimer",
                    measureClock},
        Measurement{"launches", "launch.latency, launch.blockInterval",
                    "empty kernels that wait in a stream when the first one starts; grids of empty blocks",
                    "time of all by their number; what each more block costs", measureLaunches},
        Measurement{"operations", "op.CLASS.latency, op.CLASS.interval",
                    "one warp, a chain of dependent instructions; a block of the most warps, four chains each",
                    "what each more instruction of a chain costs; the same by instructions, times the units of an SM",
                    measureOperations},
        Measurement{"branches", "op.control.latency, op.control.interval",
                    "a loop of a subtraction, a comparison and a branch, by one warp and by many",
                    "an iteration less two integer latencies; an iteration of many, where branches are what limits it",
                    measureBranches},
    };
    return kAll;
}

}  // namespace bulkhead::calibrate
