#include <algorithm>

#include "base/error.h"
#include "reproduce/ciao.h"

namespace bulkhead::reproduce {
namespace {

compare::RunMeasurement observed(compare::RunBatch& batch, compare::RunSpec spec, const char* workload) {
    spec.workload = workload;
    spec.scheduler = "gto";
    spec.observe = true;
    const compare::Outcome outcome = batch.run(spec);
    if (!outcome.ok()) throw Error("{} under gto: {}", workload, outcome.failure);
    return outcome.measurement;
}

/// A row for each pair of warps of SM 0 of which one interferes with the other, most first.
Result pairTable(const compare::RunMeasurement& f, const std::string& title) {
    Result r;
    r.title = title;
    r.columns = {{"interfered warp", ""}, {"interfering warp", ""}, {"VTA hits", ""}};
    for (std::uint32_t interfered = 0; interfered < f.warps; ++interfered)
        for (std::uint32_t interfering = 0; interfering < f.warps; ++interfering)
            if (const std::uint64_t hits = f.interference[std::size_t{interfered} * f.warps + interfering])
                r.add({static_cast<std::int64_t>(interfered), static_cast<std::int64_t>(interfering),
                       static_cast<std::int64_t>(hits)});
    std::stable_sort(r.rows.begin(), r.rows.end(), [](const auto& a, const auto& b) {
        return std::get<std::int64_t>(a[2]) > std::get<std::int64_t>(b[2]);
    });
    r.charts.push_back({Chart::Kind::heatmap,
                        "interference between warps",
                        "interfering warp",
                        {"VTA hits"},
                        {"interfered warp"},
                        {},
                        "",
                        false,
                        false});
    return r;
}

}  // namespace

std::vector<Result> interferenceInBackprop(compare::RunBatch& batch, const compare::RunSpec& common) {
    return {pairTable(observed(batch, common, "Backprop"),
                      "Backprop on SM 0 (paper: a few warps, W16, W18 and W23, interfere most, and with one another)")};
}

std::vector<Result> interferenceInKmeans(compare::RunBatch& batch, const compare::RunSpec& common) {
    return {pairTable(observed(batch, common, "Kmeans"),
                      "Kmeans on SM 0 (paper: W32 interferes with W34 more than 2000 times, W2 never)")};
}

std::vector<Result> limitingInBackprop(compare::RunBatch& batch, const compare::RunSpec& common) {
    const compare::Comparison c =
        compare::compare(batch, {{"Backprop"}, schedulers({"gto", "best-swl", "ccws"}), common});
    return {compare::runTable(c)};
}

std::vector<Result> spreadOfInterference(compare::RunBatch& batch, const compare::RunSpec& common) {
    Result r;
    r.title = "VTA hits between two warps of SM 0 (the paper has bars without numbers)";
    r.columns = {{"workload", ""}, {"warp pairs with misses", ""}, {"minimum", ""}, {"mean", ""}, {"maximum", ""}};
    compare::RunSpec watched = common;
    watched.observe = true;
    const compare::Comparison c = compare::compare(batch, {compare::ciaoWorkloads(), schedulers({"gto"}), watched});
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w) {
        const compare::RunMeasurement& f = c.at(w, 0).measurement;
        std::uint64_t least = ~std::uint64_t{0}, most = 0, sum = 0, pairs = 0;
        for (std::uint32_t interfered = 0; interfered < f.warps; ++interfered)
            for (std::uint32_t interfering = 0; interfering < f.warps; ++interfering) {
                if (interfered == interfering) continue;
                const std::uint64_t hits = f.interference[std::size_t{interfered} * f.warps + interfering];
                least = std::min(least, hits);
                most = std::max(most, hits);
                sum += hits;
                pairs += hits != 0;
            }
        if (!c.at(w, 0).ok()) {
            r.add({c.plan.workloads[w], {}, {}, {}, {}});
            continue;
        }
        const double places = static_cast<double>(f.warps) * (f.warps - 1);
        r.add({c.plan.workloads[w], static_cast<std::int64_t>(pairs), static_cast<std::int64_t>(least),
               static_cast<double>(sum) / places, static_cast<std::int64_t>(most)});
    }
    r.charts.push_back({Chart::Kind::bar,
                        "interference between two warps",
                        "workload",
                        {"mean", "maximum"},
                        {},
                        {},
                        "VTA hits",
                        false,
                        true});
    return {r};
}

}  // namespace bulkhead::reproduce
