#include "cli/correlate_sides.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/scratch_folder.h"
#include "cli/common_options.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "correlate/counter_files.h"
#include "correlate/profiler.h"
#include "correlate/twin_run.h"
#include "gpu/capabilities.h"
#include "gpu/real_driver.h"
#include "metrics/ncu_csv.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::cli {
namespace {

namespace fs = std::filesystem;
using correlate::CounterFile;
using correlate::Subject;
using correlate::TwinSpec;
using metrics::LaunchRow;
using Words = std::vector<std::string>;

constexpr const char* kOfKernels = "Options for PTX files";
constexpr double kNoLimit = 1e9;  // seconds

/// Something that runs on both sides.
struct Target {
    enum class Kind : std::uint8_t { workload, ptx, program } kind;
    std::string suite, name;
    Words words;  ///< of a program; the file of PTX

    bool isWorkload() const { return kind == Kind::workload; }
    /// What its files are called by.
    std::string fileName() const { return isWorkload() ? name : fs::path(words.front()).stem().string(); }
};

std::vector<std::string_view> workloadNames() {
    std::vector<std::string_view> names;
    for (const workloads::Workload& workload : workloads::all()) names.push_back(workload.name);
    return names;
}

Target workloadTarget(std::string_view name) {
    const workloads::Workload& workload = workloads::find(name);
    return {Target::Kind::workload, std::string(workload.suite), std::string(workload.name), {}};
}

bool isWorkload(const std::string& word) {
    try {
        workloads::find(word);
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// The first word tells: neither a workload nor PTX, it is a program, and all others are its own.
bool isProgram(const std::string& first) {
    if (isWorkload(first) || first.ends_with(".ptx")) return false;
    if (first.find('/') != std::string::npos) {
        expectProgram(first);
        return true;
    }
    try {
        expectProgram(first);
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::vector<Target> targetsOf(const SidesOptions& o, const std::vector<CounterFile>& files) {
    if (!o.words.empty() && isProgram(o.words.front())) {
        if (o.all) throw Error("--all: are all workloads; name none beside it");
        return {{Target::Kind::program, "programs", fs::path(o.words.front()).filename().string(), o.words}};
    }
    std::vector<Target> targets;
    const auto add = [&](Target target) {
        const auto same = [&](const Target& other) { return other.name == target.name; };
        if (std::none_of(targets.begin(), targets.end(), same)) targets.push_back(std::move(target));
    };
    for (const std::string& word : o.words)
        add(word.ends_with(".ptx") ? Target{Target::Kind::ptx, "PTX files", word, {word}} : workloadTarget(word));
    if (o.all && !targets.empty()) throw Error("--all: are all workloads; name none beside it");
    if (o.all)
        for (const std::string_view name : workloadNames()) add(workloadTarget(name));
    // Files that bear the names of workloads say by themselves what is to be compared.
    if (targets.empty())
        for (const CounterFile& file : files)
            if (file.owner) add(workloadTarget(*file.owner));
    if (targets.empty()) throw Error("correlate: name workloads, PTX files or a program, or give --all");
    return targets;
}

arch::DeviceProfile profileOf(const std::string& gpu, const Words& settings) {
    arch::DeviceProfile profile = arch::findProfile(gpu);
    arch::applySettings(profile, settings);
    return profile;
}

std::string thisFile() {
    return fs::read_symlink("/proc/self/exe").string();
}

/// Files of counters that are made here: in the folder that is to keep them, or in one that goes with this object.
class CounterFolder {
  public:
    explicit CounterFolder(const std::string& keep) : kept_(keep) {
        if (keep.empty()) {
            scratch_.emplace("correlate");
        } else {
            makeFolder(keep);
        }
    }
    const fs::path& path() const { return scratch_ ? scratch_->path() : kept_; }

  private:
    fs::path kept_;
    std::optional<ScratchFolder> scratch_;
};

/// The words that run a target on a GPU by this program; a program on a real one is run as it is.
Words commandOf(const Target& target, const SidesOptions& o, const std::string& gpu, const Words& settings) {
    const bool simulated = gpu::capabilitiesOf(gpu).settable;
    if (target.kind == Target::Kind::program && !simulated) return target.words;
    Words words = {thisFile(), target.kind == Target::Kind::program ? "exec" : "run"};
    const auto add = [&](const std::string& option, const std::string& value) {
        words.push_back(option);
        words.push_back(value);
    };
    add("--gpu", gpu);
    if (simulated) {
        add("--scheduler", o.scheduler);
        for (const std::string& setting : settings) add("--set", setting);
    }
    if (target.isWorkload()) {
        add("--size", o.size);
        add("--seed", std::to_string(o.seed));
        words.push_back(target.name);
    } else if (target.kind == Target::Kind::ptx) {
        if (!o.kernel.empty()) add("--kernel", o.kernel);
        add("--grid", o.grid);
        add("--block", o.block);
        if (o.shared) add("--shared", std::to_string(o.shared));
        for (const std::string& argument : o.arguments) add("--arg", argument);
        add("--", target.words.front());
    } else {
        words.insert(words.end(), {"--quiet", "--"});
        words.insert(words.end(), target.words.begin(), target.words.end());
    }
    return words;
}

/// Runs a command of this program, which leaves its counters in a file.
std::vector<LaunchRow> countersOf(Words command, const fs::path& file) {
    command.insert(command.begin() + 2, {"--metrics", "ncu:" + file.string()});
    std::error_code ignored;
    fs::remove(file, ignored);
    experiment::ChildProcess child(command, {}, experiment::ChildProcess::Says::nothing);
    const int status = child.wait(kNoLimit);
    command[0] = "bulkhead";
    if (status != 0 || !fs::exists(file, ignored))
        throw Error("ended with {}, and no counters: see {}", status, fmt::format("{}", fmt::join(command, " ")));
    return metrics::mergeRuns(metrics::readNcuCsv(readFile(file), file.string()));
}

/// Does what is asked for, one side after the other.
class Measuring {
  public:
    Measuring(const SidesOptions& o, Sides& sides) : o_(o), sides_(sides), folder_(o.keep) {
        files_ = correlate::readCounterFiles(o.ncu, workloadNames());
        targets_ = targetsOf(o, files_);
        for (const Target& target : targets_) sides.subjects.push_back({target.suite, target.name, {}, {}, false});
        simulated_ = o.ncu.empty() && gpu::capabilitiesOf(o.gpu).settable;
        if (!o.ncu.empty() || simulated_) return;
        gpu::realDriver();  // throws where there is none, before anything runs
        profiler_ = correlate::findProfiler();
        if (!profiler_) expectTiming();
    }

    /// Hardware first: it takes seconds, and tells at once if there is none.
    void run() {
        if (!o_.ncu.empty()) {
            for (Subject& subject : sides_.subjects) takeFromFiles(subject);
            sides_.hardware = fmt::format("{}", fmt::join(o_.ncu, ","));
        } else {
            sides_.hardware = o_.gpu;
            if (!simulated_) eachTarget([&](std::size_t i) { sides_.subjects[i].hardware = onHardware(targets_[i]); });
        }
        simulate();
    }

    /// Refuses PTX files that could not run, and options that are for such files alone.
    void expectPtx(const CommandLine& line) const {
        RunOptions run;
        run.kernel = o_.kernel;
        for (const Target& target : targets_) {
            if (target.kind != Target::Kind::ptx) continue;
            run.what = target.words.front();
            chosenKernel(readFile(run.what), run);
        }
        if (run.what.empty())
            for (const std::string& option : line.givenOf(kOfKernels))
                throw Error("correlate: {} is for PTX files, and there is none", option);
        parseExtent(o_.grid, "--grid");
        parseExtent(o_.block, "--block");
        for (const std::string& argument : o_.arguments)
            parseKernelArgument(argument, static_cast<Bytes>(sides_.profile.dram.bytes));
    }

  private:
    void expectTiming() const {
        for (const Target& target : targets_)
            if (target.kind == Target::Kind::program)
                throw Error(
                    "correlate: nothing tells what kernels of {} take on {}: put ncu on the PATH, or give --ncu",
                    target.name, o_.gpu);
        warnOnce("no ncu on the PATH: hardware is timed, and not counted");
    }

    template <class Do>
    void eachTarget(Do&& measure) {
        for (std::size_t i = 0; i < targets_.size(); ++i) try {
                measure(i);
            } catch (const Error& error) {
                sides_.failures.push_back(fmt::format("{}: {}", targets_[i].name, error.what()));
            }
    }

    /// What files say of a subject: those that bear its name, or else those that bear none.
    void takeFromFiles(Subject& subject) {
        const auto runsOf = [&](const std::optional<std::string>& owner) {
            std::vector<std::vector<LaunchRow>> runs;
            for (const CounterFile& file : files_)
                if (file.owner == owner) runs.insert(runs.end(), file.runs.begin(), file.runs.end());
            return runs;
        };
        std::vector<std::vector<LaunchRow>> runs = runsOf(subject.name);
        subject.shared = runs.empty();
        if (runs.empty()) runs = runsOf(std::nullopt);
        subject.hardware = merged(subject.name, runs);
    }

    std::vector<LaunchRow> merged(const std::string& name, const std::vector<std::vector<LaunchRow>>& runs) {
        if (correlate::mostPasses(runs) > 1) sides_.severalPasses.push_back(name);
        return metrics::mergeRuns(runs);
    }

    std::vector<LaunchRow> onHardware(const Target& target) {
        const Words command = commandOf(target, o_, o_.gpu, {});
        if (!profiler_) return countersOf(command, folder_.path() / (target.fileName() + ".timed.csv"));
        return merged(target.name,
                      correlate::profile(*profiler_, {command, {}, folder_.path(), target.fileName(), kNoLimit}));
    }

    /// The twin, and what stands for hardware where that is simulated too.
    void simulate() {
        simulateWorkloads(o_.twin, o_.settings, &Subject::twin);
        if (simulated_) simulateWorkloads(o_.gpu, {}, &Subject::hardware);
        eachTarget([&](std::size_t i) {
            if (targets_[i].isWorkload()) return;
            const fs::path file = folder_.path() / (targets_[i].fileName() + ".twin.csv");
            sides_.subjects[i].twin = countersOf(commandOf(targets_[i], o_, o_.twin, o_.settings), file);
            if (simulated_) sides_.subjects[i].hardware = countersOf(commandOf(targets_[i], o_, o_.gpu, {}), file);
        });
    }

    void simulateWorkloads(const std::string& gpu, const Words& settings, std::vector<LaunchRow> Subject::*side) {
        std::vector<TwinSpec> specs;
        std::vector<std::size_t> of;
        for (std::size_t i = 0; i < targets_.size(); ++i) {
            if (!targets_[i].isWorkload()) continue;
            specs.push_back({targets_[i].name, workloads::parseSize(o_.size), o_.seed, gpu, settings, o_.scheduler});
            of.push_back(i);
        }
        if (specs.empty()) return;
        correlate::TwinBatch batch(correlate::TwinStore(storeFolder(o_.batch), compare::simulatorSources(), warnOnce),
                                   executorOf(o_.batch));
        const auto outcomes = batch.run(specs);
        const arch::DeviceProfile profile = profileOf(gpu, settings);
        for (std::size_t n = 0; n < outcomes.size(); ++n) {
            if (!outcomes[n].ok())
                sides_.failures.push_back(fmt::format("{} on {}: {}", specs[n].workload, gpu, outcomes[n].failure));
            for (const metrics::SimulatedLaunch& launch : outcomes[n].measurement.launches)
                (sides_.subjects[of[n]].*side).push_back(metrics::rowOf(launch, profile));
        }
    }

    const SidesOptions& o_;
    Sides& sides_;
    CounterFolder folder_;
    std::vector<CounterFile> files_;
    std::vector<Target> targets_;
    bool simulated_ = false;
    std::optional<fs::path> profiler_;
};

}  // namespace

void addSidesOptions(CommandLine line, SidesOptions& o) {
    line.option("WORKLOAD|FILE|PROGRAM", o.words,
                "workloads and PTX files, or after -- a CUDA program and its arguments");
    line.flag("--all", o.all, "every workload");
    line.option("--gpu", o.gpu, "GPU that is right: cuda:N; or sim:NAME, to hold two simulated ones against each other")
        .typeName("GPU")
        .showDefault();
    line.option("--twin", o.twin, "simulated GPU that is held against it: sim:NAME or sim:FILE.json")
        .typeName("GPU")
        .showDefault();
    line.option("--ncu", o.ncu, "take the GPU's counters from files of ncu --csv --page raw, or folders of such files")
        .typeName("FILE")
        .delimiter(',')
        .oneValue();
    line.option("--keep", o.keep, "keep the files of counters that are made in FOLDER, for --ncu").typeName("FOLDER");
    addSizeOption(line, o.size);
    addSeedOption(line, o.seed);
    line.option("--scheduler", o.scheduler, "warp scheduler of the twin").typeName("NAME").showDefault();
    addSettings(line, o.settings);
    addThreadsOption(line);
    line.option("--kernel", o.kernel, "kernel to run, if a file has several").typeName("NAME").group(kOfKernels);
    line.option("--grid", o.grid, "blocks of the grid: X, XxY or XxYxZ")
        .typeName("SHAPE")
        .showDefault()
        .group(kOfKernels);
    line.option("--block", o.block, "threads per block: X, XxY or XxYxZ")
        .typeName("SHAPE")
        .showDefault()
        .group(kOfKernels);
    line.option("--arg", o.arguments, "next argument, as bulkhead run has it")
        .typeName("VALUE")
        .oneValue()
        .group(kOfKernels);
    line.option("--shared", o.shared, "size of dynamic shared memory").typeName("BYTES").group(kOfKernels);
}

Sides measureSides(const SidesOptions& o, const CommandLine& line) {
    if (!gpu::capabilitiesOf(o.twin).settable) throw Error("--twin {}: is not a simulated GPU (sim:NAME)", o.twin);
    gpu::capabilitiesOf(o.gpu);  // refuses what no GPU is called
    if (!o.ncu.empty()) refuseGiven(line, {"--gpu", "--keep"}, "correlate --ncu");
    expectFolder(o.keep);
    workloads::parseSize(o.size);
    sim::findScheduler(o.scheduler);
    Sides sides;
    sides.profile = profileOf(o.twin, o.settings);
    Measuring measuring(o, sides);
    measuring.expectPtx(line);
    measuring.run();
    return sides;
}

}  // namespace bulkhead::cli
