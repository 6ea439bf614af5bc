#include "compare/run.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/json.h"
#include "compare/run_observer.h"
#include "metrics/watching.h"
#include "report/report.h"
#include "workloads/measure.h"

namespace bulkhead::compare {
namespace {

/// Each number of a run by its name, once for both ways.
template <class Measurement, class F>
void eachMember(Measurement& f, F&& visit) {
    visit("cycles", f.cycles);
    visit("footprint_bytes", f.footprintBytes);
    visit("shared_memory_share", f.sharedMemoryShare);
    visit("limited", f.limited);
    visit("wall_seconds", f.wallSeconds);
    visit("resident_warps", f.residentWarps);
    visit("active_warps", f.activeWarps);
    visit("isolated_warps", f.isolatedWarps);
    visit("shared_reserved_bytes", f.sharedReserved);
    visit("shared_cache_capacity_bytes", f.sharedCacheCapacity);
    visit("shared_cache_used_bytes", f.sharedCacheUsed);
    visit("warps", f.warps);
    visit("interference", f.interference);
}

}  // namespace

nlohmann::ordered_json describe(const RunSpec& spec) {
    return {{"workload", spec.workload},
            {"size", workloads::sizeName(spec.size)},
            {"seed", spec.seed},
            {"scheduler", spec.scheduler},
            {"settings", spec.settings},
            {"warp_instructions", spec.warpInstructions},
            {"observe", spec.observe},
            {"closely", spec.closely},
            {"gpu", spec.gpu}};
}

nlohmann::ordered_json RunSpec::toJson() const {
    arch::DeviceProfile profile = arch::findProfile(gpu);
    arch::applySettings(profile, settings);
    nlohmann::ordered_json json = describe(*this);
    json["profile"] = profile.toJson();
    return json;
}

RunSpec RunSpec::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    RunSpec spec;
    spec.workload = o.get<std::string>("workload");
    spec.size = workloads::parseSize(o.get<std::string>("size"));
    spec.seed = o.get<std::uint64_t>("seed");
    spec.scheduler = o.get<std::string>("scheduler");
    spec.settings = o.get<std::vector<std::string>>("settings");
    spec.warpInstructions = o.get<std::uint64_t>("warp_instructions");
    spec.observe = o.get<bool>("observe");
    spec.closely = o.get<bool>("closely");
    spec.gpu = o.get<std::string>("gpu");
    o.finish();
    return spec;
}

double RunMeasurement::ipc() const {
    return cycles ? static_cast<double>(counters.threadInstructions) / static_cast<double>(cycles) : 0;
}

double RunMeasurement::apki() const {
    const sim::Counters& c = counters;
    const auto lines =
        static_cast<double>(c.l1Hits + c.l1Misses + c.l1Bypasses + c.sharedCacheHits + c.sharedCacheMisses);
    return c.threadInstructions ? lines / static_cast<double>(c.threadInstructions) * 1e3 : 0;
}

double RunMeasurement::hitRate() const {
    const sim::Counters& c = counters;
    return sim::ratio(c.l1Hits + c.sharedCacheHits, c.l1Misses + c.l1Bypasses + c.sharedCacheMisses);
}

nlohmann::ordered_json RunMeasurement::toJson() const {
    nlohmann::ordered_json json;
    eachMember(*this, [&](const char* name, const auto& value) { json[name] = value; });
    sim::Counters all = counters;
    all.each([&](std::string_view name, std::uint64_t value) { json["counters"][std::string(name)] = value; });
    json["stalls"] = counters.stalls;
    json["series"] = nlohmann::ordered_json::array();
    for (const SeriesPoint& p : series)
        json["series"].push_back({p.cycles, p.threadInstructions, p.interference, p.activeWarps, p.isolatedWarps});
    if (!insight.empty()) json["insight"] = report::fileJson(insight);
    if (!timeline.empty()) json["timeline"] = timeline;
    return json;
}

RunMeasurement RunMeasurement::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    RunMeasurement f;
    eachMember(f, [&](const char* name, auto& value) { value = o.get<std::decay_t<decltype(value)>>(name); });
    JsonObject counters(o.at("counters"), where + ": counters");
    f.counters.each(
        [&](std::string_view name, std::uint64_t& value) { value = counters.get<std::uint64_t>(std::string(name)); });
    f.counters.stalls = o.get<decltype(f.counters.stalls)>("stalls");
    for (const nlohmann::json& p : o.at("series")) {
        if (!p.is_array() || p.size() != 5) throw Error("{}: a point of series must be a list of 5", where);
        const std::string what = where + ": a number of series";
        f.series.push_back({jsonAs<Cycles>(p[0], what), jsonAs<std::uint64_t>(p[1], what),
                            jsonAs<std::uint64_t>(p[2], what), jsonAs<double>(p[3], what), jsonAs<double>(p[4], what)});
    }
    if (json.contains("insight")) f.insight = report::resultsIn(json["insight"], where);
    if (json.contains("timeline")) f.timeline = jsonAs<std::string>(json["timeline"], where + ": timeline");
    return f;
}

RunMeasurement execute(const RunSpec& spec) {
    const auto begin = std::chrono::steady_clock::now();
    const workloads::Workload& workload = workloads::find(spec.workload);
    arch::DeviceProfile profile = arch::findProfile(spec.gpu);
    arch::applySettings(profile, spec.settings);
    RunObserver observer(profile, spec.observe);

    gpu::SimulationOptions simulation;
    simulation.scheduler = spec.scheduler;
    simulation.settings = spec.settings;
    metrics::Watching watching(profile, spec.closely, spec.closely);
    watching.add(observer);
    simulation.observer = spec.closely ? &watching.observer() : &observer;
    gpu::Gpu gpu = gpu::Gpu::open(spec.gpu, simulation);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = workload.create(gpu.context(), spec.size, spec.seed);
    const workloads::Measurement m = workloads::measure(gpu, stream, *instance, spec.warpInstructions);
    if (!m.limited) instance->check();

    RunMeasurement measurement;
    measurement.cycles = m.cycles;
    measurement.counters = m.counters;
    measurement.footprintBytes = instance->footprint();
    measurement.sharedMemoryShare = m.sharedMemoryShare();
    measurement.limited = m.limited;
    observer.report(measurement);
    if (spec.closely) {
        for (const gpu::Launch& launch : m.launches) watching.nameLaunch(launch.id, launch.kernel);
        measurement.insight = watching.insight(spec.workload + " under " + spec.scheduler);
        measurement.timeline = watching.timeline();
    }
    measurement.wallSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return measurement;
}

}  // namespace bulkhead::compare
