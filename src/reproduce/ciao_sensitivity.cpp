#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reproduce/ciao.h"

namespace bulkhead::reproduce {
namespace {

/// The memory-intensive workloads: LWS and SWS.
compare::Comparison compareMemoryIntensive(compare::RunBatch& batch, const compare::RunSpec& common,
                                           std::vector<compare::Variant> variants) {
    return compare::compare(batch, {compare::ciaoWorkloads({"LWS", "SWS"}), std::move(variants), common});
}

constexpr const char* kGto = "GTO";

/// How far IPC is from the first variant's in any workload, and in the mean; and what that one gains over GTO, the last
/// variant: where nothing is gained, nothing can change.
Result changeTable(const compare::Comparison& c, double paperPercent) {
    Result r;
    r.title = fmt::format("change of IPC relative to {}", c.plan.variants.front().label);
    r.columns = {{"variant", ""},  {"minimum", "%"}, {"mean", "%"},
                 {"maximum", "%"}, {"gain", "%"},    {"paper: within", "%"}};
    const std::size_t gto = c.plan.variants.size() - 1;
    const Value overGto = c.meanGain("", gto);
    const Value effect =
        std::holds_alternative<double>(overGto) ? Value(100 * (1 / std::get<double>(overGto) - 1)) : Value();
    for (std::size_t v = 1; v < gto; ++v) {
        std::vector<double> changes;
        for (std::size_t w = 0; w < c.plan.workloads.size(); ++w)
            if (const Value gain = c.gain(w, v); std::holds_alternative<double>(gain))
                changes.push_back(100 * (std::get<double>(gain) - 1));
        if (changes.empty()) continue;
        const Value mean = c.meanGain("", v);
        r.add({c.plan.variants[v].label, *std::min_element(changes.begin(), changes.end()),
               std::holds_alternative<double>(mean) ? Value(100 * (std::get<double>(mean) - 1)) : Value(),
               *std::max_element(changes.begin(), changes.end()), effect, paperPercent});
    }
    r.charts.push_back(
        {Chart::Kind::bar, r.title, "variant", {"minimum", "mean", "maximum"}, {}, {}, "", false, false});
    return r;
}

/// What epochs count, and what scores count. The paper does not say; it has numbers for gains and for how little a
/// longer epoch and a higher cut-off change, and no reading has all of them.
struct Reading {
    const char *name, *epochs, *scores;
};
constexpr std::array kReadings = {Reading{"threads, warps", "threads", "warps"},
                                  Reading{"threads, threads", "threads", "threads"},
                                  Reading{"warps, warps", "warps", "warps"}};

std::vector<std::string> settingsOf(const Reading& reading, const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings = {fmt::format("ciao.instructions={}", reading.epochs),
                                         fmt::format("ciao.scores={}", reading.scores)};
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

/// CIAO's gains over GTO under each reading, beside the paper's.
Result readingTable(const compare::Comparison& c) {
    Result r;
    r.title = "IPC over GTO by what epochs and scores count, all workloads";
    r.columns = {{"epochs, scores", ""}, {"scheduler", ""}, {"ours", "x"}, {"paper", "x"}};
    std::size_t variant = 1;
    for (const Reading& reading : kReadings)
        for (const auto& [scheduler, papers] : kCiaoOverGto)
            r.add({std::string(reading.name), std::string(scheduler), c.meanGain("", variant++), papers});
    r.charts.push_back({Chart::Kind::bar,
                        "gains by what an instruction is",
                        "scheduler",
                        {"ours"},
                        {"epochs, scores"},
                        {"paper"},
                        "IPC over GTO",
                        false,
                        false});
    return r;
}

/// How much CIAO-C loses under each reading by the longest epoch of Figure 11a and the highest cut-off of 11b.
Result argumentTable(const compare::Comparison& c) {
    Result r;
    r.title = "change of CIAO-C's IPC by what epochs and scores count, LWS and SWS";
    r.columns = {{"epochs, scores", ""},
                 {"epoch of 50K", "%"},
                 {"paper: epochs within", "%"},
                 {"cut-off of 4 %", "%"},
                 {"paper: cut-offs within", "%"}};
    const auto change = [&](std::size_t changed, std::size_t usual) {
        const Value a = c.meanGain("", changed), b = c.meanGain("", usual);
        const auto *with = std::get_if<double>(&a), *without = std::get_if<double>(&b);
        return with && without ? Value(100 * (*with / *without - 1)) : Value();
    };
    for (std::size_t i = 0; i < kReadings.size(); ++i)
        r.add({std::string(kReadings[i].name), change(3 * i + 1, 3 * i), kEpochsWithin, change(3 * i + 2, 3 * i),
               kCutoffsWithin});
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
    variants.push_back({kGto, "gto"});
    const compare::Comparison c = compareMemoryIntensive(batch, common, std::move(variants));
    return {compare::gainTable(c), changeTable(c, kEpochsWithin)};
}

std::vector<Result> cutoffs(compare::RunBatch& batch, const compare::RunSpec& common) {
    std::vector<compare::Variant> variants;
    for (const auto& [high, low] : {std::pair("0.01", "0.005"), std::pair("0.005", "0.0025"), std::pair("0.02", "0.01"),
                                    std::pair("0.04", "0.02")})
        variants.push_back({fmt::format("cut-off {}", high),
                            "ciao-c",
                            {fmt::format("ciao.highCutoff={}", high), fmt::format("ciao.lowCutoff={}", low)}});
    variants.push_back({kGto, "gto"});
    const compare::Comparison c = compareMemoryIntensive(batch, common, std::move(variants));
    return {compare::gainTable(c), changeTable(c, kCutoffsWithin)};
}

/// Both readings, and the third, beside each other, with what speaks for one of them.
std::vector<Result> instructionUnits(compare::RunBatch& batch, const compare::RunSpec& common) {
    std::vector<compare::Variant> gains = {{"GTO", "gto"}}, sensitivity;
    for (const Reading& reading : kReadings) {
        for (const auto& [scheduler, papers] : kCiaoOverGto)
            gains.push_back({fmt::format("{} ({})", scheduler, reading.name), scheduler, settingsOf(reading)});
        sensitivity.push_back({reading.name, "ciao-c", settingsOf(reading)});
        sensitivity.push_back(
            {fmt::format("50K ({})", reading.name), "ciao-c", settingsOf(reading, {"ciao.highEpoch=50000"})});
        sensitivity.push_back({fmt::format("4 % ({})", reading.name), "ciao-c",
                               settingsOf(reading, {"ciao.highCutoff=0.04", "ciao.lowCutoff=0.02"})});
    }
    const compare::Comparison all = compare::compare(batch, {compare::ciaoWorkloads(), std::move(gains), common});
    const compare::Comparison some = compareMemoryIntensive(batch, common, std::move(sensitivity));
    return {readingTable(all), argumentTable(some), compare::gainTable(all)};
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
