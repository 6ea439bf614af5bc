#include "reproduce/ciao.h"

namespace bulkhead::reproduce {
namespace {

constexpr std::size_t kMostRows = 50;

/// IPC, active warps and interference between two points of a run, for every scheduler: three curves of the paper.
Result overTime(const compare::Comparison& c, std::size_t workload) {
    Result r;
    r.title = c.plan.workloads[workload] + " over time";
    r.columns = {{"scheduler", ""},    {"instructions", "million"}, {"IPC", ""},
                 {"active warps", ""}, {"isolated warps", ""},      {"interference", "VTA hits/1000 instructions"}};
    for (std::size_t v = 0; v < c.plan.variants.size(); ++v) {
        const auto& series = c.at(workload, v).measurement.series;
        const std::size_t step = (series.size() + kMostRows - 1) / kMostRows;
        compare::SeriesPoint last;
        for (std::size_t end = step; step && end <= series.size(); end += step) {
            const compare::SeriesPoint& point = series[end - 1];
            double active = 0, isolated = 0;
            for (std::size_t i = end - step; i < end; ++i) {
                active += series[i].activeWarps / static_cast<double>(step);
                isolated += series[i].isolatedWarps / static_cast<double>(step);
            }
            const auto instructions = static_cast<double>(point.threadInstructions - last.threadInstructions);
            const auto hits = static_cast<double>(point.interference - last.interference);
            r.add({c.spec(workload, v).scheduler, static_cast<double>(point.threadInstructions) / 1e6,
                   instructions / static_cast<double>(point.cycles - last.cycles), active, isolated,
                   instructions > 0 ? Value(hits / instructions * 1e3) : Value()});
            last = point;
        }
    }
    for (const char* y : {"IPC", "active warps", "isolated warps", "interference"})
        r.charts.push_back({Chart::Kind::line, y, "instructions", {y}, {"scheduler"}, {}, "", false, false});
    return r;
}

compare::Comparison watch(compare::RunBatch& batch, compare::RunSpec common, const std::vector<std::string>& workloads,
                          const std::vector<std::string>& names) {
    common.observe = true;
    return compare::compare(batch, {workloads, schedulers(names), common});
}

}  // namespace

std::vector<Result> awarenessOverTime(compare::RunBatch& batch, const compare::RunSpec& common) {
    const compare::Comparison c = watch(batch, common, {"ATAX", "Backprop"}, {"best-swl", "ccws", "ciao-t"});
    return {overTime(c, 0), overTime(c, 1), compare::runTable(c)};
}

std::vector<Result> workingSetsOverTime(compare::RunBatch& batch, const compare::RunSpec& common) {
    const compare::Comparison c = watch(batch, common, {"SYRK", "KMN"}, {"ciao-t", "ciao-p", "ciao-c"});
    return {overTime(c, 0), overTime(c, 1), ratioTable("measured and published", c, kFigure10Ratios),
            compare::runTable(c)};
}

}  // namespace bulkhead::reproduce
