#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/launch_row.h"

namespace bulkhead::correlate {

/// What warps wait for, as both sides can tell. Nsight Compute counts warps by some twenty reasons, the simulator
/// schedulers by six: only the shares of these groups can be laid side by side.
constexpr int kStallGroups = 5;
constexpr std::array<std::string_view, kStallGroups> kStallGroupNames = {"memory", "dependency", "barrier", "unit",
                                                                         "fetch"};

/// A kernel on one of the two GPUs: means over its launches. Nothing where nobody counted it.
struct Side {
    std::size_t launches = 0;
    std::optional<double> cycles, seconds, instructions;
    std::optional<double> l1HitRate, l2HitRate;  ///< of global loads, of reads; percent
    std::optional<double> l2Bytes;               ///< read
    std::optional<double> dramBytes;
    std::optional<double> warps;                             ///< on an SM that has some
    std::optional<double> atomics;                           ///< requests at L2
    std::optional<std::array<double, kStallGroups>> stalls;  ///< percent of all that is stalled
    bool cyclesFromTime = false;                             ///< nobody counted them: time x clock
};

Side sideOf(std::span<const metrics::LaunchRow> launches);

/// The group that most is stalled by; empty where nobody counted.
std::string_view mostStalled(const Side&);

struct KernelPair {
    std::string suite, workload, kernel;
    Side hardware, twin;
    std::size_t hardwareLaunches = 0, twinLaunches = 0;  ///< all; the sides have those that both ran

    /// Of cycles, twin to hardware; nothing where one has none.
    std::optional<double> ratio() const;
    std::optional<double> error() const;  ///< |ratio - 1|
};

/// A kernel that has no partner.
struct Unmatched {
    std::string suite, workload, kernel;
    std::size_t launches = 0;
    bool onHardware = false;
};

/// One workload, PTX file or program with what was counted on both sides.
struct Subject {
    std::string suite, name;
    std::vector<metrics::LaunchRow> hardware, twin;
    bool shared = false;  ///< what hardware counted is that of other subjects as well
};

struct Correlation {
    std::vector<KernelPair> kernels;  ///< in the order of subjects, and of their first launches
    std::vector<Unmatched> unmatched;
};

/// Pairs kernels by name. The n-th launch of a kernel on one side is the n-th on the other; launches that only one side
/// has count for nothing, so that a profiler may stop early.
Correlation pairKernels(std::span<const Subject>);

}  // namespace bulkhead::correlate
