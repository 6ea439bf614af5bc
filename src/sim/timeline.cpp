#include "sim/timeline.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/json.h"

namespace bulkhead::sim {
namespace {

/// "warp 3 stalled", "limit tried: 8 warps".
std::string inWords(const Decided& d) {
    const std::string_view name = kDecisionNames[static_cast<std::size_t>(d.decision)];
    if (d.warp != kNobody) return fmt::format("warp {} {}", d.warp, name);
    return d.limit ? fmt::format("{}: {} warps", name, d.limit) : std::string(name);
}

}  // namespace

Timeline::Timeline(double microsecondsPerCycle, Cycles sampleInterval)
    : usPerCycle_(microsecondsPerCycle), interval_(sampleInterval) {}

void Timeline::nameLaunch(std::uint32_t launch, std::string kernel) {
    if (launch >= kernels_.size()) kernels_.resize(launch + 1);
    kernels_[launch] = std::move(kernel);
}

void Timeline::l1Eviction(Cycles, std::uint32_t, std::uint64_t, std::uint32_t owner, std::uint32_t evictor) {
    interference_ += owner != evictor;
}
void Timeline::launchStarted(Cycles when, std::uint32_t launch) {
    marks_.push_back({Kind::launchBegin, when, 0, 0, launch, 0});
}
void Timeline::launchEnded(Cycles when, std::uint32_t launch) {
    marks_.push_back({Kind::launchEnd, when, 0, 0, launch, 0});
}
void Timeline::blockStarted(Cycles when, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch,
                            std::uint64_t block) {
    marks_.push_back({Kind::blockBegin, when, sm, slot, launch, block});
}
void Timeline::blockEnded(Cycles when, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch,
                          std::uint64_t block) {
    marks_.push_back({Kind::blockEnd, when, sm, slot, launch, block});
}
void Timeline::contextSwitched(Cycles when, std::uint32_t toGroup) {
    marks_.push_back({Kind::contextSwitch, when, 0, 0, toGroup, 0});
}

void Timeline::decided(Cycles when, std::uint32_t sm, const Decided& decided) {
    marks_.push_back({Kind::decision, when, sm, 0, 0, 0, decided});
}

void Timeline::sampleSm(Cycles, std::uint32_t, const SmSample& sample) {
    isolated_ += sample.isolatedWarps;
}

void Timeline::sample(Cycles when, const Counters& total, std::span<const std::uint32_t> activeWarpsBySm) {
    const Counters since = total - last_;
    const auto cycles = static_cast<double>(when - lastSample_);
    std::uint64_t slots = since.warpInstructions;
    for (const std::uint64_t stalled : since.stalls) slots += stalled;
    std::array<double, kStalls> stalled = {};
    for (int i = 0; slots && i < kStalls; ++i)
        stalled[i] = static_cast<double>(since.stalls[i]) / static_cast<double>(slots);
    samples_.push_back({when, static_cast<double>(since.threadInstructions) / cycles,
                        ratio(since.l1Hits, since.l1Misses), ratio(since.l2Hits, since.l2Misses),
                        std::accumulate(activeWarpsBySm.begin(), activeWarpsBySm.end(), std::uint64_t{0}), isolated_,
                        interference_, stalled});
    isolated_ = 0;
    interference_ = 0;
    last_ = total;
    lastSample_ = when;
}

std::string Timeline::json() const {
    // Process 0 is the GPU with its launches and curves; process s + 1 is SM s, a thread a block slot.
    nlohmann::ordered_json events = nlohmann::ordered_json::array();
    const auto meta = [&](const char* what, std::uint32_t pid, std::uint32_t tid, const std::string& name) {
        events.push_back({{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}});
    };
    const auto kernel = [&](std::uint32_t launch) {
        return launch < kernels_.size() && !kernels_[launch].empty() ? kernels_[launch]
                                                                     : "launch " + std::to_string(launch);
    };
    meta("process_name", 0, 0, "GPU");
    std::set<std::uint32_t> sms, launches;
    for (const Mark& mark : marks_) {
        const double us = static_cast<double>(mark.when) * usPerCycle_;
        switch (mark.kind) {
            case Kind::launchBegin:
                if (launches.insert(mark.launch).second) meta("thread_name", 0, mark.launch, kernel(mark.launch));
                events.push_back(
                    {{"ph", "B"}, {"name", kernel(mark.launch)}, {"pid", 0}, {"tid", mark.launch}, {"ts", us}});
                break;
            case Kind::launchEnd:
                events.push_back({{"ph", "E"}, {"pid", 0}, {"tid", mark.launch}, {"ts", us}});
                break;
            case Kind::blockBegin:
                if (sms.insert(mark.sm).second) meta("process_name", mark.sm + 1, 0, "SM " + std::to_string(mark.sm));
                events.push_back({{"ph", "B"},
                                  {"name", kernel(mark.launch) + " " + std::to_string(mark.block)},
                                  {"pid", mark.sm + 1},
                                  {"tid", mark.slot},
                                  {"ts", us},
                                  {"args", {{"block", mark.block}}}});
                break;
            case Kind::blockEnd:
                events.push_back({{"ph", "E"}, {"pid", mark.sm + 1}, {"tid", mark.slot}, {"ts", us}});
                break;
            case Kind::decision: {
                const Decided& d = mark.decided;
                nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
                if (d.warp != kNobody) arguments["warp"] = d.warp;
                if (d.interfered != kNobody) arguments["for warp"] = d.interfered;
                if (d.limit) arguments["limit"] = d.limit;
                events.push_back({{"ph", "i"},
                                  {"name", inWords(d)},
                                  {"pid", mark.sm + 1},
                                  {"tid", 0},
                                  {"ts", us},
                                  {"s", "p"},
                                  {"args", arguments}});
                break;
            }
            case Kind::contextSwitch:
                events.push_back({{"ph", "i"},
                                  {"name", "switch to context group " + std::to_string(mark.launch)},
                                  {"pid", 0},
                                  {"tid", 0},
                                  {"ts", us},
                                  {"s", "g"}});
                break;
        }
    }
    for (const Sample& s : samples_) {
        const double us = static_cast<double>(s.when) * usPerCycle_;
        const auto curve = [&](const char* name, auto value) {
            events.push_back({{"ph", "C"}, {"name", name}, {"pid", 0}, {"ts", us}, {"args", {{"value", value}}}});
        };
        curve("IPC", s.ipc);
        curve("active warps", s.activeWarps);
        curve("isolated warps", s.isolatedWarps);
        for (int i = 0; i < kStalls; ++i) curve(fmt::format("stalled: {}", kStallNames[i]).c_str(), s.stalled[i]);
        curve("L1 hit rate", s.l1HitRate);
        curve("L2 hit rate", s.l2HitRate);
        curve("lines evicted by another warp", s.interference);
    }
    return jsonText(nlohmann::ordered_json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}) + "\n";
}

}  // namespace bulkhead::sim
