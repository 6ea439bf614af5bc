#include "arch/device_profile.h"
#include "reproduce/ciao.h"

namespace bulkhead::reproduce {
namespace {

compare::Comparison compareAll(compare::RunBatch& batch, const compare::RunSpec& common,
                               std::vector<compare::Variant> variants) {
    return compare::compare(batch, {compare::ciaoWorkloads(), std::move(variants), common});
}

/// The paper's schedulers, and the one that it does not have.
std::vector<compare::Variant> withOurs(const std::vector<std::string>& names) {
    std::vector<compare::Variant> variants = schedulers(names);
    variants.push_back({"ciao-a (ours)", "ciao-a"});
    return variants;
}

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

}  // namespace

std::vector<Result> performance(compare::RunBatch& batch, const compare::RunSpec& common) {
    const compare::Comparison c =
        compareAll(batch, common, withOurs({"gto", "ccws", "best-swl", "statpcal", "ciao-t", "ciao-p", "ciao-c"}));
    return {compare::gainTable(c), ratioTable("geometric means, measured and published", c, kFigure8Ratios),
            compare::runTable(c)};
}

std::vector<Result> sharedMemoryUse(compare::RunBatch& batch, const compare::RunSpec& common) {
    const compare::Comparison c = compareAll(batch, common, withOurs({"gto", "ciao-p", "ciao-c"}));
    arch::DeviceProfile profile = arch::findProfile(common.gpu);
    arch::applySettings(profile, common.settings);
    const auto bytes = static_cast<double>(profile.sm.sharedBytes);
    Result r;
    r.title = "use of shared memory (the paper has bars without numbers)";
    r.columns = {{"workload", ""},
                 {"scheduler", ""},
                 {"used by the program", ""},
                 {"offered to the cache", ""},
                 {"used by the cache", ""}};
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w)
        for (std::size_t v = 0; v < c.plan.variants.size(); ++v) {
            std::vector<Value> row = {c.plan.workloads[w], c.plan.variants[v].label};
            if (c.at(w, v).ok()) {
                const compare::RunMeasurement& f = c.at(w, v).measurement;
                row.insert(row.end(), {share(f.sharedReserved, bytes), share(f.sharedCacheCapacity, bytes),
                                       share(f.sharedCacheUsed, bytes)});
            }
            row.resize(r.columns.size());
            r.add(std::move(row));
        }
    r.charts.push_back({Chart::Kind::bar,
                        "shared memory used by the cache",
                        "workload",
                        {"used by the cache"},
                        {"scheduler"},
                        {},
                        "share of shared memory",
                        false,
                        false});
    return {r};
}

/// Table II: N_wrp is what profiling for Best-SWL finds.
std::vector<Result> characteristics(compare::RunBatch& batch, const compare::RunSpec& common) {
    const compare::Comparison c = compareAll(batch, common, schedulers({"gto", "best-swl"}));
    Result r;
    r.title = "Table II, measured and published";
    r.columns = {{"workload", ""}, {"class", ""},           {"APKI", ""},  {"paper's APKI", ""},
                 {"memory", "KB"}, {"paper's input", "KB"}, {"N_wrp", ""}, {"paper's N_wrp", ""},
                 {"F_smem", "%"},  {"paper's F_smem", "%"}};
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w) {
        const workloads::CiaoFigures& paper = *workloads::find(c.plan.workloads[w]).ciao;
        const compare::Outcome& gto = c.at(w, 0);
        const std::string& limited = c.spec(w, 1).scheduler;
        const auto orNothing = [&](double value) { return gto.ok() ? Value(value) : Value(); };
        r.add({c.plan.workloads[w], std::string(paper.workloadClass), orNothing(gto.measurement.apki()), paper.apki,
               orNothing(static_cast<double>(gto.measurement.footprintBytes) / 1024),
               static_cast<double>(paper.inputBytes) / 1024,
               static_cast<std::int64_t>(std::stoi(limited.substr(limited.find(':') + 1))),
               static_cast<std::int64_t>(paper.bestWarps), orNothing(100 * gto.measurement.sharedMemoryShare),
               100 * paper.sharedMemoryShare});
    }
    r.charts.push_back({Chart::Kind::bar,
                        "accesses per thousand instructions",
                        "workload",
                        {"APKI"},
                        {},
                        {"paper's APKI"},
                        "",
                        false,
                        false});
    r.charts.push_back(
        {Chart::Kind::bar, "warp limit of Best-SWL", "workload", {"N_wrp"}, {}, {"paper's N_wrp"}, "", false, false});
    return {r};
}

}  // namespace bulkhead::reproduce
