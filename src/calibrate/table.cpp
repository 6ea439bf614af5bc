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
        Measurement{"l2-latency", "l2.hitLatency, dram.latency",
                    "one thread chases pointers past L1D; loads of lines that were never used, one by one",
                    "a step; how much longer a first load takes than a second one", measureL2Latency},
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
        Measurement{
            "shared-memory", "shared.latency, shared.banks, shared.bankBytes, op.memory.interval",
            "one warp, chains of pointers to themselves, lanes at growing distances; many warps without conflicts",
            "a step of lanes that read one word; the smallest distance at which all lanes share a bank, and at "
            "which two words do not; loads of an SM by their number",
            measureSharedMemory},
        Measurement{"l1",
                    "l1.cachesGlobal, l1.hitLatency, l1.tagsPerCycle, l1.bytes, l1.sectorBytes, l1.ways, l1.setHash",
                    "one thread chases pointers over growing footprints, at growing distances, and in one set; many "
                    "warps load 32 lines each, again and again",
                    "a step that hits; the largest footprint that stays; the closest pointers that all miss; the most "
                    "lines of a set that stay; lines by cycles of a load",
                    measureL1},
        Measurement{"constant-cache", "constant.hitLatency, constant.bytes, constant.lineBytes, constant.ways",
                    "the same in constant memory", "the same", measureConstantCache},
        Measurement{"instruction-cache", "instruction.bytes, instruction.lineBytes",
                    "one warp repeats straight code of growing length; code that notes the time at every second "
                    "instruction",
                    "the longest code that stays; bytes of code from pause to pause", measureInstructionCache},
        Measurement{"l2-shape", "none", "dissect's timed accesses and footprints",
                    "bytes that a miss fetches, capacity, reach of the TLB", measureL2Shape},
        Measurement{"l2-sides", "l2.sides, l2.farLatency, l2.halfLatency", "dissect's chains of atomics from every SM",
                    "the kinds of latencies, and their difference", measureL2Sides},
        Measurement{"l2-bandwidth", "clock.l2MHz", "all SMs read a quarter of L2 again and again",
                    "bytes a second by ports and their width", measureL2Bandwidth},
        Measurement{"dram-bandwidth", "dram.tCCD", "all SMs read, write or copy more than L2 holds",
                    "what each more byte costs; memory cycles of a burst", measureDramBandwidth},
        Measurement{"atomics", "l2.atomicInterval",
                    "all SMs add: to one address, one line, or apart; int, float, 64-bit; with and without a result",
                    "cycles of a sector at its slice", measureAtomics},
        Measurement{"misses", "l1.mshrs", "a warp loads many lines of L2 at once, then of DRAM",
                    "the most loads of which none waits for another", measureMisses},
        Measurement{"copies", "hostLink.mbPerS", "copies from and to pinned memory", "the slower direction",
                    measureCopies},
        Measurement{"time-slice", "sharing.quantumUs, sharing.switchUs",
                    "a thread of each of two contexts looks at %globaltimer", "time between pauses; pauses",
                    measureTimeSlice},
        Measurement{"sharing", "none",
                    "green contexts of growing size; a thread of each of two contexts, green, plain and under MPS",
                    "SMs that the driver gives; how much of its time a thread has the other beside it", measureSharing},
    };
    return kAll;
}

}  // namespace bulkhead::calibrate
