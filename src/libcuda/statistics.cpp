#include "libcuda/statistics.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "arch/device_profile.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/files.h"
#include "base/phrases.h"
#include "base/result.h"
#include "base/schema.h"
#include "gpu/simulated_device.h"
#include "libcuda/kernel_name.h"
#include "libcuda/progress.h"
#include "metrics/executed.h"
#include "metrics/output.h"
#include "metrics/simulated_launch.h"
#include "metrics/watching.h"
#include "report/report.h"

namespace bulkhead::libcuda {
namespace {

constexpr std::array<const char*, kTransfers> kTransferNames = {"host_to_device", "device_to_host", "device_to_device",
                                                                "unified", "fill"};

/// The words that started this process.
nlohmann::ordered_json command() {
    auto words = nlohmann::ordered_json::array();
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
    return words;
}

double perCycle(std::uint64_t what, Cycles cycles) {
    return cycles ? static_cast<double>(what) / static_cast<double>(cycles) : 0.0;
}

double gigabytesPerSecond(std::uint64_t bytes, double seconds) {
    return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0.0;
}

nlohmann::ordered_json toJson(const gpu::LaunchCounters& gpu, const std::string& kernel, const KernelSum& sum) {
    const sim::Counters& c = sum.counters;
    const double seconds = gpu.seconds(sum.cycles);
    nlohmann::ordered_json json = {
        {"kernel", kernel}, {"signature", signatureOf(kernel)}, {"launches", sum.launches}, {"failed", sum.failed}};
    if (gpu.timing() == sim::Timing::functional) {
        json.update(metrics::executedJson(sum.sampled, c));
        return json;
    }
    json.update({{"cycles", sum.cycles},
                 {"microseconds", seconds * 1e6},
                 {"warp_instructions", c.warpInstructions},
                 {"thread_instructions", c.threadInstructions},
                 {"ipc", perCycle(c.threadInstructions, sum.cycles)},
                 {"l1_hit_rate", sim::ratio(c.l1Hits, c.l1Misses)},
                 {"l2_hit_rate", sim::ratio(c.l2Hits, c.l2Misses)},
                 {"dram_bytes", c.bytesDram},
                 {"dram_gb_per_s", gigabytesPerSecond(c.bytesDram, seconds)}});
    if (gpu.timing() == sim::Timing::sampled) json["sample"] = sum.sampled.json();
    return json;
}

using Amount = std::uint64_t (*)(const KernelSum&);

struct Largest {
    const std::string* kernel = nullptr;
    std::uint64_t of = 0, all = 0;
};

/// The kernel that has most of it.
Largest largest(const std::map<std::string, KernelSum>& kernels, Amount amount) {
    Largest found;
    for (const auto& [kernel, sum] : kernels) {
        const std::uint64_t its = amount(sum);
        found.all += its;
        if (found.kernel && its <= found.of) continue;
        found.kernel = &kernel;
        found.of = its;
    }
    return found;
}

/// ", 80 % of it VecAdd."
std::string shareOf(const Largest& most, std::size_t kernels) {
    const std::string name = shortName(*most.kernel);
    if (kernels == 1) return fmt::format(", all of it {}.", name);
    return fmt::format(", {:.0f} % of it {}.", 100 * static_cast<double>(most.of) / static_cast<double>(most.all),
                       name);
}

}  // namespace

/// Adds up the launches of one GPU as they end. Called by the simulation, one call at a time.
class Statistics::Watcher final : public sim::Observer {
  public:
    Watcher(const arch::DeviceProfile& profile, std::string scheduler)
        : scheduler(std::move(scheduler)),
          watching(profile, !environment("BULKHEAD_TIMELINE").empty(), !environment("BULKHEAD_OBSERVE").empty()) {
        watching.add(*this);
    }
    void launchStarted(Cycles, std::uint32_t launch) override { Progress::instance().launchStarted(launch); }
    void launchEnded(Cycles, std::uint32_t launch) override {
        Progress::instance().launchEnded(launch);
        const gpu::Launch ended = gpu->launch(launch);
        KernelSum& sum = kernels[ended.kernel];
        ++sum.launches;
        sum.failed += ended.failed;
        sum.cycles += ended.cycles();
        sum.counters += ended.counters;
        sum.sampled += ended;
        if (keepsLaunches) launches.push_back(ended);
        watching.nameLaunch(launch, ended.kernel);
    }

    const std::string scheduler;
    const bool keepsLaunches = !environment("BULKHEAD_METRICS").empty();
    metrics::Watching watching;
    std::optional<gpu::LaunchCounters> gpu;
    std::map<std::string, KernelSum> kernels;
    std::vector<gpu::Launch> launches;  ///< as they ended
};

Statistics& Statistics::instance() {
    static Statistics* statistics = new Statistics;
    return *statistics;
}

sim::Observer& Statistics::watch(const arch::DeviceProfile& profile, std::string scheduler) {
    process_ = ::getpid();
    watchers_.push_back(std::make_unique<Watcher>(profile, std::move(scheduler)));
    return watchers_.back()->watching.observer();
}

void Statistics::began(const gpu::LaunchCounters& counters) {
    watchers_.back()->gpu = counters;
}

void Statistics::transferred(Transfer transfer, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    TransferSum& sum = transfers_[static_cast<std::size_t>(transfer)];
    ++sum.calls;
    sum.bytes += bytes;
}

nlohmann::ordered_json Statistics::json() const {
    using json = nlohmann::ordered_json;
    json devices = json::array();
    for (const auto& watcher : watchers_) {
        if (!watcher->gpu) continue;
        const gpu::LaunchCounters& gpu = *watcher->gpu;
        json kernels = json::array();
        for (const auto& [kernel, sum] : watcher->kernels) kernels.push_back(toJson(gpu, kernel, sum));
        json device = {{"gpu", "sim:" + gpu.profile().name}};
        if (gpu.timing() == sim::Timing::functional) {
            device["functional"] = true;
        } else {
            device.update({{"scheduler", watcher->scheduler},
                           {"cycles", gpu.now()},
                           {"microseconds", gpu.seconds(gpu.now()) * 1e6}});
        }
        device["kernels"] = kernels;
        devices.push_back(device);
    }
    json transfers;
    for (std::size_t i = 0; i < transfers_.size(); ++i)
        transfers[kTransferNames[i]] = {{"calls", transfers_[i].calls}, {"bytes", transfers_[i].bytes}};
    return {{"schema", schemas::kStatistics.text()},
            {"command", command()},
            {"settings", environment("BULKHEAD_SET")},
            {"date", currentDate()},
            {"version", BULKHEAD_VERSION},
            {"devices", devices},
            {"transfers", transfers}};
}

/// How long the kernels took, and which took most of it.
Result Statistics::timedTable(const Watcher& watcher) {
    const gpu::LaunchCounters& gpu = *watcher.gpu;
    const bool sampled = gpu.timing() == sim::Timing::sampled;
    Result r;
    r.title = fmt::format("kernels on sim:{}, {} scheduler", gpu.profile().name, watcher.scheduler);
    r.columns = {{"kernel", ""},      {"launches", ""},    {"time", "us"},  {"IPC", ""},
                 {"L1 hit rate", ""}, {"L2 hit rate", ""}, {"DRAM", "GB/s"}};
    if (sampled) r.columns.insert(r.columns.begin() + 2, {{"timed", ""}, {"timed blocks", ""}, {"cycles", "95 %"}});
    for (const auto& [kernel, sum] : watcher.kernels) {
        const sim::Counters& c = sum.counters;
        const double seconds = gpu.seconds(sum.cycles);
        std::vector<Value> row = {shortName(kernel),
                                  static_cast<std::int64_t>(sum.launches),
                                  seconds * 1e6,
                                  perCycle(c.threadInstructions, sum.cycles),
                                  sim::ratio(c.l1Hits, c.l1Misses),
                                  sim::ratio(c.l2Hits, c.l2Misses),
                                  gigabytesPerSecond(c.bytesDram, seconds)};
        if (sampled)
            row.insert(row.begin() + 2, {static_cast<std::int64_t>(sum.sampled.timedLaunches),
                                         fmt::format("{} of {}", sum.sampled.timedBlocks, sum.sampled.blocks),
                                         sum.sampled.cycles(sum.cycles)});
        r.add(std::move(row));
    }
    const Largest longest = largest(watcher.kernels, [](const KernelSum& sum) -> std::uint64_t { return sum.cycles; });
    if (longest.all)
        r.answer = fmt::format("Kernels took {}", duration(gpu.seconds(longest.all))) +
                   shareOf(longest, watcher.kernels.size());
    return r;
}

/// What the kernels executed, and which executed most of it.
Result Statistics::functionalTable(const Watcher& watcher) {
    Result r =
        metrics::executedTable(fmt::format("kernels on sim:{}, executed without time", watcher.gpu->profile().name));
    for (const auto& [kernel, sum] : watcher.kernels)
        metrics::addExecuted(r, shortName(kernel), sum.sampled, sum.counters);
    const Largest most = largest(watcher.kernels, [](const KernelSum& sum) { return sum.counters.warpInstructions; });
    if (most.all)
        r.answer =
            fmt::format("Kernels executed {} warp instructions", most.all) + shareOf(most, watcher.kernels.size());
    r.caveats = {"Times that the program measures are less than any GPU takes, and no estimates."};
    return r;
}

std::string Statistics::table() const {
    std::string text;
    for (const auto& watcher : watchers_) {
        if (!watcher->gpu) continue;
        const bool functional = watcher->gpu->timing() == sim::Timing::functional;
        const Result r = functional ? functionalTable(*watcher) : timedTable(*watcher);
        text += report::text(r) + report::conclusion(r);
    }
    return text;
}

/// In the order in which the program asked for them.
std::vector<metrics::LaunchRow> Statistics::rows() const {
    std::vector<metrics::LaunchRow> rows;
    for (const auto& watcher : watchers_) {
        if (!watcher->gpu) continue;
        std::vector<gpu::Launch> launches = watcher->launches;
        std::sort(launches.begin(), launches.end(),
                  [](const gpu::Launch& a, const gpu::Launch& b) { return a.id < b.id; });
        for (const gpu::Launch& launch : launches) {
            rows.push_back(metrics::rowOf(launch, watcher->gpu->profile()));
            rows.back().kernel = signatureOf(launch.kernel);
            rows.back().process = ::program_invocation_short_name;
        }
    }
    return rows;
}

void Statistics::writeWatched() const {
    for (std::size_t i = 0; i < watchers_.size(); ++i) {
        if (!watchers_[i]->gpu) continue;
        const auto ofGpu = [i](std::filesystem::path file) {
            return i == 0 ? file
                          : file.replace_filename(file.stem().string() + "-" + std::to_string(i) +
                                                  file.extension().string());
        };
        const metrics::Watching& watching = watchers_[i]->watching;
        const std::string timeline = environment("BULKHEAD_TIMELINE"), observe = environment("BULKHEAD_OBSERVE");
        if (!timeline.empty()) writeFile(ofGpu(timeline), watching.timeline());
        if (observe.empty()) continue;
        const std::string gpu = "sim:" + watchers_[i]->gpu->profile().name,
                          run = fmt::format("{} on {}, {} scheduler", ::program_invocation_short_name, gpu,
                                            watchers_[i]->scheduler);
        std::vector<Result> results = watching.insight(run);
        for (Result& result : results)
            result.provenance = {::program_invocation_short_name, gpu, std::nullopt, BULKHEAD_VERSION, currentDate()};
        metrics::writeInsight(ofGpu(observe).string(), run, results, watching.timeline());
    }
}

void Statistics::write() const {
    if (watchers_.empty() || process_ != ::getpid()) return;
    std::fflush(stdout);
    if (environment("BULKHEAD_SUMMARY") == "1") fmt::print(stderr, "{}", table());
    const std::string file = environment("BULKHEAD_STATS");
    try {
        metrics::write(metrics::parseOutput(environment("BULKHEAD_METRICS"), "BULKHEAD_METRICS"), rows());
        if (!file.empty()) writeFile(file, jsonText(json(), 2) + "\n");
        writeWatched();
    } catch (const Error& error) {
        fmt::print(stderr, "bulkhead: {}\n", error.what());
    }
}

namespace {

/// When the library is unloaded, which is after the program's own static objects are gone.
[[gnu::destructor]] void writeStatistics() {
    gpu::workWhileHostWaits(false);
    Statistics::instance().write();
}

}  // namespace

}  // namespace bulkhead::libcuda
