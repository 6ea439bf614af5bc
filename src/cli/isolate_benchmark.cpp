#include "cli/isolate_benchmark.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/batch_options.h"
#include "cli/common_options.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "dissect/map_file.h"
#include "evaluation/benchmark/benchmark.h"
#include "experiment/interruption.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

struct BenchmarkOptions {
    evaluation::benchmark::BenchmarkSpec spec;
    BatchOptions batch;
    std::string json, html;
    bool list = false;
};

Result namesOf(const char* title, const char* first, const char* second, const auto& table, auto describe) {
    Result names;
    names.title = title;
    names.columns = {{first, ""}, {second, ""}};
    for (const auto& row : table) names.add({std::string(row.name), std::string(describe(row))});
    return names;
}

int listBenchmark() {
    using namespace evaluation::benchmark;
    writeOutput("-", report::text(namesOf("Ways of sharing", "way", "what it is", ways(),
                                          [](const Way& way) { return way.title; })) +
                         "\n" +
                         report::text(namesOf("What isolate benchmark measures", "measurement", "question", measures(),
                                              [](const Measure& measure) { return measure.question; })));
    return kDone;
}

int runBenchmark(const BenchmarkOptions& o) {
    if (o.list) return listBenchmark();
    expectOutputs({o.json, o.html});
    if (!o.spec.map.empty()) dissect::readMapFile(o.spec.map);
    experiment::catchInterrupts();
    EveryMinute minute;
    const evaluation::benchmark::StepStore store(storeFolder(o.batch), thisProgram(), warnOnce);
    evaluation::benchmark::BenchmarkReport report =
        evaluation::benchmark::runBenchmark(o.spec, store, [&](double fraction, const std::string& next) {
            if (streamsProgress()) {
                streamProgress(fraction, next);
            } else if (minute.due()) {
                fmt::print(stderr, "bulkhead: {:.0f} % done, now {}\n", 100 * fraction, next);
            }
        });
    for (Result& result : report.results) fillProvenance(result, o.spec.gpu, o.spec.seed);
    if (o.json.empty() && o.html.empty()) showResults(report.results);
    if (!o.json.empty()) writeJson(o.json, report::fileJson(report.results));
    if (!o.html.empty()) writeOutput(o.html, report::html("bulkhead isolate benchmark", report.results));
    for (const std::string& line : report.failures) fmt::print(stderr, "bulkhead: isolate benchmark: {}\n", line);
    return report.failures.empty() ? kDone : kCheckFailed;
}

}  // namespace

void setUpBenchmark(CommandLine isolate, const std::shared_ptr<Action>& chosen) {
    CommandLine sub = isolate.verb("benchmark", "compare ways of sharing a GPU: what tenants lose, get and survive");
    const auto o = std::make_shared<BenchmarkOptions>();
    evaluation::benchmark::BenchmarkSpec& spec = o->spec;
    addGpuOption(sub, spec.gpu);
    addMapOption(sub, spec.map);
    addSettings(sub, spec.settings);
    addThreadsOption(sub);
    sub.option("--partitions", spec.partitions, "number of tenants, each with an equal part")
        .showDefault()
        .check(between(2, 64));
    sub.option("--ways", spec.ways, "ways of sharing (--list shows them) [all]").typeName("NAME").delimiter(',');
    sub.option("--measure", spec.measures, "measurements to make (--list shows them) [all]")
        .typeName("NAME")
        .delimiter(',');
    sub.option("--victims", spec.victims, "tenants that are timed: workloads, or [latency,stream,compute]")
        .typeName("NAME")
        .delimiter(',');
    sub.option("--neighbours", spec.neighbours, "what runs beside them [compute,stream-l2,stream,gather]")
        .typeName("NAME")
        .delimiter(',');
    sub.option("--seconds", spec.seconds, "on a real GPU, time for a tenant alone and beside a neighbour")
        .typeName("SECONDS")
        .showDefault();
    addSeedOption(sub, spec.seed);
    sub.option("--store", o->batch.store,
               "keep what was measured in FOLDER; a repeated command resumes [the user's cache]")
        .typeName("FOLDER");
    sub.flag("--list", o->list, "list the ways of sharing and the measurements");
    addJsonOption(sub, o->json);
    addHtmlOption(sub, o->html);
    addWideOption(sub);
    sub.chosen([=] { *chosen = [=] { return runBenchmark(*o); }; });
}

}  // namespace bulkhead::cli
