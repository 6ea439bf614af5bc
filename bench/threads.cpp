// How fast workloads are simulated, by the number of host threads: warp instructions a second, what they gain over one
// thread, and whether cycles are the same. Arguments: [--gpu sim:NAME] [--threads 1,2,...] [--size SIZE]
// [--limit WARP-INSTRUCTIONS] [--functional] [WORKLOAD...].

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "gpu/gpu.h"
#include "sim/host_threads.h"
#include "workloads/measure.h"
#include "workloads/workload.h"

namespace {

using namespace bulkhead;

struct Options {
    std::string gpu = "sim:h200", size = "large";
    std::vector<unsigned> threads;
    std::uint64_t limit = 12'000'000;
    bool functional = false;
    std::vector<std::string> workloads;
};

std::vector<unsigned> numbers(const std::string& text) {
    std::vector<unsigned> all;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        all.push_back(static_cast<unsigned>(std::stoul(text.substr(at, comma - at))));
        at = comma + 1;
    }
    return all;
}

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
        else if (word == "--threads")
            o.threads = numbers(value());
        else if (word == "--limit")
            o.limit = std::stoull(value());
        else if (word == "--functional")
            o.functional = true;
        else if (word.starts_with("--"))
            throw Error("no option {}: there are --gpu, --size, --threads, --limit and --functional", word);
        else
            o.workloads.push_back(word);
    }
    if (o.workloads.empty()) o.workloads = {"VA", "SP", "FWT", "MM", "2DCONV", "SYRK"};
    if (o.threads.empty())
        for (unsigned n = 1; n <= std::max(1u, std::thread::hardware_concurrency()); n *= 2) o.threads.push_back(n);
    return o;
}

struct Run {
    double seconds;
    Cycles cycles;
    std::uint64_t warpInstructions;
};

Run run(const Options& o, const std::string& name, unsigned threads) {
    sim::useHostThreads(threads);
    gpu::SimulationOptions options;
    if (o.functional) options.timing = sim::Timing::functional;
    gpu::Gpu gpu = gpu::Gpu::open(o.gpu, options);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = workloads::find(name).create(gpu.context(), workloads::parseSize(o.size), 1);
    const auto begin = std::chrono::steady_clock::now();
    const workloads::Measurement m = workloads::measure(gpu, stream, *instance, o.limit);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (!m.limited) instance->check();
    return {took.count(), m.cycles, m.counters.warpInstructions};
}

}  // namespace

int main(int count, char** arguments) try {
    const Options o = parse(count, arguments);
    fmt::print("{:10}{:>9}{:>12}{:>14}{:>16}{:>8}\n", o.gpu, "threads", "cycles", "warp instr", "warp instr/s", "gain");
    std::vector<double> logs(o.threads.size(), 0);
    bool same = true;
    for (const std::string& name : o.workloads) {
        Run first{};
        for (std::size_t i = 0; i < o.threads.size(); ++i) {
            const Run r = run(o, name, o.threads[i]);
            if (i == 0) first = r;
            same = same && r.cycles == first.cycles && r.warpInstructions == first.warpInstructions;
            logs[i] += std::log(first.seconds / r.seconds);
            fmt::print("{:10}{:9}{:12}{:14}{:16.0f}{:8.2f}\n", name, o.threads[i], r.cycles, r.warpInstructions,
                       static_cast<double>(r.warpInstructions) / r.seconds, first.seconds / r.seconds);
            std::fflush(stdout);
        }
    }
    for (std::size_t i = 0; i < o.threads.size(); ++i)
        fmt::print("geometric mean of the gain with {} threads: {:.2f}\n", o.threads[i],
                   std::exp(logs[i] / static_cast<double>(o.workloads.size())));
    fmt::print("cycles and instructions {}\n", same ? "are the same for all" : "DIFFER");
    return same ? 0 : 1;
} catch (const std::exception& e) {
    fmt::print(stderr, "bulkhead_threads: {}\n", e.what());
    return 2;
}
