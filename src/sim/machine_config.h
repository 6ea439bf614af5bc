#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arch/device_profile.h"
#include "base/units.h"

namespace bulkhead::sim {

/// A profile's parameters in the types that the units compute with. They are made once; a profile's checks have seen to
/// it that every parameter fits.
struct MachineConfig {
    explicit MachineConfig(const arch::DeviceProfile&);

    struct Sm {
        std::uint32_t count, schedulers, warps, blocks, registers, sharedBytes;
        unsigned issueWidth;
        std::array<std::size_t, arch::kUnits> units;    ///< instances of each
        std::array<Cycles, arch::kOpClasses> interval;  ///< an instance is busy with an instruction
        std::array<Cycles, arch::kOpClasses> latency;   ///< until a dependent instruction may issue
        Cycles guardLatency, meetLatency, barrierLatency, barrierInterval, longestWait;

        /// Warp instructions that all schedulers of the GPU together issue at most.
        std::uint64_t issuesPerCycle() const { return std::uint64_t{count} * schedulers * issueWidth; }
    } sm;
    struct Cluster {
        std::vector<std::vector<std::uint32_t>> neighbours;  ///< SMs of each GPC
        std::vector<std::uint32_t> gpcs;                     ///< of each SM
        Cycles latency, barrierLatency;
    } cluster;
    /// Work is counted in multiply-adds of 16-bit numbers.
    struct Tensor {
        std::uint32_t rate, doubleRate;
        Cycles setup, interval, latency, depthLatency, octetInterval, groupInterval, groupLatency, doubleInterval,
            doubleLatency;
    } tensor;
    struct L1 {
        Bytes bytes, lineBytes;
        std::uint32_t ways, mshrs, mshrMerges, prefetchDegree, prefetchReserve;
        std::size_t tagsPerCycle, queue;
        Cycles hitLatency;
        unsigned sectorsFetched;  ///< of L2's, at least
        bool cachesGlobal, localWriteBack, allocatesOnMiss;

        std::uint32_t sets(Bytes bytes) const;  ///< of a cache of that many
    } l1;
    struct Constant {
        Bytes lineBytes;
        std::uint32_t sets, ways;
        Cycles hitLatency;
    } constant;
    struct Instruction {
        std::uint32_t sets, ways;   ///< no sets: the next instruction is always there
        Bytes lineBytes, width;     ///< of a line, and of a machine instruction
        unsigned lineShift;         ///< machine instructions of a line, as a power of two
        std::uint32_t launchLines;  ///< of a kernel, that its launch brings
        std::uint32_t sharers;
        std::uint64_t firstReads;
    } instruction;
    struct Shared {
        unsigned banks, bankBytes;
        Cycles latency;
    } shared;
    struct Crossbar {
        std::uint64_t requestBytesPerCycle, responseBytesPerCycle, bulkBytesPerCycle;
        std::size_t smQueue, sliceQueue;
        std::uint64_t maskExtra;  ///< bytes by which a partly written sector is longer than a whole one
    } crossbar;
    struct L2 {
        std::uint32_t ways, mshrs, mshrMerges;
        Bytes lineBytes, sectorBytes;
        std::uint64_t responseQueue, atomicInterval, writeRetention, dirtyWays;
        std::uint64_t repeatInterval, floatRepeatInterval;  ///< millionths of an L2 cycle
        bool mergesWrites, holdsCopies, copiesFarLines;
        unsigned sectorsFetched;    ///< at the least
        std::uint32_t joinedReads;  ///< of a GPC, that one look-up answers at most
        Cycles joinWindow;
        std::uint32_t sides;
        std::vector<arch::DeviceProfile::Region> regionsOfSms, regionsOfSlices;
        Cycles farLatency, halfLatency;  ///< added to a request and its answer together
    } l2;
    struct Dram {
        Bytes bytes;
        std::size_t queue, bankQueue;
        std::uint64_t burstBytes;
        std::uint32_t hitCap, batchCap;
        Cycles ageLimit;
        std::uint64_t tRCD, tRP, tCL, tRAS, tCCD, tWR, tREFI, tRFC;  ///< memory-clock cycles
    } dram;
    struct Launch {
        Cycles latency, setup;
        std::uint64_t blockInterval;  ///< millionths of a cycle
        bool byGpcs;
        std::uint64_t l2Reads, l2Hits;
    } launch;
    struct Sharing {
        Cycles quantum, switching;
    } sharing;
    struct Ciao {
        bool countsThreads, scoresThreads;  ///< instructions of threads, not of warps
        std::size_t moveQueue;
        std::uint32_t vtaTags, counterBits;
        std::uint64_t highCutoff, lowCutoff;  ///< millionths
        std::int64_t highEpoch, lowEpoch;
        bool pools, limits;  ///< what ciao-a may do
        Cycles trial;
    } ciao;
    struct Ccws {
        std::uint32_t vtaTags;
        std::uint64_t baseScore, throttle;
        Cycles interval;
    } ccws;
    struct Pcal {
        Cycles window;
        double busyMillionths;  ///< share of the peak
    } pcal;
    struct Peak {
        double l2, dram;  ///< bytes a core cycle
    } peak;
    Bytes pageBytes;
    double nsPerCycle;
};

}  // namespace bulkhead::sim
