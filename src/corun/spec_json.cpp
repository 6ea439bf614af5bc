#include "corun/spec_json.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace bulkhead::corun {
namespace {

using nlohmann::json;

// Names of what a spec says; for reading and for writing.

template <class Visit>
void visitLayout(auto& layout, Visit& visit) {
    visit("blocks", layout.blocks);
    visit("warps", layout.warps);
    visit("sms", layout.sms);
}

template <class Visit>
void visitVictim(auto& spec, Visit visit) {
    visit("name", spec.name);
    visit("bytes", spec.bytes);
    visit("accesses", spec.accesses);
    visit("size", spec.size);
    visit("seed", spec.seed);
    visit("cold", spec.cold);
    visit("wall_clock", spec.wallClock);
    visit("limit_s", spec.limitSeconds);
    visit("program_limit_s", spec.programLimitSeconds);
    visitLayout(spec.layout, visit);
}

/// All but its kind.
template <class Visit>
void visitAggressor(auto& spec, Visit visit) {
    visit("name", spec.name);
    visit("sm_count", spec.sms);
    visit("lanes", spec.lanes);
    visit("stride_lines", spec.strideLines);
    visit("duty_percent", spec.dutyPercent);
    visit("gb_per_s", spec.gigabytesPerSecond);
    visit("bytes", spec.bytes);
    visit("target", spec.target);
    visit("seed", spec.seed);
    visitLayout(spec.layout, visit);
}

template <class Visit>
void visitCoRun(auto& spec, Visit visit) {
    visit("gpu", spec.gpu);
    visit("settings", spec.settings);
    visit("scheduler", spec.scheduler);
    visit("watched", spec.watched);
    visit("separate", spec.separate);
    visit("map", spec.map);
    visit("share_sms", spec.shareSms);
}

template <class Visit>
void visitSharing(auto& spec, Visit visit) {
    visit("way", spec.way);
    visit("partitions", spec.partitions);
    visit("limit_threads", spec.limitThreads);
    visit("block_placement", spec.blockPlacement);
    visit("limit_memory", spec.limitMemory);
    visit("leased", spec.leased);
    visit("processes", spec.processes);
}

auto readingFrom(JsonObject& o) {
    return [&o](const char* key, auto& value) { o.read(key, value); };
}

auto writingTo(json& j) {
    return [&j](const char* key, const auto& value) { j[key] = value; };
}

}  // namespace

void readVictim(const json& j, const std::string& where, VictimSpec& spec) {
    JsonObject o(j, where);
    visitVictim(spec, readingFrom(o));
    o.finish();
}

AggressorSpec readAggressor(const json& j, const std::string& where) {
    AggressorSpec spec;
    if (j.is_string()) {
        spec.kind = findAggressor(j.get<std::string>()).name;
        return spec;
    }
    JsonObject o(j, where);
    o.read("kind", spec.kind);
    findAggressor(spec.kind);
    visitAggressor(spec, readingFrom(o));
    o.finish();
    return spec;
}

json toJson(const VictimSpec& spec) {
    json j;
    visitVictim(spec, writingTo(j));
    return j;
}

json toJson(const AggressorSpec& spec) {
    json j = {{"kind", spec.kind}};
    visitAggressor(spec, writingTo(j));
    return j;
}

json toJson(const CoRunSpec& spec) {
    json actors = json::array();
    for (const ActorSpec& actor : spec.actors) {
        json j = {{"partition", actor.partition}};
        if (const auto* victim = std::get_if<VictimSpec>(&actor.what)) j["victim"] = toJson(*victim);
        if (const auto* aggressor = std::get_if<AggressorSpec>(&actor.what)) j["aggressor"] = toJson(*aggressor);
        if (const auto* application = std::get_if<ApplicationSpec>(&actor.what))
            j["application"] = {{"name", application->name},
                                {"size", workloads::sizeName(application->size)},
                                {"seed", application->seed}};
        actors.push_back(j);
    }
    json j = {{"actors", actors}}, sharing;
    visitCoRun(spec, writingTo(j));
    visitSharing(spec.sharing, writingTo(sharing));
    j["sharing"] = sharing;
    return j;
}

namespace {

ApplicationSpec readApplication(const json& j, const std::string& where) {
    JsonObject o(j, where);
    ApplicationSpec spec{o.get<std::string>("name"), workloads::parseSize(o.get<std::string>("size")),
                         o.get<std::uint64_t>("seed")};
    o.finish();
    return spec;
}

ActorSpec readActor(const json& j, const std::string& where) {
    ActorSpec spec;
    JsonObject o(j, where);
    o.read("partition", spec.partition);
    if (const json* victim = o.find("victim")) {
        VictimSpec what;
        readVictim(*victim, where + ": victim", what);
        spec.what = what;
    } else if (const json* aggressor = o.find("aggressor")) {
        spec.what = readAggressor(*aggressor, where + ": aggressor");
    } else {
        spec.what = readApplication(o.at("application"), where + ": application");
    }
    o.finish();
    return spec;
}

}  // namespace

CoRunSpec coRunFromJson(const json& j, const std::string& where) {
    CoRunSpec spec;
    JsonObject o(j, where);
    visitCoRun(spec, readingFrom(o));
    JsonObject sharing(o.at("sharing"), where + ": sharing");
    visitSharing(spec.sharing, readingFrom(sharing));
    sharing.finish();
    findSharing(spec.sharing.way);
    for (const json& actor : o.at("actors")) spec.actors.push_back(readActor(actor, where + ": actors"));
    o.finish();
    return spec;
}

}  // namespace bulkhead::corun
