#include "metrics/watching.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "report/report.h"

namespace bulkhead::metrics {

Watching::Watching(const arch::DeviceProfile& profile, bool timeline, bool insight) {
    constexpr Cycles kBetweenSamples = 1000;
    if (timeline || insight)
        all_.add(timeline_.emplace(1.0 / static_cast<double>(profile.clock.coreMHz), kBetweenSamples));
    if (insight) all_.add(insight_.emplace(profile));
}

std::vector<Result> Watching::insight(const std::string& run) const {
    if (!insight_) return {};
    std::vector<Result> results = insight_->results();
    for (Result& result : results) result.title = run + ": " + result.title;
    return results;
}

void writeInsight(const std::string& file, const std::string& title, const std::vector<Result>& results,
                  const std::string& trace) {
    constexpr std::size_t kMostBytes = 16 << 20;  // a browser opens more only slowly
    const bool page = file.ends_with(".html");
    const report::Trace kept{title, trace.size() <= kMostBytes ? trace : std::string()};
    writeFile(file, page ? report::html(title, results, kept) : jsonText(report::fileJson(results), 2) + "\n");
}

}  // namespace bulkhead::metrics
