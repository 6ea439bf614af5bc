#include "cli/correlate_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "cli/common_options.h"
#include "cli/verbs.h"
#include "correlate/counter_files.h"
#include "correlate/twin_run.h"
#include "gpu/capabilities.h"
#include "metrics/ncu_csv.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::cli {
namespace {

using correlate::CounterFile;
using correlate::TwinSpec;
using metrics::LaunchRow;

std::vector<std::string_view> workloadNames() {
    std::vector<std::string_view> names;
    for (const workloads::Workload& workload : workloads::all()) names.push_back(workload.name);
    return names;
}

std::vector<std::string> chosenWorkloads(const SidesOptions& o, const std::vector<CounterFile>& files) {
    std::vector<std::string> chosen;
    const auto add = [&](std::string_view name) {
        if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.emplace_back(name);
    };
    for (const std::string& word : o.words) add(workloads::find(word).name);
    if (o.all)
        for (const std::string_view name : workloadNames()) add(name);
    // Files that bear the names of workloads say by themselves what is to be compared.
    if (chosen.empty())
        for (const CounterFile& file : files)
            if (file.owner) add(*file.owner);
    if (chosen.empty()) throw Error("correlate: name workloads, PTX files or a program, or give --all");
    return chosen;
}

/// What files say of a subject: those that bear its name, or else those that bear none.
void takeFromFiles(correlate::Subject& subject, const std::vector<CounterFile>& files, Sides& sides) {
    const auto runsOf = [&](const std::optional<std::string>& owner) {
        std::vector<std::vector<LaunchRow>> runs;
        for (const CounterFile& file : files)
            if (file.owner == owner) runs.insert(runs.end(), file.runs.begin(), file.runs.end());
        return runs;
    };
    std::vector<std::vector<LaunchRow>> runs = runsOf(subject.name);
    subject.shared = runs.empty();
    if (runs.empty()) runs = runsOf(std::nullopt);
    if (correlate::mostPasses(runs) > 1) sides.severalPasses.push_back(subject.name);
    subject.hardware = metrics::mergeRuns(runs);
}

std::vector<LaunchRow> rowsOf(const correlate::TwinMeasurement& m, const arch::DeviceProfile& profile) {
    std::vector<LaunchRow> rows;
    for (const metrics::SimulatedLaunch& launch : m.launches) rows.push_back(metrics::rowOf(launch, profile));
    return rows;
}

arch::DeviceProfile profileOf(const std::string& gpu, const std::vector<std::string>& settings) {
    arch::DeviceProfile profile = arch::findProfile(gpu);
    arch::applySettings(profile, settings);
    return profile;
}

}  // namespace

void addSidesOptions(CommandLine line, SidesOptions& o) {
    line.option("WORKLOAD|FILE|PROGRAM", o.words, "workloads, PTX files, or after -- a CUDA program and its arguments");
    line.flag("--all", o.all, "every workload");
    line.option("--gpu", o.gpu, "GPU that is right: cuda:N; or sim:NAME, to compare two simulated ones")
        .typeName("GPU")
        .showDefault();
    line.option("--twin", o.twin, "simulated GPU that is held against it: sim:NAME or sim:FILE.json")
        .typeName("GPU")
        .showDefault();
    line.option("--ncu", o.ncu, "take the GPU's counters from files of ncu --csv --page raw, or from a folder of them")
        .typeName("FILE")
        .delimiter(',');
    addSizeOption(line, o.size);
    addSeedOption(line, o.seed);
    line.option("--scheduler", o.scheduler, "warp scheduler of the twin").typeName("NAME").showDefault();
    addSettings(line, o.settings);
    addThreadsOption(line);
}

Sides measureSides(const SidesOptions& o, const CommandLine& line) {
    if (!gpu::capabilitiesOf(o.twin).settable) throw Error("--twin {}: is not a simulated GPU (sim:NAME)", o.twin);
    if (!o.ncu.empty() && line.given("--gpu")) throw Error("--gpu: has no effect beside --ncu");
    if (o.all && !o.words.empty()) throw Error("--all: are all workloads; name none beside it");
    Sides sides;
    sides.profile = profileOf(o.twin, o.settings);
    sim::findScheduler(o.scheduler);
    const workloads::Size size = workloads::parseSize(o.size);
    const std::vector<std::string_view> known = workloadNames();
    const std::vector<CounterFile> files = correlate::readCounterFiles(o.ncu, known);
    const std::vector<std::string> chosen = chosenWorkloads(o, files);
    const bool simulated = o.ncu.empty() && gpu::capabilitiesOf(o.gpu).launchCounters;
    if (o.ncu.empty() && !simulated) throw Error("correlate: --gpu {}: give its counters with --ncu FILE", o.gpu);

    std::vector<TwinSpec> specs;
    for (const std::string& name : chosen) specs.push_back({name, size, o.seed, o.twin, o.settings, o.scheduler});
    if (simulated)
        for (const std::string& name : chosen) specs.push_back({name, size, o.seed, o.gpu, {}, o.scheduler});
    correlate::TwinBatch batch(correlate::TwinStore(storeFolder(o.batch), compare::simulatorSources(), warnOnce),
                               executorOf(o.batch));
    const auto outcomes = batch.run(specs);
    sides.hardware = simulated ? o.gpu : fmt::format("{}", fmt::join(o.ncu, ","));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const workloads::Workload& workload = workloads::find(chosen[i]);
        correlate::Subject subject{std::string(workload.suite), std::string(workload.name), {}, {}, false};
        if (outcomes[i].ok()) {
            subject.twin = rowsOf(outcomes[i].measurement, sides.profile);
        } else {
            sides.failures.push_back(fmt::format("{} on {}: {}", chosen[i], o.twin, outcomes[i].failure));
        }
        if (!simulated) {
            takeFromFiles(subject, files, sides);
        } else if (const auto& outcome = outcomes[chosen.size() + i]; outcome.ok()) {
            subject.hardware = rowsOf(outcome.measurement, profileOf(o.gpu, {}));
        } else {
            sides.failures.push_back(fmt::format("{} on {}: {}", chosen[i], o.gpu, outcome.failure));
        }
        sides.subjects.push_back(std::move(subject));
    }
    return sides;
}

}  // namespace bulkhead::cli
