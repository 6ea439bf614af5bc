#include "dissect/slice_latencies.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bulkhead::dissect {
namespace {

double meanOf(const Times& times) {
    return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

/// Mean difference of a multiprocessor's latencies if slice numbers are shifted. Each process has its own clock rate,
/// which adds to all of them: what counts is the difference from the mean.
double distance(const Times& known, const Times& measured, std::uint32_t modulus, std::uint32_t shift) {
    const double offset = meanOf(known) - meanOf(measured);
    double sum = 0;
    for (std::size_t slice = 0; slice < known.size(); ++slice) {
        const std::size_t residue = slice % modulus, named = slice - residue + (residue + shift) % modulus;
        sum += std::fabs(static_cast<double>(known[named]) - measured[slice] - offset);
    }
    return sum / static_cast<double>(known.size());
}

}  // namespace

SliceLatencies timeSlices(Probe& probe, const std::vector<std::uint64_t>& lines) {
    constexpr unsigned kSome = 16;
    const bool simulated = probe.gpu().simulator() != nullptr;
    const unsigned all = probe.multiprocessors(), step = simulated ? std::max(1U, all / kSome) : 1;
    // The least of several: whoever else is at work on the GPU only ever adds.
    const unsigned rounds = simulated ? 1 : 3;
    SliceLatencies latencies;
    for (unsigned sm = 0; sm < all; sm += step) {
        Times least = probe.timeAtomicsFrom(sm, lines, simulated ? 2 : 8);
        for (unsigned round = 1; round < rounds; ++round) {
            const Times again = probe.timeAtomicsFrom(sm, lines, 8);
            for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], again[i]);
        }
        latencies.multiprocessors.push_back(sm);
        latencies.cycles.push_back(std::move(least));
    }
    return latencies;
}

std::optional<std::uint32_t> findShift(const SliceLatencies& known, const SliceLatencies& measured,
                                       std::uint32_t modulus) {
    // The best must leave half as much as the next. On an H200 it leaves a quarter of a cycle, the next seven.
    constexpr double kClear = 0.5;
    if (modulus < 2 || known.multiprocessors != measured.multiprocessors || known.slices() != measured.slices())
        return std::nullopt;
    std::uint32_t best = 0;
    double least = 0, next = 0;
    for (std::uint32_t shift = 0; shift < modulus; ++shift) {
        double sum = 0;
        for (std::size_t sm = 0; sm < known.cycles.size(); ++sm)
            sum += distance(known.cycles[sm], measured.cycles[sm], modulus, shift);
        if (shift == 0 || sum < least) {
            next = shift == 0 ? INFINITY : least;
            least = sum;
            best = shift;
        } else {
            next = std::min(next, sum);
        }
    }
    if (!(least < kClear * next)) return std::nullopt;
    return best;
}

Result latencyTable(const SliceLatencies& latencies) {
    Result r;
    r.title = "Latency by multiprocessor and slice: atomics";
    r.columns = {{"multiprocessor", ""}, {"slice", ""}, {"latency", "cycles"}};
    for (std::size_t i = 0; i < latencies.cycles.size(); ++i)
        for (std::size_t slice = 0; slice < latencies.slices(); ++slice)
            r.add({std::int64_t{latencies.multiprocessors[i]}, static_cast<std::int64_t>(slice),
                   static_cast<std::int64_t>(latencies.cycles[i][slice])});
    r.charts.push_back({Chart::Kind::heatmap,
                        "latency from multiprocessors to slices",
                        "slice",
                        {"latency"},
                        {"multiprocessor"},
                        {},
                        "",
                        false,
                        false});
    return r;
}

}  // namespace bulkhead::dissect
