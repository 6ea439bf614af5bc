#include <fmt/format.h>

#include <algorithm>

#include "reproduce/ciao.h"

namespace bulkhead::reproduce {
namespace {

/// The memory-intensive workloads: LWS and SWS.
compare::Comparison compareMemoryIntensive(compare::RunBatch& batch, const compare::RunSpec& common,
                                           std::vector<compare::Variant> variants) {
    return compare::compare(batch, {compare::ciaoWorkloads({"LWS", "SWS"}), std::move(variants), common});
}

/// How far IPC is from the first variant's in any workload, and in the mean.
Result changeTable(const compare::Comparison& c, double paperPercent) {
    Result r;
    r.title = fmt::format("change of IPC relative to {}", c.plan.variants.front().label);
    r.columns = {{"variant", ""}, {"minimum", "%"}, {"mean", "%"}, {"maximum", "%"}, {"paper: within", "%"}};
    for (std::size_t v = 1; v < c.plan.variants.size(); ++v) {
        std::vector<double> changes;
        for (std::size_t w = 0; w < c.plan.workloads.size(); ++w)
            if (const Value gain = c.gain(w, v); std::holds_alternative<double>(gain))
                changes.push_back(100 * (std::get<double>(gain) - 1));
        if (changes.empty()) continue;
        const Value mean = c.meanGain("", v);
        r.add({c.plan.variants[v].label, *std::min_element(changes.begin(), changes.end()),
               std::holds_alternative<double>(mean) ? Value(100 * (std::get<double>(mean) - 1)) : Value(),
               *std::max_element(changes.begin(), changes.end()), paperPercent});
    }
    r.charts.push_back(
        {Chart::Kind::bar, r.title, "variant", {"minimum", "mean", "maximum"}, {}, {}, "", false, false});
    return r;
}

// What Figure 12 changes of the GPU.
const std::vector<std::string> kLargeL1 = {"l1.bytes=49152", "sm.carveouts=16384", "sm.sharedBytes=16384",
                                           "sm.maxSharedPerBlock=16384"};
const std::vector<std::string> kEightWays = {"l1.ways=8"};
/// A column command moves twice as much in the same time: bandwidth doubles and latency stays.
const std::vector<std::string> kTwiceTheBandwidth = {"dram.burstBytes=128"};

}  // namespace

std::vector<Result> epochs(compare::RunBatch& batch, const compare::RunSpec& common) {
    std::vector<compare::Variant> variants;
    for (int epoch : {5000, 1000, 10000, 50000})
        variants.push_back({fmt::format("{}K", epoch / 1000), "ciao-c", {fmt::format("ciao.highEpoch={}", epoch)}});
    const compare::Comparison c = compareMemoryIntensive(batch, common, std::move(variants));
    return {compare::gainTable(c), changeTable(c, 15)};
}

std::vector<Result> cutoffs(compare::RunBatch& batch, const compare::RunSpec& common) {
    std::vector<compare::Variant> variants;
    for (const auto& [high, low] : {std::pair("0.01", "0.005"), std::pair("0.005", "0.0025"), std::pair("0.02", "0.01"),
                                    std::pair("0.04", "0.02")})
        variants.push_back({fmt::format("cut-off {}", high),
                            "ciao-c",
                            {fmt::format("ciao.highCutoff={}", high), fmt::format("ciao.lowCutoff={}", low)}});
    const compare::Comparison c = compareMemoryIntensive(batch, common, std::move(variants));
    return {compare::gainTable(c), changeTable(c, 5)};
}

std::vector<Result> cacheConfigurations(compare::RunBatch& batch, const compare::RunSpec& common) {
    const compare::Comparison c = compareMemoryIntensive(
        batch, common,
        {{"GTO", "gto"}, {"GTO-cap", "gto", kLargeL1}, {"GTO-8way", "gto", kEightWays}, {"CIAO-C", "ciao-c"}});
    return {compare::gainTable(c), ratioTable("measured and published", c, kFigure12aRatios)};
}

std::vector<Result> dramConfigurations(compare::RunBatch& batch, const compare::RunSpec& common) {
    const compare::Comparison c = compareMemoryIntensive(batch, common,
                                                         {{"GTO", "gto"},
                                                          {"statPCAL-2X", "statpcal", kTwiceTheBandwidth},
                                                          {"CIAO-C", "ciao-c"},
                                                          {"CIAO-C-2X", "ciao-c", kTwiceTheBandwidth}});
    return {compare::gainTable(c), ratioTable("measured and published", c, kFigure12bRatios)};
}

}  // namespace bulkhead::reproduce
