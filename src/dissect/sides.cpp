#include "dissect/sides.h"

#include <algorithm>
#include <cmath>

#include "dissect/correlation.h"

namespace bulkhead::dissect {
namespace {

/// The median of three chains to each address: a single one that was disturbed would pass for a side of its own.
Times steadyLatencies(Probe& probe, unsigned sm, std::span<const std::uint64_t> addresses, std::uint32_t repeats) {
    const Times a = probe.timeAtomicsFrom(sm, addresses, repeats), b = probe.timeAtomicsFrom(sm, addresses, repeats),
                c = probe.timeAtomicsFrom(sm, addresses, repeats);
    Times middle;
    for (std::size_t i = 0; i < addresses.size(); ++i)
        middle.push_back(std::max(std::min(a[i], b[i]), std::min(std::max(a[i], b[i]), c[i])));
    return middle;
}

}  // namespace

std::vector<std::uint8_t> Sides::members(unsigned side) const {
    std::vector<std::uint8_t> chosen;
    for (std::uint8_t s : ofSm) chosen.push_back(s == side ? 1 : 0);
    return chosen;
}

unsigned Sides::count(unsigned side) const {
    return static_cast<unsigned>(std::count(ofSm.begin(), ofSm.end(), side));
}

std::optional<Sides> findSides(Probe& probe, std::span<const std::uint64_t> addresses, std::uint32_t repeats) {
    Sides sides;
    sides.addresses.assign(addresses.begin(), addresses.end());
    double nearSum = 0, farSum = 0;
    for (unsigned sm = 0; sm < probe.sms(); ++sm) {
        sides.latencies.push_back(steadyLatencies(probe, sm, addresses, repeats));
        const auto split = splitTwo(sides.latencies.back());
        if (!split && sm == 0) return std::nullopt;
        const double r = sm == 0 ? 1 : correlation(sides.latencies.front(), sides.latencies.back());
        sides.leastCorrelation = std::min(sides.leastCorrelation, std::fabs(r));
        sides.ofSm.push_back(r > 0 ? 0 : 1);
        sides.threshold.push_back(split ? split->threshold : sides.threshold.front());
        nearSum += split ? split->usual : 0;
        farSum += split ? split->slow : 0;
    }
    sides.nearCycles = nearSum / probe.sms();
    sides.farCycles = farSum / probe.sms();
    return sides;
}

std::optional<Sides> findSides(Probe& probe, std::uint64_t base, std::uint64_t stride, const SideEffort& effort) {
    std::vector<std::uint64_t> addresses;
    for (std::uint64_t i = 0; i < effort.chunks; ++i) addresses.push_back(base + i * stride);
    return findSides(probe, addresses, effort.repeats);
}

std::vector<std::uint8_t> sidesOf(Probe& probe, const Sides& sides, std::span<const std::uint64_t> addresses,
                                  std::uint32_t repeats) {
    std::vector<std::uint32_t> where;
    const Times times = probe.timeAtomicsSpread(addresses, repeats, where);
    std::vector<std::uint8_t> result;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const bool isFar = times[i] > sides.threshold[where[i]];
        result.push_back(static_cast<std::uint8_t>(sides.ofSm[where[i]] ^ (isFar ? 1 : 0)));
    }
    return result;
}

}  // namespace bulkhead::dissect
