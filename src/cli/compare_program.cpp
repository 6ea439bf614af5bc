#include "cli/compare_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/phrases.h"
#include "base/scratch_folder.h"
#include "base/shell_words.h"
#include "cli/common_options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "experiment/child_process.h"
#include "experiment/interruption.h"
#include "gpu/capabilities.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::cli {
namespace {

struct Kernel {
    std::string name;
    std::int64_t launches = 0, cycles = 0, instructions = 0;
    double l1HitRate = 0, l2HitRate = 0;
};

/// A run of the program: its kernels in the order of their names, and all of them.
struct ProgramRun {
    std::vector<Kernel> kernels;
    Kernel all;
};

/// Of a file of exec --stats, which may have several GPUs; the program's kernels on all of them.
ProgramRun readRun(const std::filesystem::path& file) {
    ProgramRun run;
    run.all.name = "all";
    if (!std::filesystem::exists(file)) return run;  // it has not used a GPU
    const nlohmann::json statistics = readJson(file);
    for (const nlohmann::json& device : statistics.at("devices"))
        for (const nlohmann::json& kernel : device.at("kernels")) {
            const auto count = [&](const char* what) { return kernel.at(what).get<std::int64_t>(); };
            run.kernels.push_back({kernel.at("signature").get<std::string>(), count("launches"), count("cycles"),
                                   count("thread_instructions"), kernel.at("l1_hit_rate").get<double>(),
                                   kernel.at("l2_hit_rate").get<double>()});
            run.all.launches += run.kernels.back().launches;
            run.all.cycles += run.kernels.back().cycles;
            run.all.instructions += run.kernels.back().instructions;
        }
    return run;
}

void expectPlan(const ProgramPlan& plan, const std::vector<std::string>& words) {
    if (words.empty()) throw Error("compare: --program: is missing");
    if (!gpu::capabilitiesOf(plan.gpu).settable)
        throw Error("compare: {}: warp schedulers can be chosen on simulated GPUs only", plan.gpu);
    if (plan.schedulers.empty()) throw Error("compare: --schedulers: is missing");
    for (const std::string& scheduler : plan.schedulers) sim::findScheduler(scheduler);
    expectProgram(words.front());
}

ProgramRun runUnder(const std::string& scheduler, const ProgramPlan& plan, const std::vector<std::string>& words) {
    const ScratchFolder folder("bulkhead-compare");
    const std::filesystem::path statistics = folder.path() / "statistics.json";
    std::vector<std::string> command = {"/proc/self/exe", "exec",    "--quiet",
                                        "--gpu",          plan.gpu,  "--scheduler",
                                        scheduler,        "--stats", statistics.string()};
    for (const std::string& setting : plan.settings) command.insert(command.end(), {"--set", setting});
    command.emplace_back("--");
    command.insert(command.end(), words.begin(), words.end());
    experiment::ChildProcess child(command, {}, experiment::ChildProcess::Says::nothing);
    child.closeInput();
    constexpr double kPauseS = 0.05;
    while (!child.ended()) {
        experiment::throwIfInterrupted();
        std::this_thread::sleep_for(std::chrono::duration<double>(kPauseS));
    }
    if (child.wait(0) != 0)
        throw Error("compare: {} failed: run bulkhead exec --gpu {} --scheduler {} -- {} to see why", words.front(),
                    plan.gpu, scheduler, plan.program);
    return readRun(statistics);
}

const Kernel* find(const ProgramRun& run, const std::string& name) {
    if (name == run.all.name) return &run.all;
    const auto found =
        std::find_if(run.kernels.begin(), run.kernels.end(), [&](const Kernel& k) { return k.name == name; });
    return found != run.kernels.end() ? &*found : nullptr;
}

/// Cycles of the baseline over its own: above 1 is faster.
Value gainOf(const Kernel* baseline, const Kernel* other) {
    if (!baseline || !other || other->cycles == 0) return {};
    return static_cast<double>(baseline->cycles) / static_cast<double>(other->cycles);
}

Result gains(const ProgramPlan& plan, const std::vector<ProgramRun>& runs) {
    Result r;
    r.title = fmt::format("Speed relative to {}", plan.schedulers.front());
    r.columns = {{"kernel", ""}, {"launches", ""}};
    for (const std::string& scheduler : plan.schedulers) r.columns.push_back({scheduler, "x"});
    std::vector<Kernel> kernels = runs.front().kernels;
    kernels.push_back(runs.front().all);
    for (const Kernel& kernel : kernels) {
        std::vector<Value> row = {kernel.name, kernel.launches};
        for (const ProgramRun& run : runs) row.push_back(gainOf(&kernel, find(run, kernel.name)));
        r.add(std::move(row));
    }
    std::size_t best = 0;
    for (std::size_t i = 1; i < runs.size(); ++i)
        if (runs[i].all.cycles < runs[best].all.cycles) best = i;
    r.question = fmt::format("Which scheduler runs {} fastest on {}?", plan.program, plan.gpu);
    r.answer = best == 0 ? fmt::format("{}: none of the others is faster.", plan.schedulers.front())
                         : fmt::format("{}: its kernels take {} times as long under {}.", plan.schedulers[best],
                                       brief(std::get<double>(r.rows.back()[2 + best])), plan.schedulers.front());
    r.reading = fmt::format("Cycles under {} over cycles under each: above 1 is faster.", plan.schedulers.front());
    r.charts = {{Chart::Kind::bar, r.title, "kernel", plan.schedulers, {}, {}, "speed", false, false}};
    return r;
}

Result details(const ProgramPlan& plan, const std::vector<ProgramRun>& runs) {
    Result r;
    r.title = "Kernels under each scheduler";
    r.columns = {{"kernel", ""}, {"scheduler", ""},    {"launches", ""},   {"cycles", ""},
                 {"IPC", ""},    {"L1D hit rate", ""}, {"L2 hit rate", ""}};
    for (std::size_t i = 0; i < runs.size(); ++i)
        for (const Kernel& k : runs[i].kernels)
            r.add({k.name, plan.schedulers[i], k.launches, k.cycles,
                   k.cycles ? Value(static_cast<double>(k.instructions) / static_cast<double>(k.cycles)) : Value(),
                   k.l1HitRate, k.l2HitRate});
    r.question = "What explains it?";
    r.reading = "IPC counts instructions of threads.";
    return r;
}

}  // namespace

std::vector<Result> compareProgram(const ProgramPlan& plan) {
    const std::vector<std::string> words = shellWords(plan.program, "--program");
    expectPlan(plan, words);
    experiment::catchInterrupts();
    TimeLeft timeLeft;
    std::vector<ProgramRun> runs;
    for (const std::string& scheduler : plan.schedulers) {
        const double done = static_cast<double>(runs.size()) / static_cast<double>(plan.schedulers.size());
        if (streamsProgress()) streamProgress(done, scheduler, timeLeft.seconds(done));
        runs.push_back(runUnder(scheduler, plan, words));
    }
    if (runs.front().kernels.empty()) throw Error("compare: {} ran no kernel on {}", words.front(), plan.gpu);
    return {gains(plan, runs), details(plan, runs)};
}

}  // namespace bulkhead::cli
