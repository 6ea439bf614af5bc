#include "correlate/causes.h"

#include <fmt/format.h>

#include <cmath>

#include "base/statistics.h"

namespace bulkhead::correlate {
namespace {

std::optional<double> first(const std::optional<double>& a, const std::optional<double>& b) {
    return a ? a : b;
}

/// Of a peak, for as long as the kernel takes on hardware.
bool isBusy(const std::optional<double>& amount, double peak, double cycles) {
    return amount && peak > 0 && *amount / cycles >= kBusyShare * peak;
}

bool isMadeOfAtomics(const KernelPair& k) {
    const std::optional<double> atomics = first(k.hardware.atomics, k.twin.atomics);
    const std::optional<double> instructions = first(k.hardware.instructions, k.twin.instructions);
    return atomics && instructions && *instructions > 0 && *atomics / *instructions >= kAtomicShare;
}

bool isShort(const KernelPair& k) {
    return k.ratio() && *k.hardware.cycles < kShortCycles;
}

/// Hit rates and counts that both sides have.
template <class Differs>
void compare(const std::optional<double>& hardware, const std::optional<double>& twin, Differs&& differs) {
    if (hardware && twin) differs(*hardware, *twin);
}

}  // namespace

Peaks peaksOf(const arch::DeviceProfile& p) {
    const auto core = static_cast<double>(p.clock.coreMHz);
    return {static_cast<double>(p.sm.count * p.sm.schedulers * p.sm.issueWidth),
            static_cast<double>(p.map.slices()) * static_cast<double>(p.crossbar.responseBytesPerCycle) *
                static_cast<double>(p.clock.l2MHz) / core,
            p.dramGBps() * 1e9 / (core * 1e6)};
}

KernelClass classOf(const KernelPair& k, const Peaks& peaks) {
    const double cycles = first(k.hardware.cycles, k.twin.cycles).value_or(0);
    if (cycles < kShortCycles) return KernelClass::launch;
    if (isMadeOfAtomics(k)) return KernelClass::atomics;
    if (isBusy(first(k.hardware.dramBytes, k.twin.dramBytes), peaks.dramBytes, cycles) ||
        isBusy(first(k.hardware.l2Bytes, k.twin.l2Bytes), peaks.l2Bytes, cycles))
        return KernelClass::bandwidth;
    if (isBusy(first(k.hardware.instructions, k.twin.instructions), peaks.instructions, cycles))
        return KernelClass::arithmetic;
    return KernelClass::latency;
}

double launchDifference(std::span<const KernelPair> kernels) {
    std::vector<double> differences;
    for (const KernelPair& k : kernels)
        if (isShort(k)) differences.push_back(*k.hardware.cycles - *k.twin.cycles);
    return differences.empty() ? 0 : percentile(differences, 50);
}

std::vector<std::string> causesOf(const KernelPair& k, const Peaks& peaks, double launchDifference) {
    const std::optional<double> error = k.error();
    if (!error || *error <= kWithin) return {};
    std::vector<std::string> causes;
    compare(k.hardware.instructions, k.twin.instructions, [&](double hardware, double twin) {
        if (hardware > 0 && std::abs(twin / hardware - 1) > kInstructionDifference)
            causes.push_back(fmt::format("instructions x {:.2f}", twin / hardware));
    });
    if (isShort(k) && std::abs((*k.twin.cycles + launchDifference) / *k.hardware.cycles - 1) <= kWithin)
        causes.push_back(fmt::format("launch: {:+.0f} cycles", *k.twin.cycles - *k.hardware.cycles));
    const auto hitRates = [&](const char* cache) {
        return [&causes, cache](double hardware, double twin) {
            if (std::abs(twin - hardware) > kHitRateDifference)
                causes.push_back(fmt::format("{} hit rate {:+.0f} points", cache, twin - hardware));
        };
    };
    compare(k.hardware.l1HitRate, k.twin.l1HitRate, hitRates("L1"));
    compare(k.hardware.l2HitRate, k.twin.l2HitRate, hitRates("L2"));
    compare(k.hardware.dramBytes, k.twin.dramBytes, [&](double hardware, double twin) {
        if (std::max(hardware, twin) > kMuchDramBytes && std::abs(twin - hardware) > kDramDifference * hardware)
            causes.push_back(fmt::format("DRAM {:.3g} MB, not {:.3g}", twin / 1e6, hardware / 1e6));
    });
    if (classOf(k, peaks) == KernelClass::atomics) causes.emplace_back("atomics");
    if (causes.empty()) causes.emplace_back("unexplained");
    return causes;
}

}  // namespace bulkhead::correlate
