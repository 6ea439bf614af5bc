#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "arch/device_profile.h"
#include "metrics/launch_row.h"
#include "sim/counters.h"

namespace bulkhead::metrics {

// Nsight Compute's names of what is compared.
namespace names {
inline constexpr std::string_view kCycles = "gpc__cycles_elapsed.max";
inline constexpr std::string_view kClock = "gpc__cycles_elapsed.avg.per_second";
inline constexpr std::string_view kTime = "gpu__time_duration.sum";
inline constexpr std::string_view kInstructions = "smsp__inst_executed.sum";
inline constexpr std::string_view kL1Loads = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
inline constexpr std::string_view kL1LoadHits = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum";
inline constexpr std::string_view kL2Reads = "lts__t_sectors_op_read.sum";
inline constexpr std::string_view kL2ReadHits = "lts__t_sectors_op_read_lookup_hit.sum";
inline constexpr std::string_view kDramBytes = "dram__bytes.sum";
inline constexpr std::string_view kDramRead = "dram__bytes_read.sum";
inline constexpr std::string_view kDramWritten = "dram__bytes_write.sum";
inline constexpr std::string_view kWarps = "sm__warps_active.avg.per_cycle_active";
inline constexpr std::string_view kAtomics = "lts__t_requests_srcunit_tex_op_atom.sum";
inline constexpr std::string_view kReductions = "lts__t_requests_srcunit_tex_op_red.sum";
}  // namespace names

/// A launch, or several added up, on a simulated GPU.
struct SimulatedLaunch {
    std::string kernel;
    std::string grid, block;
    Cycles cycles = 0;
    sim::Counters counters;
};

/// A counter of the simulator under the name that Nsight Compute has for it.
struct Metric {
    std::string_view name;
    std::string_view unit;  ///< as Nsight Compute writes it
    std::string_view definition;
    /// In bytes, seconds or as counted; nothing where it means nothing.
    std::optional<double> (*of)(const SimulatedLaunch&, const arch::DeviceProfile&);
};

/// All of them, in the order in which they are written.
std::span<const Metric> metricTable();
/// Null where the simulator has nothing of that name.
const Metric* findMetric(std::string_view name);

LaunchRow rowOf(const SimulatedLaunch&, const arch::DeviceProfile&);

}  // namespace bulkhead::metrics
