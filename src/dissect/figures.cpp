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
        {Chart::Kind::line, "how many pairs take how long", "time", {"pairs"}, {}, {}, "", false, false});
    return r;
}

}  // namespace bulkhead::dissect
