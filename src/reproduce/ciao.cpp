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
    if (at == variants.end()) throw Error("no variant {} was compared", label);
    return static_cast<std::size_t>(at - variants.begin());
}

Value meanRatio(const compare::Comparison& c, const PaperRatio& ratio) {
    const std::size_t over = indexOf(c, ratio.over), under = indexOf(c, ratio.under);
    std::vector<double> ratios;
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w) {
        if (!isAmong(c.plan.workloads[w], ratio.among)) continue;
        if (!c.at(w, over).ok() || !c.at(w, under).ok()) return {};
        ratios.push_back(c.at(w, over).figures.ipc() / c.at(w, under).figures.ipc());
    }
    if (ratios.empty()) return {};
    return geometricMean(ratios);
}

}  // namespace

Result ratioTable(const std::string& title, const compare::Comparison& c, const std::vector<PaperRatio>& ratios) {
    Result r;
    r.title = title;
    r.columns = {{"section", ""}, {"IPC of", ""}, {"over", ""}, {"among", ""}, {"ours", ""}, {"paper", ""}};
    for (const PaperRatio& ratio : ratios)
        r.add({std::string(ratio.section), std::string(ratio.over), std::string(ratio.under), std::string(ratio.among),
               meanRatio(c, ratio), ratio.paper});
    r.charts.push_back({Chart::Kind::bar,
                        "ratios of IPC, ours and the paper's",
                        "IPC of",
                        {"ours"},
                        {"over", "among"},
                        {"paper"},
                        "IPC, over the other's",
                        false,
                        false});
    return r;
}

std::vector<compare::Variant> schedulers(const std::vector<std::string>& names) {
    std::vector<compare::Variant> variants;
    for (const std::string& name : names) variants.push_back({name, name});
    return variants;
}

const std::vector<CiaoFigure>& ciaoFigures() {
    static const std::vector<CiaoFigure> figures = {
        {"1a", "Which warps interfere with which in Backprop", interferenceInBackprop},
        {"1b", "Best-SWL and CCWS on Backprop", limitingInBackprop},
        {"4a", "Which warps interfere with which in Kmeans", interferenceInKmeans},
        {"4b", "The least and the most interference between two warps", spreadOfInterference},
        {"table2", "Characteristics of the workloads", characteristics},
        {"8a", "Performance of the schedulers", performance},
        {"8b", "Use of shared memory", sharedMemoryUse},
        {"9", "Interference awareness over time", awarenessOverTime},
        {"10", "Working sets over time", workingSetsOverTime},
        {"11a", "Length of the high-cutoff epoch", epochs},
        {"11b", "High-cutoff threshold", cutoffs},
        {"12a", "L1D configurations", cacheConfigurations},
        {"12b", "DRAM configurations", dramConfigurations},
        {"overhead", "Storage overhead (V-F)", storageOverhead},
    };
    return figures;
}

const CiaoFigure& findCiaoFigure(std::string_view name) {
    std::string names;
    for (const CiaoFigure& figure : ciaoFigures()) {
        if (figure.name == name) return figure;
        names += (names.empty() ? "" : ", ") + std::string(figure.name);
    }
    throw Error("the CIAO paper has no figure {}: choose of {}", name, names);
}

}  // namespace bulkhead::reproduce
