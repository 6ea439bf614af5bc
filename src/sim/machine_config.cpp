#include "sim/machine_config.h"

#include <algorithm>
#include <bit>

namespace bulkhead::sim {
namespace {

/// A parameter becomes what it is assigned to.
class Number {
  public:
    explicit Number(std::int64_t value) : value_(value) {}
    template <class T>
    operator T() const {
        return static_cast<T>(value_);
    }

  private:
    std::int64_t value_;
};

Number of(std::int64_t parameter) {
    return Number(parameter);
}

/// Tensor cores have times of their own: each instruction's.
std::array<Cycles, arch::kOpClasses> withTensorCores(const std::int64_t (&parameters)[arch::kProfileOpClasses]) {
    std::array<Cycles, arch::kOpClasses> cycles;
    cycles.fill(1);
    std::ranges::transform(parameters, cycles.begin(), [](std::int64_t p) { return static_cast<Cycles>(p); });
    return cycles;
}

std::array<std::size_t, arch::kUnits> unitsOf(const arch::DeviceProfile& p) {
    std::array<std::size_t, arch::kUnits> units{};
    std::ranges::transform(p.unitCount, units.begin(), [](std::int64_t n) { return static_cast<std::size_t>(n); });
    units[static_cast<std::size_t>(arch::Unit::tensor)] = static_cast<std::size_t>(p.sm.schedulers);
    return units;
}

/// One at least.
Cycles ofMicroseconds(std::int64_t microseconds, const arch::DeviceProfile& p) {
    return std::max<Cycles>(static_cast<Cycles>(microseconds * p.clock.coreMHz), 1);
}

std::vector<arch::DeviceProfile::Region> regionsOfSlices(const arch::DeviceProfile& p) {
    std::vector<arch::DeviceProfile::Region> regions(p.map.slices());
    for (std::uint32_t slice = 0; slice < regions.size(); ++slice) regions[slice] = p.regionOfSlice(slice);
    return regions;
}

std::uint32_t setsOf(Bytes bytes, Bytes lineBytes, std::uint32_t ways) {
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(bytes / (lineBytes * ways)));
}

}  // namespace

MachineConfig::MachineConfig(const arch::DeviceProfile& p)
    : sm{.count = of(p.sm.count),
         .schedulers = of(p.sm.schedulers),
         .warps = of(p.maxWarps()),
         .blocks = of(p.sm.maxBlocks),
         .registers = of(p.sm.registers),
         .sharedBytes = of(p.sm.sharedBytes),
         .issueWidth = of(p.sm.issueWidth),
         .units = unitsOf(p),
         .interval = withTensorCores(p.interval),
         .latency = withTensorCores(p.latency),
         .guardLatency = of(p.sm.guardLatency),
         .meetLatency = of(p.sm.meetLatency),
         .barrierLatency = of(p.sm.barrierLatency),
         .barrierInterval = of(p.sm.barrierInterval),
         .longestWait = of(p.sm.longestWait)},
      cluster{.neighbours = p.clusterNeighbours(),
              .gpcs = p.gpcsOfSms(),
              .latency = of(p.cluster.latency),
              .barrierLatency = of(p.cluster.barrierLatency)},
      tensor{.rate = of(p.tensor.rate),
             .doubleRate = of(p.tensor.doubleRate),
             .setup = of(p.tensor.setup),
             .interval = of(p.tensor.interval),
             .latency = of(p.tensor.latency),
             .depthLatency = of(p.tensor.depthLatency),
             .octetInterval = of(p.tensor.octetInterval),
             .groupInterval = of(p.tensor.groupInterval),
             .groupLatency = of(p.tensor.groupLatency),
             .doubleInterval = of(p.tensor.doubleInterval),
             .doubleLatency = of(p.tensor.doubleLatency)},
      l1{.bytes = of(p.l1.bytes),
         .lineBytes = of(p.l1.lineBytes),
         .ways = of(p.l1.ways),
         .mshrs = of(p.l1.mshrs),
         .mshrMerges = of(p.l1.mshrMerges),
         .prefetchDegree = of(p.l1.prefetchDegree),
         .prefetchReserve = of(p.l1.prefetchReserve),
         .tagsPerCycle = of(p.l1.tagsPerCycle),
         .queue = of(p.l1.queue),
         .hitLatency = of(p.l1.hitLatency),
         .sectorsFetched =
             of(std::clamp<std::int64_t>(p.l1.sectorBytes / p.l2.sectorBytes, 1, p.l2.lineBytes / p.l2.sectorBytes)),
         .cachesGlobal = p.l1.cachesGlobal,
         .localWriteBack = p.l1.localWriteBack,
         .allocatesOnMiss = p.l1.allocate == arch::DeviceProfile::Allocate::onMiss},
      constant{.lineBytes = of(p.constant.lineBytes),
               .sets = setsOf(of(p.constant.bytes), of(p.constant.lineBytes), of(p.constant.ways)),
               .ways = of(p.constant.ways),
               .hitLatency = of(p.constant.hitLatency)},
      instruction{.sets = of(p.instruction.bytes / (p.instruction.lineBytes * p.instruction.ways)),
                  .ways = of(p.instruction.ways),
                  .lineBytes = of(p.instruction.lineBytes),
                  .width = of(p.instruction.width),
                  .lineShift = static_cast<unsigned>(
                      std::countr_zero(static_cast<std::uint64_t>(p.instruction.lineBytes / p.instruction.width))),
                  .launchLines = of(p.instruction.launchBytes / p.instruction.lineBytes),
                  .sharers = of(p.instruction.sharers),
                  .firstReads = of(p.instruction.firstReads)},
      shared{.banks = of(p.shared.banks), .bankBytes = of(p.shared.bankBytes), .latency = of(p.shared.latency)},
      crossbar{.requestBytesPerCycle = of(p.crossbar.requestBytesPerCycle),
               .responseBytesPerCycle = of(p.crossbar.responseBytesPerCycle),
               .bulkBytesPerCycle =
                   of(p.crossbar.bulkBytesPerCycle ? p.crossbar.bulkBytesPerCycle : p.crossbar.responseBytesPerCycle),
               .smQueue = of(p.crossbar.smQueue),
               .sliceQueue = of(p.crossbar.sliceQueue),
               .maskExtra = of(std::max<std::int64_t>(0, p.crossbar.maskedBytes - p.l2.sectorBytes))},
      l2{.ways = of(p.l2.ways),
         .mshrs = of(p.l2.mshrs),
         .mshrMerges = of(p.l2.mshrMerges),
         .lineBytes = of(p.l2.lineBytes),
         .sectorBytes = of(p.l2.sectorBytes),
         .responseQueue = of(p.l2.responseQueue),
         .atomicInterval = of(p.l2.atomicInterval),
         .writeRetention = of(p.l2.writeRetention),
         .dirtyWays = of(p.l2.dirtyWays),
         .repeatInterval = of(p.l2.repeatInterval),
         .floatRepeatInterval = of(p.l2.floatRepeatInterval),
         .mergesWrites = p.l2.mergesWrites,
         .holdsCopies = p.l2.holdsCopies,
         .copiesFarLines = p.l2.copiesFarLines && p.l2.sides > 1,
         .sectorsFetched = of(std::max<std::int64_t>(1, p.l2.fetchBytes / p.l2.sectorBytes)),
         .joinedReads = of(p.l2.joinedReads),
         .joinWindow = of(p.l2.joinWindow),
         .sides = of(p.l2.sides),
         .regionsOfSms = p.regionsOfSms(),
         .regionsOfSlices = regionsOfSlices(p),
         .farLatency = of(p.l2.farLatency),
         .halfLatency = of(p.l2.halfLatency)},
      dram{.bytes = of(p.dram.bytes),
           .queue = of(p.dram.queue),
           .bankQueue = of(p.dram.bankQueue),
           .burstBytes = of(p.dram.burstBytes),
           .hitCap = of(p.dram.hitCap),
           .batchCap = of(p.dram.batchCap),
           .ageLimit = of(p.dram.ageLimit),
           .tRCD = of(p.dram.tRCD),
           .tRP = of(p.dram.tRP),
           .tCL = of(p.dram.tCL),
           .tRAS = of(p.dram.tRAS),
           .tCCD = of(p.dram.tCCD),
           .tWR = of(p.dram.tWR),
           .tREFI = of(p.dram.tREFI),
           .tRFC = of(p.dram.tRFC)},
      launch{.latency = of(p.launch.latency),
             .setup = of(p.launch.setup),
             .blockInterval = of(p.launch.blockInterval),
             .byGpcs = p.launch.byGpcs,
             .l2Reads = of(p.launch.l2Reads),
             .l2Hits = of(p.launch.l2Reads - std::min(p.launch.l2Misses, p.launch.l2Reads))},
      sharing{.quantum = ofMicroseconds(p.sharing.quantumUs, p), .switching = ofMicroseconds(p.sharing.switchUs, p)},
      ciao{.countsThreads = p.ciao.instructions == arch::DeviceProfile::Instructions::threads,
           .scoresThreads = p.ciao.scores == arch::DeviceProfile::Instructions::threads,
           .moveQueue = of(p.ciao.moveQueue),
           .vtaTags = of(p.ciao.vtaTags),
           .counterBits = of(p.ciao.counterBits),
           .highCutoff = of(p.ciao.highCutoff),
           .lowCutoff = of(p.ciao.lowCutoff),
           .highEpoch = p.ciao.highEpoch,
           .lowEpoch = p.ciao.lowEpoch,
           .pools = p.ciao.adapts != arch::DeviceProfile::Adapts::warps,
           .limits = p.ciao.adapts != arch::DeviceProfile::Adapts::memory,
           .trial = of(p.ciao.trial)},
      ccws{.vtaTags = of(p.ccws.vtaTags),
           .baseScore = of(p.ccws.baseScore),
           .throttle = of(p.ccws.throttle),
           .interval = of(p.ccws.interval)},
      pcal{.window = of(p.pcal.window), .busyMillionths = of(p.pcal.busy)},
      peak{.l2 = static_cast<double>(p.map.slices()) * static_cast<double>(p.crossbar.responseBytesPerCycle) *
                 static_cast<double>(p.clock.l2MHz) / static_cast<double>(p.clock.coreMHz),
           .dram = p.dramGBps() * 1e3 / static_cast<double>(p.clock.coreMHz)},
      pageBytes(of(p.memory.pageBytes)),
      nsPerCycle(1e3 / static_cast<double>(p.clock.coreMHz)) {}

std::uint32_t MachineConfig::L1::sets(Bytes bytes) const {
    return setsOf(bytes, lineBytes, ways);
}

}  // namespace bulkhead::sim
