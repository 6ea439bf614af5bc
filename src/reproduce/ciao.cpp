#include "reproduce/ciao.h"

#include <algorithm>

#include "base/error.h"
#include "base/statistics.h"

namespace bulkhead::reproduce {
namespace {

bool isAmong(const std::string& workload, const std::string& among) {
    if (among == "all" || among == workload) return true;
    const auto& ciao = workloads::find(workload).ciao;
    return ciao && among == ciao->workloadClass;
}

std::size_t indexOf(const compare::Comparison& c, const std::string& label) {
    const auto& variants = c.plan.variants;
    const auto at =
        std::find_if(variants.begin(), variants.end(), [&](const compare::Variant& v) { return v.label == label; });
    if (at == variants.end()) throw Error("variant {} was not compared", label);
    return static_cast<std::size_t>(at - variants.begin());
}

Value meanRatio(const compare::Comparison& c, const PaperRatio& ratio) {
    const std::size_t over = indexOf(c, ratio.over), under = indexOf(c, ratio.under);
    std::vector<double> ratios;
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w) {
        if (!isAmong(c.plan.workloads[w], ratio.among)) continue;
        if (!c.at(w, over).ok() || !c.at(w, under).ok()) return {};
        ratios.push_back(c.at(w, over).measurement.ipc() / c.at(w, under).measurement.ipc());
    }
    if (ratios.empty()) return {};
    return geometricMean(ratios);
}

}  // namespace

Result ratioTable(const std::string& title, const compare::Comparison& c, const std::vector<PaperRatio>& ratios) {
    Result r;
    r.title = title;
    r.columns = {{"section", ""},   {"IPC of", ""}, {"relative to", ""},
                 {"workloads", ""}, {"ours", "x"},  {"paper", "x"}};
    for (const PaperRatio& ratio : ratios)
        r.add({std::string(ratio.section), std::string(ratio.over), std::string(ratio.under), std::string(ratio.among),
               meanRatio(c, ratio), ratio.paper});
    r.charts.push_back({Chart::Kind::bar,
                        "ratios of IPC, measured and published",
                        "IPC of",
                        {"ours"},
                        {"relative to", "workloads"},
                        {"paper"},
                        "ratio of IPC",
                        false,
                        false});
    return r;
}

std::vector<compare::Variant> schedulers(const std::vector<std::string>& names) {
    std::vector<compare::Variant> variants;
    variants.reserve(names.size());
    for (const std::string& name : names) variants.push_back({name, name});
    return variants;
}

const std::vector<CiaoFigure>& ciaoFigures() {
    static const std::vector<CiaoFigure> figures = {
        {"1a", "Interference between warps in Backprop", interferenceInBackprop},
        {"1b", "Best-SWL and CCWS on Backprop", limitingInBackprop},
        {"4a", "Interference between warps in Kmeans", interferenceInKmeans},
        {"4b", "Minimum and maximum interference between two warps", spreadOfInterference},
        {"table2", "Characteristics of the workloads", characteristics},
        {"8a", "Performance of the schedulers", performance},
        {"8b", "Use of shared memory", sharedMemoryUse},
        {"9", "Interference awareness over time", awarenessOverTime},
        {"10", "Working sets over time", workingSetsOverTime},
        {"11a", "Length of the high-cutoff epoch", epochs},
        {"11b", "High-cutoff threshold", cutoffs},
        {"units", "What an instruction is, to epochs and to scores", instructionUnits},
        {"12a", "L1D configurations", cacheConfigurations},
        {"12b", "DRAM configurations", dramConfigurations},
        {"overhead", "Storage overhead (V-F)", storageOverhead},
    };
    return figures;
}

}  // namespace bulkhead::reproduce
