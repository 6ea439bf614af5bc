#include "stress/sample.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "corun/aggressor.h"
#include "corun/protocol.h"
#include "corun/spec_json.h"
#include "gpu/known_profile.h"

namespace bulkhead::stress {
namespace {

constexpr const char *kRoom = "room", *kTimeSlicing = "time_slicing";

nlohmann::ordered_json toJson(const corun::Causes& causes) {
    nlohmann::ordered_json json;
    for (std::size_t i = 0; i < sim::kResources; ++i) json[std::string(sim::kResourceNames[i])] = causes.byResource[i];
    json[kRoom] = causes.room;
    json[kTimeSlicing] = causes.timeSlicing;
    return json;
}

corun::Causes causesFromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    corun::Causes causes;
    for (std::size_t i = 0; i < sim::kResources; ++i)
        causes.byResource[i] = o.get<double>(std::string(sim::kResourceNames[i]));
    causes.room = o.get<double>(kRoom);
    causes.timeSlicing = o.get<double>(kTimeSlicing);
    return causes;
}

}  // namespace

nlohmann::ordered_json describe(const SampleSpec& spec) {
    const corun::PairSpec& pair = spec.pair;
    return {{"gpu", pair.gpu},
            {"settings", pair.settings},
            {"separate", pair.separate},
            {"map", pair.map},
            {"sharing", pair.sharing},
            {"share_sms", pair.shareSms},
            {"victim", corun::toJson(pair.victim)},
            {"seed", pair.seed},
            {"aggressor", corun::toJson(pair.aggressor)},
            {"explain", spec.explain}};
}

nlohmann::ordered_json SampleSpec::toJson() const {
    nlohmann::ordered_json json = describe(*this);
    if (!pair.map.empty()) json["map"] = readJson(pair.map);
    if (const auto profile = gpu::knownProfile(pair.gpu, pair.settings)) json["profile"] = profile->toJson();
    if (corun::isProgram(pair.victim.name))
        json["program_bytes"] = experiment::fingerprint(readFile(corun::wordsOf(pair.victim.name).front(), 4_GiB));
    return json;
}

SampleSpec SampleSpec::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    SampleSpec spec;
    spec.pair.gpu = o.get<std::string>("gpu");
    spec.pair.settings = o.get<std::vector<std::string>>("settings");
    spec.pair.separate = o.get<std::vector<std::string>>("separate");
    spec.pair.map = o.get<std::string>("map");
    spec.pair.sharing = o.get<std::string>("sharing");
    spec.pair.shareSms = o.get<bool>("share_sms");
    spec.pair.seed = o.get<std::uint64_t>("seed");
    corun::readVictim(o.at("victim"), where + ": victim", spec.pair.victim);
    spec.pair.aggressor = corun::readAggressor(o.at("aggressor"), where + ": aggressor");
    spec.explain = o.get<bool>("explain");
    o.finish();
    return spec;
}

std::string nameOf(const SampleSpec& spec) {
    const std::string victim = corun::isProgram(spec.pair.victim.name) ? "program" : spec.pair.victim.name;
    return fmt::format("stress-{}-{}", victim, spec.pair.aggressor.kind);
}

std::string labelOf(const SampleSpec& spec) {
    return fmt::format("{} beside {}", spec.pair.victim.name, corun::nameOf(spec.pair.aggressor));
}

nlohmann::ordered_json SampleMeasurement::toJson() const {
    nlohmann::ordered_json json = {{"failed", pairing.failed},
                                   {"hung", pairing.hung},
                                   {"apart", pairing.apart},
                                   {"why", pairing.why},
                                   {"pairs", nlohmann::ordered_json::array()}};
    for (const corun::Pair& pair : pairing.pairs)
        json["pairs"].push_back({{"alone", corun::toJson(pair.alone)},
                                 {"together", corun::toJson(pair.together)},
                                 {"aggressor", corun::toJson(pair.aggressor)}});
    if (causes) json["causes"] = stress::toJson(*causes);
    if (encounter) json["encounter"] = encounter->toJson();
    return json;
}

SampleMeasurement SampleMeasurement::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    SampleMeasurement m;
    m.pairing.failed = o.get<unsigned>("failed");
    m.pairing.hung = o.get<unsigned>("hung");
    m.pairing.apart = o.get<unsigned>("apart");
    m.pairing.why = o.get<std::string>("why");
    for (const nlohmann::json& one : o.at("pairs")) {
        JsonObject pair(one, where + ": pairs");
        m.pairing.pairs.push_back({corun::runFromJson(pair.at("alone"), where + ": alone"),
                                   corun::runFromJson(pair.at("together"), where + ": together"),
                                   corun::reportFromJson(pair.at("aggressor"), where + ": aggressor")});
    }
    if (const nlohmann::json* causes = o.find("causes")) m.causes = causesFromJson(*causes, where + ": causes");
    if (const nlohmann::json* met = o.find("encounter"))
        m.encounter = corun::Encounter::fromJson(*met, where + ": encounter");
    return m;
}

SampleMeasurement measureSample(corun::CoRun& coRun) {
    SampleMeasurement m;
    m.pairing = corun::measurePairs(coRun.actor(corun::kVictim), coRun.actor(corun::kAggressor), 1);
    return m;
}

SampleMeasurement execute(const SampleSpec& spec) {
    corun::loadModulesEagerly();
    SampleMeasurement m = measureSample(*corun::makeCoRun(corun::coRunOf(spec.pair)));
    if (spec.explain) explain(spec, m);
    return m;
}

void explain(const SampleSpec& spec, SampleMeasurement& m) {
    const bool simulated = gpu::capabilitiesOf(spec.pair.gpu).deterministic;
    if (!simulated || m.pairing.pairs.empty()) return;
    corun::CoRunSpec coRun = corun::coRunOf(spec.pair);
    m.causes = explainPair(coRun, m.pairing.pairs.front());
    coRun.followed = true;
    const std::unique_ptr<corun::CoRun> followed = corun::makeCoRun(coRun);
    if (followed->watch() == nullptr) return;
    const SampleMeasurement again = measureSample(*followed);
    if (!again.pairing.pairs.empty()) m.encounter = encounterOf(*followed->watch(), again.pairing.pairs.front());
}

}  // namespace bulkhead::stress
