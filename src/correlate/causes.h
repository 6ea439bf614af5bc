#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/device_profile.h"
#include "correlate/kernel_pair.h"

namespace bulkhead::correlate {

// The rules, stated once: docs/correlate.md has them in words.
inline constexpr double kWithin = 0.15;                 ///< an error that is none
inline constexpr double kShortCycles = 10'000;          ///< of hardware: launching takes most of it
inline constexpr double kLongCycles = 20'000;           ///< of hardware: launching takes little of it
inline constexpr double kBusyShare = 0.4;               ///< of a peak, from which it bounds a kernel
inline constexpr double kAtomicShare = 0.02;            ///< atomics at L2 for each warp instruction
inline constexpr double kInstructionDifference = 0.25;  ///< of hardware's
inline constexpr double kHitRateDifference = 10;        ///< points
inline constexpr double kDramDifference = 0.25;         ///< of hardware's
inline constexpr double kMuchDramBytes = 1e6;           ///< below which a difference means little

/// What bounds a kernel on hardware.
enum class KernelClass : std::uint8_t { launch, atomics, bandwidth, arithmetic, latency };
constexpr int kKernelClasses = 5;
constexpr std::array<std::string_view, kKernelClasses> kKernelClassNames = {
    "launch-bound", "atomics", "bandwidth-bound", "arithmetic", "latency-bound"};

/// What a GPU can do at most, for each core cycle.
struct Peaks {
    double instructions = 0;  ///< of warps
    double l2Bytes = 0, dramBytes = 0;
};
Peaks peaksOf(const arch::DeviceProfile&);

/// By what hardware counted; where it counted nothing of the kind, by what the twin did.
KernelClass classOf(const KernelPair&, const Peaks&);

/// How many cycles more hardware takes for short kernels than the twin, in the middle: what launching costs there and
/// not here, or the reverse. 0 where no kernel is short.
double launchDifference(std::span<const KernelPair>);

/// Likely causes of an error of more than 15 %, the likeliest first; "unexplained" where no rule applies, and nothing
/// where the error is smaller.
std::vector<std::string> causesOf(const KernelPair&, const Peaks&, double launchDifference);

}  // namespace bulkhead::correlate
