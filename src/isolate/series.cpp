#include "isolate/series.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/json.h"
#include "isolate/floor.h"
#include "isolate/tenant.h"

namespace bulkhead::isolate {
namespace {

constexpr double kBatchSeconds = 10e-3;  // of a timed batch of runs on a real GPU: long against the events' resolution
constexpr unsigned kMostRuns = 200;
constexpr unsigned kWarmUps = 5;  // an idle card clocks down

/// Everybody in their places: in this process, or in one each under an MPS daemon that is started and ended with them.
class Scene {
  public:
    explicit Scene(const SeriesSpec& spec) : spec_(spec) {
        if (spec.gpu.starts_with("cuda:") && (spec.processes || spec.method == Method::mps) && spec.partitions > 1) {
            daemon_ = std::make_unique<experiment::MpsDaemon>();
        } else {
            floor_ = std::make_unique<Floor>(spec);
        }
        application_ = moveIn(0, spec.application);
        for (const std::string& name : spec.neighbours) neighbourhoods_.push_back(neighbourhood(name));
    }

    bool simulated() const { return floor_ && floor_->gpu().simulator() != nullptr; }
    Tenant& application() { return *application_; }
    std::vector<Neighbourhood>& neighbourhoods() { return neighbourhoods_; }

  private:
    std::unique_ptr<Tenant> moveIn(unsigned partition, const std::string& name) {
        const std::uint64_t seed = spec_.seed + partition;
        if (floor_) return makeLocalTenant(*floor_, partition, name, spec_.size, seed);
        return makeRemoteTenant(spec_, partition, name, seed, *daemon_);
    }
    Neighbourhood neighbourhood(const std::string& name) {
        Neighbourhood n;
        if (name.empty()) return n;
        for (unsigned i = 1; i < spec_.partitions; ++i) n.tenants.push_back(moveIn(i, name));
        if (!simulated() && !n.tenants.empty()) {
            n.tenants.front()->time(1);
            n.secondsOfARun = n.tenants.front()->time(1);
        }
        return n;
    }

    SeriesSpec spec_;
    std::unique_ptr<experiment::MpsDaemon> daemon_;  // goes last: after its clients
    std::unique_ptr<Floor> floor_;
    std::unique_ptr<Tenant> application_;
    std::vector<Neighbourhood> neighbourhoods_;
};

/// What neighbours have begun on a simulated GPU is of no more use and takes long to simulate, and whatever is
/// destroyed waits for it: it ends with the process instead.
void abandon(std::unique_ptr<Scene> scene) {
    static auto* const scenes = new std::vector<std::unique_ptr<Scene>>;
    scenes->push_back(std::move(scene));
}

/// How many runs a real GPU is timed with at once. It is warm afterwards.
unsigned runsOfABatch(Tenant& application) {
    application.time(1);
    const double seconds = application.time(1);
    const auto runs = static_cast<unsigned>(std::clamp(std::ceil(kBatchSeconds / seconds), 1.0, double{kMostRuns}));
    for (unsigned i = 0; i < kWarmUps; ++i) application.time(runs);
    return runs;
}

}  // namespace

const std::vector<Method>& methods() {
    static const std::vector<Method> all = {Method::none, Method::mps, Method::green, Method::cp, Method::cmp};
    return all;
}

std::string_view methodName(Method method) {
    switch (method) {
        case Method::none:
            return "none";
        case Method::mps:
            return "mps";
        case Method::green:
            return "green";
        case Method::cp:
            return "cp";
        default:
            return "cmp";
    }
}

Method parseMethod(std::string_view name) {
    for (const Method method : methods())
        if (methodName(method) == name) return method;
    throw Error("no method {}: there are none, mps, green, cp and cmp", name);
}

nlohmann::ordered_json SeriesSpec::toJson() const {
    nlohmann::ordered_json json = {{"application", application},
                                   {"neighbours", neighbours},
                                   {"method", methodName(method)},
                                   {"partitions", partitions},
                                   {"size", workloads::sizeName(size)},
                                   {"seed", seed},
                                   {"samples", samples},
                                   {"gpu", gpu},
                                   {"settings", settings}};
    // What makes no difference to a series would have it measured again.
    if (partitions > 1) json["processes"] = processes;
    if (method == Method::cp || method == Method::cmp) json["placement"] = placement;
    if (method == Method::cmp && !map.empty()) json["map"] = readJson(map);
    if (!gpu.starts_with("cuda:")) {
        arch::DeviceProfile profile = arch::findProfile(gpu);
        arch::applySettings(profile, settings);
        json["profile"] = profile.toJson();
    }
    return json;
}

std::string labelOf(const SeriesSpec& spec) {
    return fmt::format("{} {} {}/{}", spec.gpu, spec.application, methodName(spec.method), spec.partitions);
}

std::string nameOf(const SeriesSpec& spec) {
    return fmt::format("isolate-{}-{}", spec.application, methodName(spec.method));
}

nlohmann::ordered_json Place::toJson() const {
    return {{"multiprocessors", multiprocessors},
            {"colors", colors},
            {"placement", placement},
            {"stray_blocks", strayBlocks}};
}

Place Place::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    return {o.get<unsigned>("multiprocessors"), o.get<unsigned>("colors"), o.get<std::string>("placement"),
            o.get<unsigned>("stray_blocks")};
}

nlohmann::ordered_json SeriesFigures::toJson() const {
    return {{"seconds", seconds},
            {"neighbour_runs", neighbourRuns},
            {"place", place.toJson()},
            {"wall_seconds", wallSeconds}};
}

SeriesFigures SeriesFigures::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    SeriesFigures f;
    f.seconds = o.get<std::vector<std::vector<double>>>("seconds");
    f.neighbourRuns = o.get<std::vector<std::uint64_t>>("neighbour_runs");
    f.place = Place::fromJson(o.at("place"), where + ": place");
    f.wallSeconds = o.get<double>("wall_seconds");
    return f;
}

SeriesFigures execute(const SeriesSpec& spec) {
    const auto begin = std::chrono::steady_clock::now();
    auto scene = std::make_unique<Scene>(spec);
    const bool simulated = scene->simulated();
    Tenant& application = scene->application();
    const unsigned runs = simulated ? 1 : runsOfABatch(application);

    SeriesFigures figures = takeSamples(application, scene->neighbourhoods(), spec.samples, runs, simulated);
    if (simulated) abandon(std::move(scene));
    figures.wallSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return figures;
}

}  // namespace bulkhead::isolate
