#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/report.h"

namespace bulkhead::report {
namespace {

constexpr const char* kGpu = "GPU";

/// The title with the name of the GPU, where it has one, replaced.
std::string titleFor(const Result& r, const std::string& gpus) {
    std::string title = r.title;
    const std::string& gpu = r.provenance.gpu;
    if (const std::size_t at = gpu.empty() ? std::string::npos : title.find(gpu); at != std::string::npos)
        title.replace(at, gpu.size(), gpus);
    return title;
}

bool alike(const Result& a, const Result& b) {
    const auto same = [](const Result::Column& x, const Result::Column& y) {
        return x.name == y.name && x.unit == y.unit;
    };
    return titleFor(a, "") == titleFor(b, "") &&
           std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(), same);
}

Result merged(const std::vector<const Result*>& group) {
    Result r;
    std::set<std::string> gpus;
    for (const Result* one : group) gpus.insert(one->provenance.gpu);
    const std::string both = fmt::format("{}", fmt::join(gpus, " and "));
    r.title = titleFor(*group.front(), both);
    if (r.title == group.front()->title) r.title += ": " + both;
    r.columns = group.front()->columns;
    r.columns.insert(r.columns.begin(), {kGpu, ""});
    for (const Result* one : group)
        for (std::vector<Value> row : one->rows) {
            row.insert(row.begin(), one->provenance.gpu);
            r.add(std::move(row));
        }
    r.charts = group.front()->charts;
    for (Chart& chart : r.charts) chart.series.insert(chart.series.begin(), kGpu);
    r.provenance = group.front()->provenance;
    r.provenance.gpu = fmt::format("{}", fmt::join(gpus, ", "));
    for (std::size_t i = 1; i < group.size(); ++i) r.provenance.command += "; " + group[i]->provenance.command;
    return r;
}

}  // namespace

std::vector<Result> sideBySide(std::span<const Result> results) {
    std::vector<std::vector<const Result*>> groups;
    for (const Result& result : results) {
        const auto group =
            std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return alike(*g.front(), result); });
        if (group == groups.end()) {
            groups.push_back({&result});
        } else {
            group->push_back(&result);
        }
    }
    std::vector<Result> together;
    for (const auto& group : groups) {
        std::set<std::string> gpus;
        for (const Result* one : group) gpus.insert(one->provenance.gpu);
        if (gpus.size() > 1) together.push_back(merged(group));
    }
    return together;
}

}  // namespace bulkhead::report
