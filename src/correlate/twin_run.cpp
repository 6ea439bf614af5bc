#include "correlate/twin_run.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "gpu/gpu.h"
#include "gpu/launch_log.h"
#include "metrics/simulated_launch.h"

namespace bulkhead::correlate {
namespace {

nlohmann::ordered_json launchJson(const metrics::SimulatedLaunch& launch) {
    nlohmann::ordered_json json = {
        {"kernel", launch.kernel}, {"grid", launch.grid}, {"block", launch.block}, {"cycles", launch.cycles}};
    sim::Counters counters = launch.counters;
    // Most counters of most launches are 0.
    json["counters"] = nlohmann::ordered_json::object();
    counters.each([&](std::string_view name, std::uint64_t value) {
        if (value != 0) json["counters"][std::string(name)] = value;
    });
    json["stalls"] = counters.stalls;
    return json;
}

metrics::SimulatedLaunch launchFrom(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    metrics::SimulatedLaunch launch;
    launch.kernel = o.get<std::string>("kernel");
    launch.grid = o.get<std::string>("grid");
    launch.block = o.get<std::string>("block");
    launch.cycles = o.get<Cycles>("cycles");
    JsonObject counters(o.at("counters"), where + ": counters");
    launch.counters.each([&](std::string_view name, std::uint64_t& value) { counters.read(std::string(name), value); });
    counters.finish();
    launch.counters.stalls = o.get<decltype(launch.counters.stalls)>("stalls");
    o.finish();
    return launch;
}

}  // namespace

nlohmann::ordered_json describe(const TwinSpec& spec) {
    return {{"workload", spec.workload}, {"size", workloads::sizeName(spec.size)},
            {"seed", spec.seed},         {"scheduler", spec.scheduler},
            {"settings", spec.settings}, {"gpu", spec.gpu}};
}

nlohmann::ordered_json TwinSpec::toJson() const {
    arch::DeviceProfile profile = arch::findProfile(gpu);
    arch::applySettings(profile, settings);
    nlohmann::ordered_json json = describe(*this);
    json["kind"] = kKind;
    json["profile"] = profile.toJson();
    return json;
}

TwinSpec TwinSpec::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    TwinSpec spec;
    spec.workload = o.get<std::string>("workload");
    spec.size = workloads::parseSize(o.get<std::string>("size"));
    spec.seed = o.get<std::uint64_t>("seed");
    spec.scheduler = o.get<std::string>("scheduler");
    spec.settings = o.get<std::vector<std::string>>("settings");
    spec.gpu = o.get<std::string>("gpu");
    o.finish();
    return spec;
}

std::string nameOf(const TwinSpec& spec) {
    return spec.workload + "-launches";
}

std::string labelOf(const TwinSpec& spec) {
    return spec.workload;
}

nlohmann::ordered_json TwinMeasurement::toJson() const {
    nlohmann::ordered_json json = {{"wall_seconds", wallSeconds}, {"launches", nlohmann::ordered_json::array()}};
    for (const metrics::SimulatedLaunch& launch : launches) json["launches"].push_back(launchJson(launch));
    return json;
}

TwinMeasurement TwinMeasurement::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    TwinMeasurement m;
    m.wallSeconds = o.get<double>("wall_seconds");
    if (!o.at("launches").is_array()) throw Error("{}: launches must be a list", where);
    for (const nlohmann::json& launch : o.at("launches"))
        m.launches.push_back(launchFrom(launch, where + ": a launch"));
    o.finish();
    return m;
}

TwinMeasurement execute(const TwinSpec& spec) {
    const auto begin = std::chrono::steady_clock::now();
    const workloads::Workload& workload = workloads::find(spec.workload);
    gpu::SimulationOptions simulation;
    simulation.scheduler = spec.scheduler;
    simulation.settings = spec.settings;
    gpu::Gpu gpu = gpu::Gpu::open(spec.gpu, simulation);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = workload.create(gpu.context(), spec.size, spec.seed);
    gpu::LaunchLog log(gpu, gpu.context());
    instance->run(stream);
    stream.synchronize();
    TwinMeasurement m;
    for (const gpu::Launch& launch : log.launches()) m.launches.push_back(metrics::simulatedLaunch(launch));
    instance->check();
    m.wallSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return m;
}

}  // namespace bulkhead::correlate
