#include "metrics/metric_table.h"

#include <algorithm>
#include <array>

namespace bulkhead::metrics {
namespace {

using Launch = SimulatedLaunch;
using Profile = arch::DeviceProfile;
using Number = std::optional<double>;

double secondsOf(const Launch& l, const Profile& p) {
    return static_cast<double>(l.cycles) / (static_cast<double>(p.clock.coreMHz) * 1e6);
}

/// A counter as it is.
template <std::uint64_t sim::Counters::*counter>
Number counted(const Launch& l, const Profile&) {
    return static_cast<double>(l.counters.*counter);
}

template <sim::Stall stall>
Number stalled(const Launch& l, const Profile&) {
    return static_cast<double>(l.counters.stalls[static_cast<std::size_t>(stall)]);
}

constexpr std::array kMetrics = {
    Metric{names::kCycles, "cycle", "core cycles from the launch's start to its end",
           [](const Launch& l, const Profile&) -> Number { return static_cast<double>(l.cycles); }},
    Metric{names::kClock, "hz", "the profile's clock.coreMHz",
           [](const Launch&, const Profile& p) -> Number { return static_cast<double>(p.clock.coreMHz) * 1e6; }},
    Metric{names::kTime, "ns", "the same cycles over the profile's clock.coreMHz",
           [](const Launch& l, const Profile& p) -> Number { return secondsOf(l, p); }},
    Metric{names::kInstructions, "inst", "warpInstructions: PTX instructions that warps issued",
           counted<&sim::Counters::warpInstructions>},
    Metric{"smsp__thread_inst_executed_pred_on.sum", "inst",
           "threadInstructions: the same, once for each lane whose guard was true",
           counted<&sim::Counters::threadInstructions>},
    Metric{names::kL1Loads, "sector", "l1Sectors: sectors that warps' loads asked for, of local memory too",
           counted<&sim::Counters::l1Sectors>},
    Metric{names::kL1LoadHits, "sector", "l1SectorHits: those that were there or under way",
           counted<&sim::Counters::l1SectorHits>},
    Metric{names::kL2Reads, "sector",
           "l2Sectors: sectors that reads look up at the slices; one of the other side that has no copy near by, twice",
           counted<&sim::Counters::l2Sectors>},
    Metric{names::kL2ReadHits, "sector", "l2SectorHits: those that were there or under way",
           counted<&sim::Counters::l2SectorHits>},
    Metric{names::kAtomics, "request", "l2Atomics: atomics and reductions at the slices, which hardware counts apart",
           counted<&sim::Counters::l2Atomics>},
    Metric{names::kDramBytes, "byte", "bytesDram: read and written", counted<&sim::Counters::bytesDram>},
    Metric{names::kDramRead, "byte", "bytesDram - bytesDramWritten",
           [](const Launch& l, const Profile&) -> Number {
               return static_cast<double>(l.counters.bytesDram - l.counters.bytesDramWritten);
           }},
    Metric{names::kDramWritten, "byte", "bytesDramWritten", counted<&sim::Counters::bytesDramWritten>},
    Metric{names::kWarps, "warp",
           "warpCycles / smCycles: warps on an SM that has some, a block's from its start to the end of each",
           [](const Launch& l, const Profile&) -> Number {
               if (l.counters.smCycles == 0) return std::nullopt;
               return static_cast<double>(l.counters.warpCycles) / static_cast<double>(l.counters.smCycles);
           }},
    Metric{"sm__inst_executed.avg.per_cycle_elapsed", "inst/cycle", "warpInstructions over cycles and SMs",
           [](const Launch& l, const Profile& p) -> Number {
               if (l.cycles == 0) return std::nullopt;
               return static_cast<double>(l.counters.warpInstructions) / static_cast<double>(l.cycles) /
                      static_cast<double>(p.sm.count);
           }},
    Metric{"bulkhead__scheduler_cycles_stalled_memory.sum", "cycle",
           "stalls[memory]: cycles in which a scheduler issued nothing, since every candidate waited for a load",
           stalled<sim::Stall::memory>},
    Metric{"bulkhead__scheduler_cycles_stalled_dependency.sum", "cycle", "stalls[dependency]: ... for a result",
           stalled<sim::Stall::dependency>},
    Metric{"bulkhead__scheduler_cycles_stalled_barrier.sum", "cycle", "stalls[barrier]: ... at a barrier",
           stalled<sim::Stall::barrier>},
    Metric{"bulkhead__scheduler_cycles_stalled_unit.sum", "cycle", "stalls[unit]: a warp was ready, its unit was not",
           stalled<sim::Stall::unit>},
    Metric{"bulkhead__scheduler_cycles_stalled_throttled.sum", "cycle",
           "stalls[throttled]: a warp was ready, the policy held it back", stalled<sim::Stall::throttled>},
    Metric{"bulkhead__scheduler_cycles_stalled_idle.sum", "cycle", "stalls[idle]: the scheduler had no warps",
           stalled<sim::Stall::idle>},
    Metric{"bulkhead__scheduler_cycles_stalled_fetch.sum", "cycle",
           "stalls[fetch]: every candidate waited for its next instruction", stalled<sim::Stall::fetch>},
};

}  // namespace

std::span<const Metric> metricTable() {
    return kMetrics;
}

const Metric* findMetric(std::string_view name) {
    const auto at =
        std::find_if(kMetrics.begin(), kMetrics.end(), [&](const Metric& metric) { return metric.name == name; });
    return at == kMetrics.end() ? nullptr : &*at;
}

LaunchRow rowOf(const SimulatedLaunch& launch, const arch::DeviceProfile& profile) {
    LaunchRow row{"", launch.kernel, launch.grid, launch.block, {}};
    for (const Metric& metric : kMetrics)
        if (const Number value = metric.of(launch, profile)) row.values.emplace(metric.name, *value);
    return row;
}

}  // namespace bulkhead::metrics
