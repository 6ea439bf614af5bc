#include "reproduce/fgpu_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/statistics.h"
#include "gpu/gpu.h"

namespace bulkhead::reproduce {
namespace {

constexpr const char* kGpu = "sim:gtx1080";

/// IV-B: a pair is slow from 1.1 times the average on, which was 552 cycles.
constexpr double kSlow = 1.1, kPapersThreshold = 552;
/// The bars of Figure 4 beyond the threshold, of 100,000 pairs.
constexpr double kPapersSlowShare = 100.0 * (545 + 223) / 100'000;

/// Figure 8, in cycles: read from the curves of the paper's PDF, to 5 cycles.
struct PapersInterference {
    unsigned threads;
    std::array<double, 5> cycles;  ///< SCSB, DCSB, SCDB, DCDB, DM
};
constexpr std::array<const char*, 5> kCases = {"SCSB", "DCSB", "SCDB", "DCDB", "DM"};
constexpr std::array kFigure8 = {
    PapersInterference{1, {448, 458, 458, 458, 458}},      PapersInterference{10, {851, 900, 512, 514, 458}},
    PapersInterference{20, {1811, 1765, 984, 892, 458}},   PapersInterference{30, {2719, 2666, 1885, 1796, 458}},
    PapersInterference{50, {4534, 4470, 3689, 3597, 458}},
};

/// IV-D and appendix B, by the names of dissect's findings.
struct PapersFinding {
    const char *finding, *unit;
    double value;
};
constexpr std::array kFigure6 = {
    PapersFinding{"memory modules", "", 8}, PapersFinding{"DRAM banks", "", 128}, PapersFinding{"DRAM row", "B", 2048},
    PapersFinding{"L2 sets", "", 1024},     PapersFinding{"L2 ways", "", 16},
};

double numberIn(const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    return std::get<double>(value);
}

std::vector<double> column(const Result& r, std::size_t c) {
    std::vector<double> all;
    for (const auto& row : r.rows) all.push_back(numberIn(row[c]));
    return all;
}

/// Cycles in a row of Figure 8 by the name of the case; nothing where that number of threads, or the case, is not in
/// it.
std::optional<double> cyclesOf(const Result& figure, unsigned threads, const std::string& name) {
    const auto column = std::ranges::find(figure.columns, name, &Result::Column::name);
    if (column == figure.columns.end()) return std::nullopt;
    for (const auto& row : figure.rows)
        if (std::get<std::int64_t>(row[0]) == std::int64_t{threads})
            return numberIn(row[static_cast<std::size_t>(column - figure.columns.begin())]);
    return std::nullopt;
}

}  // namespace

MemoryStudy::MemoryStudy(const Counts& counts, std::vector<std::string> settings, std::uint64_t seed)
    : counts_(counts), settings_(std::move(settings)), seed_(seed) {}

const dissect::Dissection& MemoryStudy::dissection() {
    if (dissection_) return *dissection_;
    gpu::SimulationOptions simulation;
    simulation.settings = settings_;
    gpu::Gpu gpu = gpu::Gpu::open(kGpu, simulation);
    dissect::Options options;
    options.seed = seed_;
    options.trendPairs = counts_.trendPairs;
    options.pairs = counts_.pairs;
    options.allThreads = counts_.allThreads;
    dissect::Listener nobody;
    dissection_ = dissect::dissect(gpu, options, nobody);
    return *dissection_;
}

Result MemoryStudy::drawn(const std::string& title) {
    for (Result figure : dissection().figures)
        if (figure.title.starts_with(title)) {
            figure.title = figure.title.substr(figure.title.find(": ") + 2);  // its number stands before it
            return figure;
        }
    throw Error("{} could not be measured on {}", title, kGpu);
}

std::vector<Result> MemoryStudy::figure3() {
    const Result figure = drawn("Figure 3");
    Result r;
    r.title = "threshold of a row conflict";
    r.columns = {{"quantity", ""}, {"ours", "cycles"}, {"paper", "cycles"}};
    r.add({std::string("1.1 times the average"), kSlow * mean(column(figure, 1)), kPapersThreshold});
    return {figure, r};
}

std::vector<Result> MemoryStudy::figure4() {
    const Result figure = drawn("Figure 4");
    double pairs = 0, sum = 0, slow = 0;
    const std::vector<double> times = column(figure, 0), counts = column(figure, 1);
    for (std::size_t i = 0; i < times.size(); ++i) {
        pairs += counts[i];
        sum += counts[i] * times[i];
    }
    for (std::size_t i = 0; i < times.size(); ++i)
        if (times[i] > kSlow * sum / pairs) slow += counts[i];
    Result r;
    r.title = "pairs with a row conflict";
    r.columns = {{"quantity", ""}, {"pairs", ""}, {"ours", "%"}, {"paper", "%"}};
    r.add({std::string("above 1.1 times the average"), static_cast<std::int64_t>(pairs), 100 * slow / pairs,
           kPapersSlowShare});
    r.reading = "Two random rows of 128 banks meet in one bank in 0.78 % of pairs.";
    return {figure, r};
}

std::vector<Result> MemoryStudy::figure6() {
    Result r;
    r.title = "sizes that were found";
    r.columns = {{"quantity", ""}, {"unit", ""}, {"ours", ""}, {"paper", ""}};
    for (const PapersFinding& paper : kFigure6)
        for (const dissect::Finding& finding : dissection().findings)
            if (finding.name == paper.finding && !std::holds_alternative<std::monostate>(finding.value))
                r.add({std::string(paper.finding), std::string(paper.unit), numberIn(finding.value), paper.value});
    return {drawn("Figure 6: "), r, drawn("Figure 6, checked")};
}

std::vector<Result> MemoryStudy::figure8() {
    const Result figure = drawn("Figure 8: ");
    Result r;
    r.title = "cycles of the primary thread's accesses";
    r.columns = {{"threads", ""}, {"case", ""}, {"ours", "cycles"}, {"paper", "cycles"}, {"ratio", ""}};
    for (const PapersInterference& paper : kFigure8)
        for (std::size_t c = 0; c < kCases.size(); ++c)
            if (const auto ours = cyclesOf(figure, paper.threads, kCases[c]))
                r.add({std::int64_t{paper.threads}, std::string(kCases[c]), *ours, paper.cycles[c],
                       *ours / paper.cycles[c]});
    r.caveats.emplace_back("The paper's cycles are read from its figure, to 5 cycles.");
    r.caveats.emplace_back(
        "Three figures of the profile are taken from this figure: dram.latency from DM, tRAS from the slope of SCSB, "
        "dram.bankQueue from SCDB and DCDB. That DM stays flat, that SCDB and DCDB rise as steeply, and the "
        "other curves are what the simulator makes of them.");
    return {figure, r};
}

}  // namespace bulkhead::reproduce
