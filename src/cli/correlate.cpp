#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/batch_options.h"
#include "cli/common_options.h"
#include "cli/correlate_sides.h"
#include "cli/result_stream.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "correlate/tables.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

struct CorrelateOptions {
    SidesOptions sides;
    std::string order = "worst", json, csv, html;
};

correlate::Order orderOf(const std::string& name) {
    return name == "workload" ? correlate::Order::byWorkload : correlate::Order::worstFirst;
}

std::string whatOrder(const std::string& name) {
    return name == "worst" || name == "workload" ? "" : fmt::format("unknown order {}: choose worst or workload", name);
}

/// How far hardware's counters can be trusted.
std::string caution(const correlate::Correlation& c, const Sides& sides) {
    std::string out;
    if (!sides.severalPasses.empty())
        out = fmt::format("Some counters took several passes, of which later ones found warm caches: {}\n",
                          fmt::join(sides.severalPasses, ", "));
    const auto timed = std::count_if(c.kernels.begin(), c.kernels.end(),
                                     [](const correlate::KernelPair& k) { return k.hardware.cyclesFromTime; });
    if (timed == 0) return out;
    return out + fmt::format("{} of {} kernels: hardware's cycles are time x clock, since nobody counted them\n", timed,
                             c.kernels.size());
}

int runCorrelate(const CorrelateOptions& o, const CommandLine& line) {
    expectOutputs({o.json, o.csv, o.html});
    const Sides sides = measureSides(o.sides, line);
    const correlate::Correlation c = correlate::pairKernels(sides.subjects);
    const correlate::Peaks peaks = correlate::peaksOf(sides.profile);
    const correlate::Order order = orderOf(o.order);
    std::vector<Result> results = {correlate::summaryTable(c),      correlate::kernelTable(c, peaks, order),
                                   correlate::worstTable(c, peaks), correlate::classTable(c, peaks),
                                   correlate::suiteTable(c),        correlate::unmatchedTable(c)};
    for (Result& result : results)
        fillProvenance(result, fmt::format("{} beside {}", sides.hardware, o.sides.twin), o.sides.seed);
    if (o.json.empty() && o.csv.empty() && o.html.empty()) {
        std::string out = tableText(correlate::briefTable(c, peaks, order)) + "\n" + tableText(results.front());
        if (results.back().rows.size() > 0) out += "\n" + tableText(results.back());
        writeOutput("-", out + caution(c, sides) + "\n" + answerText(results.front()));
    }
    if (!o.csv.empty()) writeOutput(o.csv, report::csv(results[1]));
    if (!o.json.empty()) writeResults(o.json, results);
    if (!o.html.empty()) {
        if (c.unmatched.empty()) results.pop_back();
        writeOutput(o.html, report::html("bulkhead correlate", results));
    }
    for (const std::string& failure : sides.failures) fmt::print(stderr, "bulkhead: {}\n", failure);
    return sides.failures.empty() ? kDone : kCheckFailed;
}

}  // namespace

Action setUpCorrelate(CommandLine line) {
    const auto o = std::make_shared<CorrelateOptions>();
    addSidesOptions(line, o->sides);
    line.option("--sort", o->order, "order of kernels: worst first, or by workload")
        .typeName("NAME")
        .showDefault()
        .check(whatOrder);
    addJsonOption(line, o->json);
    addCsvOption(line, o->csv, "a row for each kernel as CSV");
    addHtmlOption(line, o->html);
    addWideOption(line);
    addBatchOptions(line, o->sides.batch);
    addClusterOptions(line, o->sides.batch);
    return [o, line] { return runCorrelate(*o, line); };
}

}  // namespace bulkhead::cli
