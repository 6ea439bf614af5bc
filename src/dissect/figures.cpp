#include "dissect/figures.h"

#include <algorithm>

namespace bulkhead::dissect {

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
    return r;
}

}  // namespace bulkhead::dissect
