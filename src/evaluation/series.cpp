#include "evaluation/series.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/json.h"
#include "evaluation/samples.h"

namespace bulkhead::evaluation {
namespace {

constexpr double kBatchSeconds = 10e-3;  // of a timed batch of runs on a real GPU: long against the events' resolution
constexpr unsigned kMostRuns = 200;
constexpr unsigned kWarmUps = 5;  // an idle card clocks down

/// On simulated GPUs without MPS, contexts run side by side as they do under it.
corun::SharingSpec sharingOf(const SeriesSpec& spec) {
    corun::SharingSpec sharing;
    sharing.partitions = spec.partitions;
    sharing.blockPlacement = spec.placement;
    sharing.processes = spec.processes;
    switch (spec.method) {
        case Method::none:
            sharing.way = spec.gpu.starts_with("cuda:") ? "streams" : "mps";
            break;
        case Method::mps:
            sharing.way = "mps";
            sharing.limitThreads = true;
            break;
        case Method::green:
            sharing.way = "green";
            break;
        case Method::cp:
            sharing.way = "compute-walls";
            break;
        case Method::cmp:
            sharing.way = "walls";
            break;
    }
    return sharing;
}

/// The application in the first partition, and copies of each neighbour in all others.
corun::CoRunSpec coRunOf(const SeriesSpec& spec) {
    corun::CoRunSpec all;
    all.gpu = spec.gpu;
    all.settings = spec.settings;
    all.map = spec.map;
    all.sharing = sharingOf(spec);
    const auto add = [&](unsigned partition, const std::string& name) {
        all.actors.push_back({partition, corun::ApplicationSpec{name, spec.size, spec.seed + partition}});
    };
    add(0, spec.application);
    for (const std::string& neighbour : spec.neighbours)
        for (unsigned i = 1; i < spec.partitions && !neighbour.empty(); ++i) add(i, neighbour);
    return all;
}

/// The actors of each neighbour, none of an idle one, timed where that is how a loop learns how far to be ahead.
std::vector<Neighbourhood> neighbourhoodsOf(const SeriesSpec& spec, corun::CoRun& coRun) {
    std::vector<Neighbourhood> all;
    std::size_t next = 1;
    for (const std::string& neighbour : spec.neighbours) {
        Neighbourhood& n = all.emplace_back();
        for (unsigned i = 1; i < spec.partitions && !neighbour.empty(); ++i) n.actors.push_back(&coRun.actor(next++));
        if (coRun.simulated()) continue;
        for (corun::Actor* actor : n.actors)
            for (int round = 0; round < 2; ++round) actor->run();
    }
    return all;
}

/// What neighbours have begun on a simulated GPU is of no more use and takes long to simulate, and whatever is
/// destroyed waits for it: it ends with the process instead.
void abandon(std::unique_ptr<corun::CoRun> coRun) {
    static auto* const all = new std::vector<std::unique_ptr<corun::CoRun>>;
    all->push_back(std::move(coRun));
}

/// How many runs a real GPU is timed with at once. It is warm afterwards.
unsigned runsOfABatch(corun::Actor& application) {
    secondsOf(application, {});
    const double seconds = secondsOf(application, {});
    const auto runs = static_cast<unsigned>(std::clamp(std::ceil(kBatchSeconds / seconds), 1.0, double{kMostRuns}));
    for (unsigned i = 0; i < kWarmUps; ++i) secondsOf(application, {runs, {}});
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
    f.place = corun::Place::fromJson(o.at("place"), where + ": place");
    f.wallSeconds = o.get<double>("wall_seconds");
    return f;
}

SeriesFigures execute(const SeriesSpec& spec) {
    const auto begin = std::chrono::steady_clock::now();
    std::unique_ptr<corun::CoRun> coRun = corun::makeCoRun(coRunOf(spec));
    const bool simulated = coRun->simulated() != nullptr;
    std::vector<Neighbourhood> neighbours = neighbourhoodsOf(spec, *coRun);
    corun::Actor& application = coRun->actor(0);
    const unsigned runs = simulated ? 1 : runsOfABatch(application);

    SeriesFigures figures =
        takeSamples(application, neighbours, [&] { return coRun->place(0); }, {spec.samples, runs, simulated});
    if (simulated) abandon(std::move(coRun));
    figures.wallSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return figures;
}

}  // namespace bulkhead::evaluation
