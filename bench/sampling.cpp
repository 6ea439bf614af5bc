// What --sample estimates, beside what the whole simulation says: cycles of each workload, the estimate and its
// interval, whether the truth lies in it, and the host's processor time of both and of --functional, which times
// nothing. Arguments: [--gpu sim:NAME] [--size SIZE] [--repeat N] [--estimate-only] [WORKLOAD...]. With --repeat, each
// workload runs so often on the same GPU.

#include <fmt/format.h>
#include <time.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/gpu.h"
#include "gpu/sampled.h"
#include "workloads/workload.h"

namespace {

using namespace bulkhead;

struct Options {
    std::string gpu = "sim:gtx480", size = "large";
    bool estimateOnly = false;
    unsigned long repeat = 1;
    std::vector<std::string> workloads;
};

Options parse(int count, char** arguments) {
    Options o;
    for (int i = 1; i < count; ++i) {
        const std::string word = arguments[i];
        const auto value = [&] {
            if (++i == count) throw Error("{} needs a value", word);
            return std::string(arguments[i]);
        };
        if (word == "--gpu")
            o.gpu = value();
        else if (word == "--size")
            o.size = value();
        else if (word == "--repeat")
            o.repeat = std::stoul(value());
        else if (word == "--estimate-only")
            o.estimateOnly = true;
        else if (word.starts_with("--"))
            throw Error("no option {}: there are --gpu, --size, --repeat and --estimate-only", word);
        else
            o.workloads.push_back(word);
    }
    if (o.workloads.empty())
        for (const workloads::Workload& workload : workloads::all()) o.workloads.emplace_back(workload.name);
    return o;
}

/// Of all threads of this process: unlike time, it does not depend on who else uses the host.
double processorSeconds() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Run {
    Cycles cycles = 0;
    gpu::Sampled sampled;
    std::uint64_t instructions = 0;  ///< of warps
    double seconds = 0;
};

Run run(const Options& o, const std::string& name, sim::Timing timing) {
    gpu::SimulationOptions options;
    options.timing = timing;
    gpu::Gpu gpu = gpu::Gpu::open(o.gpu, options);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = workloads::find(name).create(gpu.context(), workloads::parseSize(o.size), 1);
    Run run;
    gpu::LaunchLog log(gpu, gpu.context());
    const double begin = processorSeconds();
    for (unsigned long i = 0; i < o.repeat; ++i) instance->run(stream);
    stream.synchronize();
    run.seconds = processorSeconds() - begin;
    for (const gpu::Launch& launch : log.launches()) {
        run.cycles += launch.cycles();
        run.sampled += launch;
        run.instructions += launch.counters.warpInstructions;
    }
    instance->check();
    return run;
}

/// Of cycles, in percent.
double percent(double part, Cycles whole) {
    return whole ? 100 * part / static_cast<double>(whole) : 0;
}

}  // namespace

int main(int count, char** arguments) try {
    const Options o = parse(count, arguments);
    fmt::print("{:10}{:>10}{:>12}{:>12}{:>8}{:>8}{:>8}{:>9}{:>11}{:>9}{:>9}{:>7}{:>13}{:>7}{:>16}\n", o.gpu, "launches",
               "cycles", "estimate", "+- %", "error %", "inside", "timed", "of blocks", "full s", "sample s", "ratio",
               "functional s", "ratio", "ns/instruction");
    unsigned inside = 0, all = 0;
    double logs = 0, functionalLogs = 0;
    for (const std::string& name : o.workloads) {
        const Run sample = run(o, name, sim::Timing::sampled), functional = run(o, name, sim::Timing::functional),
                  full = o.estimateOnly ? sample : run(o, name, sim::Timing::whole);
        const gpu::Sampled& s = sample.sampled;
        const double error = static_cast<double>(sample.cycles) - static_cast<double>(full.cycles);
        const bool in = std::abs(error) <= s.halfWidth;
        ++all;
        inside += in;
        logs += std::log(full.seconds / sample.seconds);
        functionalLogs += std::log(full.seconds / functional.seconds);
        fmt::print("{:10}{:10}{:12}{:12}{:8.2f}{:8.2f}{:>8}{:9}{:10.1f}%{:9.1f}{:9.1f}{:7.1f}{:13.1f}{:7.1f}{:16.1f}\n",
                   name, s.launches, full.cycles, sample.cycles, percent(s.halfWidth, sample.cycles),
                   percent(error, full.cycles), in ? "yes" : "NO", s.timedLaunches,
                   100 * static_cast<double>(s.timedBlocks) / static_cast<double>(s.blocks), full.seconds,
                   sample.seconds, full.seconds / sample.seconds, functional.seconds, full.seconds / functional.seconds,
                   functional.seconds * 1e9 / static_cast<double>(functional.instructions));
        std::fflush(stdout);
    }
    const auto mean = [&](double sum) { return std::exp(sum / static_cast<double>(all)); };
    fmt::print("inside: {} of {}; geometric means of the ratios: {:.2f}, {:.2f}\n", inside, all, mean(logs),
               mean(functionalLogs));
    return 0;
} catch (const std::exception& e) {
    fmt::print(stderr, "bulkhead_sampling: {}\n", e.what());
    return 2;
}
