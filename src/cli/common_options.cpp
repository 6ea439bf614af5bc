#include "cli/common_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "arch/device_profile.h"
#include "base/error.h"
#include "cli/verbs.h"
#include "gpu/capabilities.h"
#include "sim/host_threads.h"
#include "sim/sampler.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::cli {
namespace {

void addOutput(CommandLine line, const char* option, std::string& file, const std::string& what) {
    line.option(option, file, "write " + what + " to FILE (- for standard output)").typeName("FILE");
}

}  // namespace

Option addGpuOption(CommandLine line, std::string& gpu) {
    return line.option("--gpu", gpu, "GPU to use: sim:NAME, sim:FILE.json or cuda:N").typeName("GPU").showDefault();
}

Option addSimulatedGpuOption(CommandLine line, std::string& gpu) {
    return line.option("--gpu", gpu, "GPU to simulate: sim:NAME or sim:FILE.json").typeName("GPU").showDefault();
}

void addGpgpusimOption(CommandLine line, bool& wanted) {
    line.flag("--gpgpusim", wanted,
              "simulate the variant of the GPU that has the figures of GPGPU-Sim's configuration");
}

std::string gpgpusimVariant(const std::string& gpu, bool wanted) {
    if (!wanted) return gpu;
    const std::string name = gpu.substr(gpu.find(':') + 1), variant = name + "_gpgpusim";  // all of it, if it has none
    const std::vector<std::string> all = arch::profileNames();
    if (name.ends_with("_gpgpusim") && std::find(all.begin(), all.end(), name) != all.end()) return gpu;
    if (std::find(all.begin(), all.end(), variant) == all.end())
        throw Error("--gpgpusim: {} has no such variant; bulkhead gpus --import makes a profile of a configuration",
                    gpu);
    return gpu.substr(0, gpu.size() - name.size()) + variant;
}

void addThreadsOption(CommandLine line) {
    const auto use = [](std::uint32_t threads) { sim::useHostThreads(threads); };
    line.option("--threads", use, "threads that simulate a GPU; any number gives the same results [one per core]")
        .check(positive());
}

sim::Timing TimingOptions::timing() const {
    return sample ? sim::Timing::sampled : functional ? sim::Timing::functional : sim::Timing::whole;
}

void TimingOptions::check(const std::string& gpu, const std::string& scheduler, const std::string& timeline,
                          const std::string& observe, const std::string& metrics) const {
    if (!sample && !functional) return;
    if (sample && functional) throw Error("--sample and --functional: give one, not both");
    const char* const option = sample ? "--sample" : "--functional";
    if (!gpu::capabilitiesOf(gpu).settable)
        throw Error("{}: is for simulated GPUs (--gpu sim:NAME); {} takes no time of the host", option, gpu);
    if (!timeline.empty()) throw Error("{}: leaves out most of a timeline; give one of them, not both", option);
    if (!observe.empty()) throw Error("{}: leaves out most of what --observe sees; give one, not both", option);
    if (sample) return sim::expectSampling(scheduler);
    if (!metrics.empty()) throw Error("--functional: leaves out what --metrics counts; give one, not both");
    if (scheduler != "gto")
        throw Error("--functional: leaves out warp schedulers; --scheduler {} has no effect", scheduler);
}

void addTimingOptions(CommandLine line, TimingOptions& options) {
    line.flag("--sample", options.sample,
              "time some launches and blocks only, and estimate the others: cycles with an interval of 95 %, sooner");
    line.flag("--functional", options.functional,
              "time nothing: what kernels compute, print and do wrong, as soon as possible");
}

void addSettings(CommandLine line, std::vector<std::string>& settings) {
    line.option("--set", settings, "override a parameter of the simulated GPU (bulkhead gpus NAME lists them)")
        .typeName("KEY=VALUE")
        .oneValue();
}

Option addSizeOption(CommandLine line, std::string& size) {
    return line.option("--size", size, "size of the workloads' input: test, default or paper")
        .typeName("SIZE")
        .showDefault();
}

void addSeedOption(CommandLine line, std::uint64_t& seed) {
    line.option("--seed", seed, "seed of the workloads' input").showDefault();
}

void addMapOption(CommandLine line, std::string& map) {
    line.option("--map", map, "read the GPU's address map from FILE, which bulkhead dissect wrote").typeName("FILE");
}

void addWatchOptions(CommandLine line, std::string& timeline, std::string& observe) {
    line.option("--timeline", timeline, "write a trace for Perfetto or chrome://tracing to FILE").typeName("FILE");
    line.option("--observe", observe,
                "write why it went so to FILE, a page (.html) or JSON: hit rates, stalls and decisions over time, "
                "interference, reuse, latencies, cost by line")
        .typeName("FILE");
}

void noteIneffective(const std::string& gpu, const std::vector<std::string>& settings, const std::string& scheduler) {
    if (!gpu::capabilitiesOf(gpu).settable) return;
    arch::DeviceProfile profile = arch::findProfile(gpu);
    arch::applySettings(profile, settings);
    if (const std::string why = sim::whyIneffective(profile, scheduler); !why.empty())
        fmt::print(stderr, "bulkhead: note: {}\n", why);
}

void addMetricsOption(CommandLine line, std::string& metrics) {
    line.option("--metrics", metrics,
                "print counters under Nsight Compute's names, as ncu --csv --page raw does: ncu, or ncu:FILE")
        .typeName("NAME");
}

void addJsonOption(CommandLine line, std::string& file, const std::string& what) {
    addOutput(line, "--json", file, what);
}

void addCsvOption(CommandLine line, std::string& file, const std::string& what) {
    addOutput(line, "--csv", file, what);
}

void addHtmlOption(CommandLine line, std::string& file, const std::string& what) {
    addOutput(line, "--html", file, what);
}

}  // namespace bulkhead::cli
