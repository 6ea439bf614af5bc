#include "dissect/slice_latencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/extremes.h"
#include "base/phrases.h"

namespace bulkhead::dissect {
namespace {

using Row = std::vector<double>;

/// What is particular about an SM's latencies: differences from what is usual for a group of slices, as a
/// vector of length 1, because clocks change, and all distances with them.
Row direction(const Times& cycles, std::uint32_t modulus) {
    Row row(cycles.begin(), cycles.end());
    for (std::size_t first = 0; first < row.size(); first += modulus) {
        const auto begin = row.begin() + static_cast<std::ptrdiff_t>(first), end = begin + modulus;
        const double mean = std::accumulate(begin, end, 0.0) / modulus;
        std::for_each(begin, end, [&](double& value) { value -= mean; });
    }
    const double length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    if (length > 0)
        for (double& value : row) value /= length;
    return row;
}

/// As seen by a process that calls the first side the second.
std::vector<Row> swapped(std::vector<Row> rows, std::uint32_t modulus) {
    for (Row& row : rows) std::rotate(row.begin(), row.begin() + modulus, row.end());
    return rows;
}

/// How unlike a row is to the one that is most like it: 0 if they have one direction, 1 if they have nothing in common.
double unlikeness(const Row& row, const std::vector<Row>& rows) {
    double most = -1;
    for (const Row& other : rows) most = std::max(most, std::inner_product(row.begin(), row.end(), other.begin(), 0.0));
    return 1 - most;
}

}  // namespace

SliceLatencies timeSlices(Probe& probe, const std::vector<std::uint64_t>& lines) {
    constexpr unsigned kSome = 16;
    const gpu::Capabilities& can = probe.gpu().capabilities();
    const unsigned all = probe.sms(), step = can.costly ? std::max(1U, all / kSome) : 1;
    // The least of several: whoever else is at work on the GPU only ever adds.
    const unsigned rounds = can.deterministic ? 1 : 3;
    SliceLatencies latencies;
    for (unsigned sm = 0; sm < all; sm += step) {
        Times least = probe.timeAtomicsFrom(sm, lines, can.costly ? 2 : 8);
        for (unsigned round = 1; round < rounds; ++round) {
            const Times again = probe.timeAtomicsFrom(sm, lines, 8);
            for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], again[i]);
        }
        latencies.sms.push_back(sm);
        latencies.cycles.push_back(std::move(least));
    }
    return latencies;
}

std::uint32_t Renumbering::of(std::uint32_t slice, std::uint32_t modulus) const {
    const std::uint32_t residue = slice % modulus;
    return slice - residue + (shift + (backwards ? modulus - residue : residue)) % modulus;
}

RenumberingFit findRenumbering(const SliceLatencies& known, const SliceLatencies& measured, std::uint32_t modulus) {
    constexpr std::size_t kEnough = 24;  // SMs
    RenumberingFit fit;
    if (modulus < 3 || known.slices() != measured.slices() || known.slices() % modulus != 0) return fit;
    std::vector<Row> rows, ours;
    for (const Times& cycles : known.cycles) rows.push_back(direction(cycles, modulus));
    const std::size_t step = (measured.cycles.size() + kEnough - 1) / kEnough;
    for (std::size_t sm = 0; sm < measured.cycles.size(); sm += step)
        ours.push_back(direction(measured.cycles[sm], modulus));
    std::vector<std::vector<Row>> views = {rows};
    if (known.slices() == 2 * modulus) views.push_back(swapped(rows, modulus));
    fit.left = fit.leftByNext = INFINITY;
    for (const bool backwards : {false, true})
        for (std::uint32_t shift = 0; shift < modulus; ++shift) {
            const Renumbering how = {shift, backwards};
            std::vector<double> sums(views.size(), 0);
            for (const Row& row : ours) {
                Row anew(row.size());
                for (std::uint32_t slice = 0; slice < row.size(); ++slice) anew[how.of(slice, modulus)] = row[slice];
                for (std::size_t v = 0; v < views.size(); ++v) sums[v] += unlikeness(anew, views[v]);
            }
            const double left = *std::min_element(sums.begin(), sums.end()) / static_cast<double>(ours.size());
            if (left < fit.left) {
                fit.leftByNext = std::exchange(fit.left, left);
                fit.best = how;
            } else {
                fit.leftByNext = std::min(fit.leftByNext, left);
            }
        }
    return fit;
}

SliceLatencies renumbered(const SliceLatencies& measured, const Renumbering& how, std::uint32_t modulus) {
    SliceLatencies result = measured;
    for (std::size_t sm = 0; sm < measured.cycles.size(); ++sm)
        for (std::uint32_t slice = 0; slice < measured.slices(); ++slice)
            result.cycles[sm][how.of(slice, modulus)] = measured.cycles[sm][slice];
    return result;
}

namespace {

double meanCycles(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The middle of the widest gap between neighbours in order, if that is wider than noise.
std::optional<double> widestGap(std::vector<double> values) {
    constexpr double kWide = 0.1;  // of the mean
    std::sort(values.begin(), values.end());
    double wide = 0, middle = 0;
    for (std::size_t i = 1; i < values.size(); ++i)
        if (values[i] - values[i - 1] > wide) {
            wide = values[i] - values[i - 1];
            middle = (values[i] + values[i - 1]) / 2;
        }
    return wide > kWide * meanCycles(values) ? std::optional(middle) : std::nullopt;
}

/// For each unit, on which side of the gap it lies; empty where there is none.
std::vector<std::string> groupsBy(const std::vector<double>& latencies, const std::string& first) {
    const std::optional<double> gap = widestGap(latencies);
    std::vector<std::string> groups(latencies.size());
    if (!gap) return groups;
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = (latencies[i] < *gap ? "near " : "far from ") + first;
    return groups;
}

}  // namespace

std::optional<Result> latencyPlan(const SliceLatencies& latencies) {
    const std::size_t sms = latencies.sms.size(), slices = latencies.slices();
    std::vector<std::vector<double>> ofSm(sms), ofSlice(slices);
    double least = std::numeric_limits<double>::max(), most = 0;
    for (std::size_t i = 0; i < sms; ++i)
        for (std::size_t k = 0; k < slices; ++k) {
            const auto cycles = static_cast<double>(latencies.cycles[i][k]);
            ofSm[i].push_back(cycles);
            ofSlice[k].push_back(cycles);
            least = std::min(least, cycles);
            most = std::max(most, cycles);
        }
    if (least >= most) return std::nullopt;
    const std::vector<std::string> smGroups = groupsBy(ofSlice.front(), "slice 0"),
                                   sliceGroups = groupsBy(ofSm.front(), fmt::format("SM {}", latencies.sms.front()));
    Result r;
    r.title = "Latency on the floor plan";
    const std::string toFirst = fmt::format("to slice 0, from SM {}", latencies.sms.front());
    r.columns = {{"part", ""}, {"group", ""}, {"unit", ""}, {toFirst, "cycles"}, {"mean", "cycles"}};
    for (std::size_t i = 0; i < sms; ++i)
        r.add({"SM", smGroups[i], std::int64_t{latencies.sms[i]}, ofSm[i].front(), meanCycles(ofSm[i])});
    for (std::size_t k = 0; k < slices; ++k)
        r.add({"L2 slice", sliceGroups[k], static_cast<std::int64_t>(k), ofSlice[k].front(), meanCycles(ofSlice[k])});
    r.charts = {{Chart::Kind::floorplan,
                 "Latency of atomics between SMs and L2 slices",
                 "unit",
                 {toFirst, "mean"},
                 {"part", "group"},
                 {},
                 "",
                 false,
                 false}};
    const auto near = static_cast<std::size_t>(
        std::count_if(smGroups.begin(), smGroups.end(), [](const std::string& g) { return g.starts_with("near"); }));
    r.question = "Which SMs are near to which part of the L2?";
    r.answer =
        near > 0 ? fmt::format("{} of {} are near to slice 0 and {} far from it.", near, counted(sms, "SM"), sms - near)
                 : fmt::format("No gap parts near ones from far ones: atomics take {} to {} cycles.", brief(least),
                               brief(most));
    r.reading =
        "Of an SM, the latency to slice 0; of a slice, from the first SM; mean: over all slices, of an SM; over all "
        "SMs "
        "that were asked, of a slice.";
    return r;
}

Result latencyTable(const SliceLatencies& latencies) {
    Result r;
    r.title = "Latency of atomics by SM and L2 slice";
    r.columns = {{"SM", ""}, {"slice", ""}, {"latency", "cycles"}};
    for (std::size_t i = 0; i < latencies.cycles.size(); ++i)
        for (std::size_t slice = 0; slice < latencies.slices(); ++slice)
            r.add({std::int64_t{latencies.sms[i]}, static_cast<std::int64_t>(slice),
                   static_cast<std::int64_t>(latencies.cycles[i][slice])});
    const auto found = extremesOf(r, 2);
    const bool differ = found && found->least < found->most;
    if (differ)
        r.charts.push_back({Chart::Kind::heatmap,
                            "latency of atomics from SMs to L2 slices",
                            "slice",
                            {"latency"},
                            {"SM"},
                            {},
                            "",
                            false,
                            false});
    r.question = "How far is each L2 slice from each SM?";
    r.reading = "A darker cell is a slice that is nearer to the SM.";
    if (found && !differ)
        r.answer = fmt::format("All are {} cycles apart: none is nearer than another.", brief(found->most));
    else if (found)
        r.answer = fmt::format("From {} to {} cycles; SM {} and slice {} are furthest apart.", brief(found->least),
                               brief(found->most), std::get<std::int64_t>(r.rows[found->mostRow][0]),
                               std::get<std::int64_t>(r.rows[found->mostRow][1]));
    return r;
}

}  // namespace bulkhead::dissect
