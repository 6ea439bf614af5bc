#include "dissect/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/extremes.h"
#include "base/phrases.h"

namespace bulkhead::dissect {

std::string slowestOfLastRow(const Result& r) {
    if (r.rows.empty() || r.columns.size() < 2) return {};
    const std::vector<Value>& last = r.rows.back();
    const auto cycles = [&](std::size_t c) {
        const auto* const real = std::get_if<double>(&last[c]);
        return real ? *real : static_cast<double>(std::get<std::int64_t>(last[c]));
    };
    std::size_t most = 1, least = 1;
    for (std::size_t c = 2; c < r.columns.size(); ++c) {
        if (cycles(c) > cycles(most)) most = c;
        if (cycles(c) < cycles(least)) least = c;
    }
    const std::string at = fmt::format("At {} {}", std::get<std::int64_t>(last[0]), r.columns[0].name);
    if (most == least) return fmt::format("{}: {} cycles.", at, brief(cycles(most)));
    return fmt::format("{}, {} costs most, {} cycles; {} least, {}.", at, r.columns[most].name, brief(cycles(most)),
                       r.columns[least].name, brief(cycles(least)));
}

Result timeHistogram(const std::string& title, Times times) {
    Result r;
    r.title = title;
    r.columns = {{"time", "cycles"}, {"pairs", ""}};
    std::sort(times.begin(), times.end());
    for (auto first = times.begin(); first != times.end();) {
        const auto last = std::upper_bound(first, times.end(), *first);
        r.add({static_cast<std::int64_t>(*first), static_cast<std::int64_t>(last - first)});
        first = last;
    }
    r.charts.push_back(
        {Chart::Kind::line, "number of address pairs by access time", "time", {"pairs"}, {}, {}, "", false, false});
    r.question = "How long do pairs of addresses take?";
    r.reading = "Two heaps apart are pairs without and with a conflict.";
    if (const auto time = extremesOf(r, 0), pairs = extremesOf(r, 1); time && pairs)
        r.answer = fmt::format("From {} to {} cycles, most often {}.", brief(time->least), brief(time->most),
                               std::get<std::int64_t>(r.rows[pairs->mostRow][0]));
    return r;
}

Result slicesByAddress(Bytes pageBytes, Bytes bytes,
                       const std::function<std::optional<std::uint32_t>(std::uint64_t offset)>& sliceAt) {
    constexpr Bytes kPages = 32, kKilobytes = 64;
    Result r;
    r.title = "L2 slices by address: first line of each KB of the first pages";
    r.columns = {{"page", ""}, {"offset", "KB"}, {"slice", ""}};
    for (Bytes page = 0; page < std::min(kPages, bytes / pageBytes); ++page)
        for (Bytes kb = 0; kb < std::min(kKilobytes, pageBytes >> 10); ++kb) {
            std::vector<Value> row = {static_cast<std::int64_t>(page), static_cast<std::int64_t>(kb)};
            const auto slice = sliceAt(page * pageBytes + (kb << 10));
            if (slice) {
                row.emplace_back(std::int64_t{*slice});
            } else {
                row.emplace_back();
            }
            r.add(std::move(row));
        }
    r.charts.push_back(
        {Chart::Kind::heatmap, "L2 slice of each KB", "offset", {"slice"}, {"page"}, {}, "", false, false});
    std::set<std::int64_t> slices;
    for (const auto& row : r.rows)
        if (const auto* slice = std::get_if<std::int64_t>(&row.back())) slices.insert(*slice);
    r.question = "Which L2 slice has each piece of memory?";
    r.answer = fmt::format("{} in the first lines of {} KB.", counted(slices.size(), "slice"), r.rows.size());
    r.reading = "A color is the number of a slice; rows are pages.";
    return r;
}

}  // namespace bulkhead::dissect
