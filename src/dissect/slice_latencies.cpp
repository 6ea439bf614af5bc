#include "dissect/slice_latencies.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace bulkhead::dissect {
namespace {

double meanOf(const Times& times) {
    return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

/// Mean difference of a multiprocessor's latencies if slices are numbered anew. Each process has its own clock rate,
/// which adds to all of them: what counts is the difference from the mean.
double distance(const Times& known, const Times& measured, std::uint32_t modulus, const Renumbering& how) {
    const double offset = meanOf(known) - meanOf(measured);
    double sum = 0;
    for (std::uint32_t slice = 0; slice < known.size(); ++slice)
        sum += std::fabs(static_cast<double>(known[how.of(slice, modulus)]) - measured[slice] - offset);
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

std::uint32_t Renumbering::of(std::uint32_t slice, std::uint32_t modulus) const {
    const std::uint32_t residue = slice % modulus;
    return slice - residue + (shift + (backwards ? modulus - residue : residue)) % modulus;
}

std::optional<Renumbering> findRenumbering(const SliceLatencies& known, const SliceLatencies& measured,
                                           std::uint32_t modulus) {
    // The best must leave half as much as the next. On an H200 it leaves a quarter of a cycle, the next seven.
    constexpr double kClear = 0.5;
    if (modulus < 3 || known.multiprocessors != measured.multiprocessors || known.slices() != measured.slices())
        return std::nullopt;
    Renumbering best;
    double least = INFINITY, next = INFINITY;
    for (const bool backwards : {false, true})
        for (std::uint32_t shift = 0; shift < modulus; ++shift) {
            const Renumbering how = {shift, backwards};
            double sum = 0;
            for (std::size_t sm = 0; sm < known.cycles.size(); ++sm)
                sum += distance(known.cycles[sm], measured.cycles[sm], modulus, how);
            if (sum < least) {
                next = std::exchange(least, sum);
                best = how;
            } else {
                next = std::min(next, sum);
            }
        }
    if (!(least < kClear * next)) return std::nullopt;
    return best;
}

SliceLatencies renumbered(const SliceLatencies& measured, const Renumbering& how, std::uint32_t modulus) {
    SliceLatencies result = measured;
    for (std::size_t sm = 0; sm < measured.cycles.size(); ++sm)
        for (std::uint32_t slice = 0; slice < measured.slices(); ++slice)
            result.cycles[sm][how.of(slice, modulus)] = measured.cycles[sm][slice];
    return result;
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
