#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/phrases.h"
#include "base/result.h"
#include "cli/batch_options.h"
#include "cli/common_options.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "report/report.h"
#include "workloads/measure.h"

namespace bulkhead::cli {
namespace {

struct WorkloadsOptions {
    std::vector<std::string> names;
    bool measure = false;
    std::string size = "test", gpu = "sim:gtx480", json;
    std::uint64_t seed = 1;
};

Value orNothing(bool known, Value value) {
    return known ? std::move(value) : Value();
}

Value classOf(const workloads::Workload& workload) {
    return orNothing(!workload.workloadClass().empty(), std::string(workload.workloadClass()));
}

/// What the papers say of each.
Result listed(const std::vector<const workloads::Workload*>& chosen) {
    Result r;
    r.columns = {{"name", ""},           {"suite", ""},    {"class", ""}, {"input", "KB"},    {"paper's APKI", ""},
                 {"shared memory", "%"}, {"barriers", ""}, {"FGPU", ""},  {"description", ""}};
    for (const workloads::Workload* w : chosen) {
        const bool known = w->ciao.has_value();
        const workloads::CiaoFigures figures = w->ciao.value_or(workloads::CiaoFigures{});
        const std::size_t inputBytes = w->inference ? w->inference->inputBytes : figures.inputBytes;
        r.add({std::string(w->name), std::string(w->suite), classOf(*w),
               orNothing(known || w->inference, static_cast<double>(inputBytes) / 1024), orNothing(known, figures.apki),
               orNothing(known, 100 * figures.sharedMemoryShare),
               orNothing(known, std::string(figures.barriers ? "yes" : "no")), std::string(w->fgpu ? "yes" : ""),
               std::string(w->description)});
    }
    return r;
}

/// Each run once and checked. A workload that fails is told with the others, and makes the verb fail.
Result measured(const std::vector<const workloads::Workload*>& chosen, const WorkloadsOptions& options,
                bool& allRight) {
    Result r;
    r.title = fmt::format("workloads, size {}, on {}", options.size, options.gpu);
    r.columns = {{"name", ""}, {"class", ""}, {"footprint", "KB"},  {"time", "us"},         {"warp instructions", ""},
                 {"IPC", ""},  {"APKI", ""},  {"paper's APKI", ""}, {"shared memory", "%"}, {"paper's", "%"},
                 {"check", ""}};
    const workloads::Size size = workloads::parseSize(options.size);
    const TimeLeft clock;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const workloads::Workload* const w = chosen[i];
        if (i > 0) {
            const auto done = static_cast<double>(i), left = static_cast<double>(chosen.size() - i);
            showProgress({i, chosen.size(), clock.elapsed() / done * left, std::string(chosen[i - 1]->name)});
        }
        const bool known = w->ciao.has_value();
        const workloads::CiaoFigures figures = w->ciao.value_or(workloads::CiaoFigures{});
        workloads::Measurement m;
        std::size_t footprint = 0;
        std::string verdict = "passed";
        // A GPU of its own for each: what one did cannot touch the next.
        gpu::Gpu gpu = gpu::Gpu::open(options.gpu);
        const bool counted = gpu.capabilities().launchCounters;
        try {
            gpu::Stream stream = gpu.context().createStream();
            const auto instance = w->create(gpu.context(), size, options.seed);
            footprint = instance->footprint();
            m = workloads::measure(gpu, stream, *instance);
            instance->check();
        } catch (const Error& error) {
            verdict = error.what();
            allRight = false;
        }
        r.add({std::string(w->name), classOf(*w), static_cast<double>(footprint) / 1024, m.seconds * 1e6,
               orNothing(counted, static_cast<std::int64_t>(m.counters.warpInstructions)), orNothing(counted, m.ipc()),
               orNothing(counted, m.apki()), orNothing(known, figures.apki),
               orNothing(counted, 100 * m.sharedMemoryShare()), orNothing(known, 100 * figures.sharedMemoryShare),
               verdict});
    }
    showProgress({chosen.size(), chosen.size(), 0, ""});
    const auto right = static_cast<std::size_t>(std::count_if(
        r.rows.begin(), r.rows.end(), [](const auto& row) { return row.back() == Value(std::string("passed")); }));
    r.question = fmt::format("Are workloads right on {}?", options.gpu);
    r.answer = right == r.rows.size()
                   ? fmt::format("Yes: the results of {} equal the CPU's.", counted(right, "workload"))
                   : fmt::format("No: {} of {} failed.", r.rows.size() - right, counted(r.rows.size(), "workload"));
    r.reading = "APKI: accesses to the L1D per thousand thread instructions.";
    return r;
}

int runWorkloads(const WorkloadsOptions& options) {
    std::vector<const workloads::Workload*> chosen;
    for (const std::string& name : options.names) chosen.push_back(&workloads::find(name));
    if (chosen.empty())
        for (const workloads::Workload& w : workloads::all()) chosen.push_back(&w);
    expectOutputs({options.json});

    bool allRight = true;
    Result result = options.measure ? measured(chosen, options, allRight) : listed(chosen);
    if (options.measure) {
        result.provenance.gpu = options.gpu;
        result.provenance.seed = static_cast<std::int64_t>(options.seed);
    }
    result.provenance.command = commandLine();
    result.provenance.version = version();
    result.provenance.date = currentDate();
    if (options.json.empty()) {
        showResults(result);
    } else {
        writeJson(options.json, report::fileJson(result));
    }
    return allRight ? kDone : kCheckFailed;
}

}  // namespace

Action setUpWorkloads(CommandLine line) {
    const auto o = std::make_shared<WorkloadsOptions>();
    line.option("NAME", o->names, "workloads to show [all]");
    line.flag("--measure", o->measure, "run each workload and check its result against the CPU");
    addSizeOption(line, o->size).description("with --measure: size of the input: test, default or paper");
    addGpuOption(line, o->gpu).description("with --measure: GPU to use: sim:NAME, sim:FILE.json or cuda:N");
    line.option("--seed", o->seed, "with --measure: seed of the input").showDefault();
    addJsonOption(line, o->json);
    addWideOption(line);
    return [o, line] {
        if (!o->measure) refuseGiven(line, {"--size", "--gpu", "--seed"}, "workloads without --measure");
        return runWorkloads(*o);
    };
}

}  // namespace bulkhead::cli
