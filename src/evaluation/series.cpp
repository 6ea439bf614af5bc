#include "evaluation/series.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "evaluation/samples.h"
#include "gpu/known_profile.h"

namespace bulkhead::evaluation {
namespace {

constexpr double kBatchSeconds = 10e-3;   // of a timed batch of runs: long against the events' resolution
constexpr double kLongestDelay = 100e-6;  // of a variant's application behind its neighbours

corun::SharingSpec sharingOf(const SeriesSpec& spec) {
    corun::SharingSpec sharing;
    sharing.partitions = spec.partitions;
    sharing.blockPlacement = spec.placement;
    sharing.processes = spec.processes;
    sharing.way = spec.method.way().name;
    sharing.limitThreads = sharing.way == "mps";  // as the paper had it
    return sharing;
}

/// Those of the series come last, so that they hold.
std::vector<std::string> settingsOf(const SeriesSpec& spec) {
    std::vector<std::string> settings;
    if (spec.variant > 0) settings = {"memory.placement=scattered", fmt::format("memory.seed={}", spec.variant)};
    settings.insert(settings.end(), spec.settings.begin(), spec.settings.end());
    return settings;
}

std::uint64_t inputSeed(const SeriesSpec& spec, unsigned partition) {
    constexpr std::uint64_t kApart = 1000;  // more than there are partitions
    return spec.seed + kApart * spec.variant + partition;
}

double delayOf(const SeriesSpec& spec) {
    if (spec.variant == 0) return 0;
    Random random(inputSeed(spec, 0));
    return kLongestDelay * random.uniform();
}

/// The application in the first partition, and copies of each neighbour in all others.
corun::CoRunSpec coRunOf(const SeriesSpec& spec) {
    corun::CoRunSpec all;
    all.gpu = spec.gpu;
    all.settings = settingsOf(spec);
    all.map = spec.map;
    all.sharing = sharingOf(spec);
    const auto add = [&](unsigned partition, const std::string& name) {
        all.actors.push_back({partition, corun::ApplicationSpec{name, spec.size, inputSeed(spec, partition)}});
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
        if (!gpu::capabilitiesOf(spec.gpu).runsByItself) continue;
        for (corun::Actor* actor : n.actors)
            for (int round = 0; round < 2; ++round) actor->run();
    }
    return all;
}

}  // namespace

nlohmann::ordered_json describe(const SeriesSpec& spec) {
    return {{"application", spec.application},
            {"neighbours", spec.neighbours},
            {"method", spec.method.name()},
            {"partitions", spec.partitions},
            {"size", workloads::sizeName(spec.size)},
            {"seed", spec.seed},
            {"samples", spec.samples},
            {"variant", spec.variant},
            {"gpu", spec.gpu},
            {"settings", spec.settings},
            {"processes", spec.processes},
            {"placement", spec.placement},
            {"map", spec.map}};
}

SeriesSpec SeriesSpec::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    SeriesSpec spec;
    spec.application = o.get<std::string>("application");
    spec.neighbours = o.get<std::vector<std::string>>("neighbours");
    spec.method = Method(o.get<std::string>("method"));
    spec.partitions = o.get<unsigned>("partitions");
    spec.size = workloads::parseSize(o.get<std::string>("size"));
    spec.seed = o.get<std::uint64_t>("seed");
    spec.samples = o.get<unsigned>("samples");
    spec.variant = o.get<unsigned>("variant");
    spec.gpu = o.get<std::string>("gpu");
    spec.settings = o.get<std::vector<std::string>>("settings");
    spec.processes = o.get<bool>("processes");
    spec.placement = o.get<std::string>("placement");
    spec.map = o.get<std::string>("map");
    o.finish();
    return spec;
}

nlohmann::ordered_json SeriesSpec::toJson() const {
    nlohmann::ordered_json json = describe(*this);
    for (const char* file : {"processes", "placement", "map"}) json.erase(file);
    // What makes no difference to a series would have it measured again.
    if (variant == 0) json.erase("variant");
    if (partitions > 1) json["processes"] = processes;
    const corun::WallsAround walls = method.way().walls;
    if (walls != corun::WallsAround::nothing) json["placement"] = placement;
    if (walls == corun::WallsAround::computeAndMemory && !map.empty()) json["map"] = readJson(map);
    if (const auto profile = gpu::knownProfile(gpu, settings)) json["profile"] = profile->toJson();
    return json;
}

std::string labelOf(const SeriesSpec& spec) {
    return fmt::format("{} {} {}/{}", spec.gpu, spec.application, spec.method.name(), spec.partitions);
}

std::string nameOf(const SeriesSpec& spec) {
    return fmt::format("isolate-{}-{}", spec.application, spec.method.name());
}

nlohmann::ordered_json SeriesMeasurement::toJson() const {
    return {{"seconds", seconds},
            {"neighbour_runs", neighbourRuns},
            {"place", place.toJson()},
            {"wall_seconds", wallSeconds}};
}

SeriesMeasurement SeriesMeasurement::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    SeriesMeasurement f;
    f.seconds = o.get<std::vector<std::vector<double>>>("seconds");
    f.neighbourRuns = o.get<std::vector<std::uint64_t>>("neighbour_runs");
    f.place = corun::Place::fromJson(o.at("place"), where + ": place");
    f.wallSeconds = o.get<double>("wall_seconds");
    return f;
}

SeriesMeasurement execute(const SeriesSpec& spec) {
    const auto begin = std::chrono::steady_clock::now();
    const std::unique_ptr<corun::CoRun> coRun = corun::makeCoRun(coRunOf(spec));
    const gpu::Capabilities can = gpu::capabilitiesOf(spec.gpu);
    std::vector<Neighbourhood> neighbours = neighbourhoodsOf(spec, *coRun);
    corun::Actor& application = coRun->actor(0);
    const unsigned runs = can.deterministic ? 1 : runsOfABatch(application, kBatchSeconds);

    SeriesMeasurement measurement = takeSamples(application, neighbours, [&] { return coRun->place(0); },
                                                {spec.samples, runs, can.runsByItself, can.costly, delayOf(spec)});
    measurement.wallSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return measurement;
}

}  // namespace bulkhead::evaluation
