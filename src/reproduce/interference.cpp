#include "reproduce/interference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/statistics.h"
#include "corun/passes.h"
#include "gpu/known_profile.h"
#include "stress/stress.h"

namespace bulkhead::reproduce {
namespace {

constexpr unsigned kArrays = 8, kEvictionWarps = 8;  // of 4.2.1
constexpr std::uint64_t kPaperAccesses = 131072;     // of the applications

gpu::Gpu openGpu(const InterferenceOptions& o, std::uint64_t seed) {
    corun::loadModulesEagerly();
    gpu::SimulationOptions simulation;
    simulation.settings = o.settings;
    if (gpu::capabilitiesOf(o.gpu).settable) simulation.settings.push_back("memory.seed=" + std::to_string(seed));
    return gpu::Gpu::open(o.gpu, simulation);
}

corun::Ring wholeRing(const gpu::Buffer& buffer, const corun::CacheGeometry& shape) {
    return corun::sequentialRing(buffer.address(), buffer.bytes(), shape.lineBytes);
}

/// As large as the cache. Where that has two sides and keeps copies, a second pass over so much would find nothing left
/// to be timed as a hit: a region then, which stays.
Bytes bytesForHits(gpu::Gpu& gpu, const corun::CacheGeometry& shape) {
    return gpu.capabilities().copiesFarLines ? shape.bytes / 4 : shape.bytes;
}

/// Of Tables 2 and 3, in milliseconds.
struct PaperTimes {
    double mean = 0, maximum = 0, deviation = 0;
};

/// A scenario of Table 2 or 3: the application's times alone and beside an opponent.
struct Scenario {
    std::string victim;
    std::string sharing = "streams";
    std::string aggressor = "compute";
    unsigned blocks = 1, warps = 1;  ///< no blocks: as many as fit, which are the paper's 2 or 4 on a TX2
    PaperTimes paper = {};
    bool cold = false;
};

stress::Cell measure(const InterferenceOptions& o, const Scenario& s) {
    corun::loadModulesEagerly();
    stress::Options options;
    options.samples = o.samples;
    options.explained = 0;
    corun::PairSpec pair;
    pair.gpu = o.gpu;
    pair.settings = o.settings;
    pair.seed = o.seed;
    pair.sharing = s.sharing;
    pair.victim.name = s.victim;
    pair.victim.accesses = o.accesses ? o.accesses : kPaperAccesses;
    pair.victim.cold = s.cold;
    pair.aggressor.kind = s.aggressor;
    pair.aggressor.layout.blocks = s.blocks;
    pair.aggressor.layout.warps = s.warps;
    const stress::Cell cell = stress::measureCell(pair, options);
    if (cell.pairing.pairs.empty())
        throw Error("{} beside {}: {}", s.victim, s.aggressor, cell.refusal.empty() ? cell.pairing.why : cell.refusal);
    return cell;
}

/// What the results depend on and the paper does not say, or says of other hardware.
Result conditions(const InterferenceOptions& o) {
    Result r;
    r.title = "conditions";
    r.columns = {{"what", ""}, {"here", ""}, {"in the paper", ""}};
    r.add({"samples of a scenario", std::int64_t{o.samples}, std::int64_t{4096}});
    r.add({"accesses of an application", static_cast<std::int64_t>(o.accesses ? o.accesses : kPaperAccesses),
           "a cache-sized array"});
    r.add({"lanes of an evicting warp that chase pointers", std::int64_t{corun::AggressorSpec().lanes},
           "not said; fitted to Table 3"});
    r.add({"order of the random application", "a list as long as the array, read ahead", "not said"});
    if (const auto known = gpu::knownProfile(o.gpu, o.settings)) {
        r.add({"time slice of a process (us)", std::int64_t{known->sharing.quantumUs}, "not said"});
        r.add({"switch between processes (us)", std::int64_t{known->sharing.switchUs},
               "not said; that of sim:tx2 is fitted to Table 2"});
    }
    return r;
}

std::vector<Result::Column> executionColumns() {
    return {{"opposing kernel", ""}, {"samples", ""},        {"mean", "ms"},         {"max", "ms"},
            {"S.D.", "ms"},          {"ratio", "x"},         {"paper's mean", "ms"}, {"paper's max", "ms"},
            {"paper's S.D.", "ms"},  {"paper's ratio", "x"}, {"ours / paper's", ""}, {"SMs", ""}};
}

std::vector<Chart> executionCharts() {
    return {{Chart::Kind::bar, "execution time", "opposing kernel", {"mean"}, {}, {"paper's mean"}, "", false, false},
            {Chart::Kind::bar, "slowdown", "opposing kernel", {"ratio"}, {}, {"paper's ratio"}, "", false, false}};
}

std::vector<Value> executionRow(const std::string& name, const std::vector<double>& seconds, double alone,
                                const PaperTimes& paper, double paperAloneMs, const std::string& sms) {
    const double ratio = mean(seconds) / alone, paperRatio = paper.mean / paperAloneMs;
    return {name,
            static_cast<std::int64_t>(seconds.size()),
            mean(seconds) * 1e3,
            maximum(seconds) * 1e3,
            standardDeviation(seconds) * 1e3,
            ratio,
            paper.mean,
            paper.maximum,
            paper.deviation,
            paperRatio,
            ratio / paperRatio,
            sms};
}

void tell(const InterferenceOptions& o, const std::string& what) {
    if (o.listener) o.listener(what);
}

/// Rows of one application: alone, then beside each opponent.
void addScenarios(Result& r, const InterferenceOptions& o, const std::string& alone, const PaperTimes& paperAlone,
                  const std::vector<std::pair<std::string, Scenario>>& scenarios) {
    std::vector<std::pair<std::string, stress::Cell>> cells;
    std::vector<double> baseline;
    for (const auto& [name, scenario] : scenarios) {
        tell(o, name);
        cells.emplace_back(name, measure(o, scenario));
        const std::vector<double> own = cells.back().second.pairing.alone();
        baseline.insert(baseline.end(), own.begin(), own.end());
    }
    const double aloneMean = mean(baseline);
    r.add(executionRow(alone, baseline, aloneMean, paperAlone, paperAlone.mean, ""));
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const corun::Pairing& p = cells[i].second.pairing;
        const std::optional<bool> apart = p.onDisjointSms();
        r.add(executionRow(cells[i].first, p.together(), aloneMean, scenarios[i].second.paper, paperAlone.mean,
                           !apart   ? ""
                           : *apart ? "disjoint"
                                    : "shared"));
    }
}

Result cumulative(const std::vector<std::vector<double>>& arrays) {
    Result r;
    r.title = "cumulative distribution of warm access times";
    r.columns = {{"cycles", ""}};
    for (std::size_t a = 0; a < arrays.size(); ++a) r.columns.push_back({fmt::format("array {}", a + 1), "%"});
    std::vector<double> all;
    for (const std::vector<double>& times : arrays) all.insert(all.end(), times.begin(), times.end());
    constexpr double kStep = 10, kNearlyAll = 99.9;
    const double last = percentile(all, kNearlyAll) + kStep;
    std::vector<std::vector<double>> shares;  // of steps, by array
    const double first = std::floor(minimum(all) / kStep) * kStep;
    for (double at = first; at <= last; at += kStep) {
        std::vector<double>& share = shares.emplace_back();
        for (const std::vector<double>& times : arrays) share.push_back(100 * corun::hitShare(times, at + 0.5));
    }
    for (std::size_t i = 0; i < shares.size(); ++i) {
        // Where nothing happens for a while, the ends of that are enough.
        if (i > 0 && i + 1 < shares.size() && shares[i - 1] == shares[i] && shares[i] == shares[i + 1]) continue;
        std::vector<Value> row = {first + kStep * static_cast<double>(i)};
        row.insert(row.end(), shares[i].begin(), shares[i].end());
        r.add(std::move(row));
    }
    Chart chart{Chart::Kind::line, r.title, "cycles", {}, {}, {}, "accesses at or below (%)", false, false};
    for (std::size_t a = 0; a < arrays.size(); ++a) chart.y.push_back(r.columns[a + 1].name);
    r.charts.push_back(std::move(chart));
    return r;
}

Result histogram(const corun::Passes& passes) {
    Result r;
    r.title = "histogram of access times";
    r.columns = {{"from", "cycles"}, {"to", "cycles"}, {"cold", ""}, {"warm", ""}};
    constexpr double kWidth = 25, kEnd = 1200;
    const double slowest = std::max(maximum(passes.cold), maximum(passes.warm)) + 1;
    for (double from = 0; from < kEnd; from += kWidth) {
        // The last one takes stragglers.
        const double to = from + kWidth < kEnd ? from + kWidth : std::max(kEnd, slowest);
        const auto count = [&](const std::vector<double>& times) {
            return std::int64_t{
                std::count_if(times.begin(), times.end(), [&](double t) { return t >= from && t < to; })};
        };
        const std::int64_t cold = count(passes.cold), warm = count(passes.warm);
        if (cold + warm) r.add({from, to, cold, warm});
    }
    r.charts.push_back({Chart::Kind::bar, r.title, "from", {"cold", "warm"}, {}, {}, "accesses", false, false});
    return r;
}

}  // namespace

const std::vector<InterferenceFigure>& interferenceFigures() {
    static const std::vector<InterferenceFigure> all = {
        {"table1", "Memory access time baselines", accessTimes},
        {"figure1", "Warm access times of 8 arrays as large as the L2", warmHits},
        {"table2", "Application execution times, multi-process", multiProcess},
        {"table3", "Application execution times, single-process", singleProcess},
        {"coverage", "Eviction guided by an address map (4.2.2)", guidedCoverage},
    };
    return all;
}

std::vector<Result> accessTimes(const InterferenceOptions& o) {
    corun::Passes all;
    std::unique_ptr<gpu::Gpu> gpu;
    for (unsigned i = 0; i < o.samples; ++i) {
        // Opened again where its pages follow from the seed.
        if (!gpu || gpu->capabilities().settable) gpu = std::make_unique<gpu::Gpu>(openGpu(o, o.seed + i));
        const corun::CacheGeometry shape = corun::CacheGeometry::of(*gpu);
        const gpu::Buffer array = gpu->context().allocate(bytesForHits(*gpu, shape));
        const corun::Passes passes = corun::timePasses(gpu->context(), wholeRing(array, shape), 1);
        all.cold.insert(all.cold.end(), passes.cold.begin(), passes.cold.end());
        all.warm.insert(all.warm.end(), passes.warm.begin(), passes.warm.end());
    }
    // As the paper does: times of the second pass that are in the range of misses are not hits.
    const double threshold = corun::hitThreshold(all);
    std::vector<double> hits;
    for (const double t : all.warm)
        if (t < threshold) hits.push_back(t);
    Result r;
    r.title = "access time in cycles";
    r.columns = {{"scenario", ""},     {"mean", ""},          {"minimum", ""},         {"maximum", ""},
                 {"S.D.", ""},         {"paper's mean", ""},  {"paper's minimum", ""}, {"paper's maximum", ""},
                 {"paper's S.D.", ""}, {"ours / paper's", ""}};
    const auto add = [&](const char* name, const std::vector<double>& t, double paperMean, std::int64_t low,
                         std::int64_t high, std::int64_t deviation) {
        if (t.empty()) throw Error("Table 1: no access was a {}", name);
        r.add({name, mean(t), minimum(t), maximum(t), standardDeviation(t), paperMean, low, high, deviation,
               mean(t) / paperMean});
    };
    add("cache miss", all.cold, 519, 461, 1112, 72);
    add("cache hit", hits, 116, 92, 128, 5);
    r.charts.push_back(
        {Chart::Kind::bar, "mean access time", "scenario", {"mean"}, {}, {"paper's mean"}, "cycles", false, false});
    return {r, histogram(all)};
}

std::vector<Result> warmHits(const InterferenceOptions& o) {
    gpu::Gpu gpu = openGpu(o, o.seed);
    const corun::CacheGeometry shape = corun::CacheGeometry::of(gpu);
    std::vector<std::vector<double>> warm;
    Result r;
    r.title = "L2 hit rate of the second pass";
    r.columns = {
        {"array", ""}, {"sequential", "%"}, {"random", "%"}, {"paper's minimum", "%"}, {"paper's maximum", "%"}};
    std::vector<gpu::Buffer> arrays;
    for (unsigned a = 0; a < kArrays; ++a) arrays.push_back(gpu.context().allocate(shape.bytes));
    for (unsigned a = 0; a < kArrays; ++a) {
        const corun::Ring ring = wholeRing(arrays[a], shape);
        const corun::Passes sequential = corun::timePasses(gpu.context(), ring, kEvictionWarps);
        const corun::Passes random =
            corun::timePasses(gpu.context(), corun::shuffled(ring, o.seed + a), kEvictionWarps);
        warm.push_back(sequential.warm);
        r.add({std::int64_t{a + 1}, 100 * corun::hitShare(sequential.warm, corun::hitThreshold(sequential)),
               100 * corun::hitShare(random.warm, corun::hitThreshold(random)), std::int64_t{36}, std::int64_t{55}});
    }
    r.charts.push_back({Chart::Kind::bar,
                        "L2 hit rate of the second pass",
                        "array",
                        {"sequential", "random"},
                        {},
                        {},
                        "hits (%)",
                        false,
                        false});
    return {r, cumulative(warm)};
}

/// Samples begin cold. The application is the sequential one of Table 3, which takes 17.15 ms there, from a warm cache;
/// the 21.08 ms of Table 2 are what it takes when every line has to be fetched.
std::vector<Result> multiProcess(const InterferenceOptions& o) {
    constexpr PaperTimes kAlone = {21.08, 23.71, 4.59};
    const auto scenario = [](const std::string& kind, unsigned blocks, unsigned warps, PaperTimes paper) {
        return Scenario{"sequential", "processes", kind, blocks, warps, paper, true};
    };
    Result r;
    r.title = "sequential application";
    r.columns = executionColumns();
    addScenarios(r, o, "None", kAlone,
                 {{"Compute 1x1", scenario("compute", 1, 1, {44.67, 50.19, 6.71})},
                  {"Compute 4x32", scenario("compute", 0, 32, {46.22, 51.25, 6.80})},
                  {"Eviction 1x1", scenario("evict-random", 1, 1, {44.69, 50.18, 6.71})},
                  {"Eviction 4x32", scenario("evict-random", 0, 32, {46.24, 52.49, 6.80})}});
    r.charts = executionCharts();
    return {r, conditions(o)};
}

std::vector<Result> singleProcess(const InterferenceOptions& o) {
    Result r;
    r.title = "random (R) and sequential (S) application";
    r.columns = executionColumns();
    const auto add = [&](const std::string& suffix, const std::string& victim, PaperTimes alone, PaperTimes compute,
                         PaperTimes eviction) {
        const auto scenario = [&](const std::string& kind, PaperTimes paper) {
            return Scenario{victim, "streams", kind, 0, 32, paper};
        };
        addScenarios(r, o, "None-" + suffix, alone,
                     {{"Compute-" + suffix, scenario("compute", compute)},
                      {"Eviction-" + suffix, scenario("evict-random", eviction)}});
    };
    add("R", "random", {30.72, 33.27, 0.04}, {30.97, 33.15, 0.04}, {64.59, 64.81, 0.06});
    add("S", "sequential", {17.15, 19.49, 0.04}, {17.36, 19.43, 0.03}, {23.25, 23.35, 0.03});
    r.charts = executionCharts();
    return {r, conditions(o)};
}

std::vector<Result> guidedCoverage(const InterferenceOptions& o) {
    gpu::Gpu gpu = openGpu(o, o.seed);
    if (!gpu.capabilities().physicalAddresses) return {};
    const corun::CacheGeometry shape = corun::CacheGeometry::of(gpu);
    gpu::Buffer array = gpu.context().allocate(shape.bytes);
    const corun::Passes naive = corun::timePasses(gpu.context(), wholeRing(array, shape), 1);
    const arch::AddressMap& map = gpu.profile()->map;
    const auto memory = corun::mapByPhysicalAddress(map)(gpu.context(), kArrays * shape.bytes);
    const auto ways = static_cast<unsigned>(shape.bytes / shape.lineBytes / map.slices() / map.setsPerSlice());
    Result r;
    r.title = "share of the L2 covered by a ring of lines";
    r.columns = {{"ring", ""}, {"lines", ""}, {"coverage", "%"}, {"lines missing", ""}};
    const auto row = [&](const char* name, const corun::Passes& passes, std::size_t missing) {
        const double hits = corun::hitShare(passes.warm, corun::hitThreshold(passes));
        const double lines = static_cast<double>(passes.warm.size());
        const Bytes capacity = shape.bytes / shape.lineBytes;
        r.add({name, static_cast<std::int64_t>(passes.warm.size()), 100 * hits * lines / static_cast<double>(capacity),
               static_cast<std::int64_t>(missing)});
    };
    row("array as large as the L2", naive, 0);
    for (const corun::Order order : {corun::Order::setBySet, corun::Order::rotating}) {
        const corun::Cover cover = corun::coverCache(*memory, shape.lineBytes, ways, order);
        row(order == corun::Order::rotating ? "map-guided, rotating" : "map-guided, set by set",
            corun::timePasses(gpu.context(), cover.ring, 1), cover.missing);
    }
    r.charts.push_back({Chart::Kind::bar, r.title, "ring", {"coverage"}, {}, {}, "", false, false});
    return {r};
}

}  // namespace bulkhead::reproduce
