#include "corun/spec_json.h"

#include <nlohmann/json.hpp>

namespace bulkhead::corun {
namespace {

using nlohmann::json;

// Names of what a spec says; for reading and for writing.

template <class Visit>
void visitLayout(auto& layout, Visit& visit) {
    visit("blocks", layout.blocks);
    visit("warps", layout.warps);
    visit("sms", layout.multiprocessors);
}

template <class Visit>
void visitVictim(auto& spec, Visit visit) {
    visit("name", spec.name);
    visit("bytes", spec.bytes);
    visit("accesses", spec.accesses);
    visit("size", spec.size);
    visit("seed", spec.seed);
    visit("cold", spec.cold);
    visit("limit_s", spec.limitSeconds);
    visit("program_limit_s", spec.programLimitSeconds);
    visitLayout(spec.layout, visit);
}

/// All but its kind.
template <class Visit>
void visitAggressor(auto& spec, Visit visit) {
    visit("name", spec.name);
    visit("sm_count", spec.multiprocessors);
    visit("lanes", spec.lanes);
    visit("duty_percent", spec.dutyPercent);
    visit("gb_per_s", spec.gigabytesPerSecond);
    visit("bytes", spec.bytes);
    visit("target", spec.target);
    visit("seed", spec.seed);
    visitLayout(spec.layout, visit);
}

auto readingFrom(JsonObject& o) {
    return [&o](const char* key, auto& value) { o.read(key, value); };
}

auto writingTo(json& j) {
    return [&j](const char* key, const auto& value) { j[key] = value; };
}

void completeWarps(Layout& layout) {
    if (layout.blocks && !layout.warps) layout.warps = 32;
}

void readVictim(const json& j, const std::string& where, VictimSpec& spec) {
    JsonObject o(j, where);
    visitVictim(spec, readingFrom(o));
    o.finish();
    completeWarps(spec.layout);
}

}  // namespace

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
    completeWarps(spec.layout);
    return spec;
}

void readCommon(JsonObject& o, ArenaSpec& spec) {
    o.read("gpu", spec.gpu);
    o.read("settings", spec.settings);
    o.read("map", spec.map);
    o.read("share_sms", spec.shareMultiprocessors);
    o.read("seed", spec.seed);
    if (const json* victim = o.find("victim")) readVictim(*victim, o.where() + ": victim", spec.victim);
}

json toJson(const ArenaSpec& spec) {
    json victim, aggressor = {{"kind", spec.aggressor.kind}};
    visitVictim(spec.victim, writingTo(victim));
    visitAggressor(spec.aggressor, writingTo(aggressor));
    return {{"gpu", spec.gpu},   {"settings", spec.settings},
            {"map", spec.map},   {"share_sms", spec.shareMultiprocessors},
            {"seed", spec.seed}, {"placement", placementName(spec.placement)},
            {"victim", victim},  {"aggressor", aggressor}};
}

ArenaSpec arenaFromJson(const json& j, const std::string& where) {
    ArenaSpec spec;
    JsonObject o(j, where);
    readCommon(o, spec);
    std::string placement(placementName(spec.placement));
    o.read("placement", placement);
    spec.placement = parsePlacement(placement);
    if (const json* aggressor = o.find("aggressor")) spec.aggressor = readAggressor(*aggressor, where + ": aggressor");
    o.finish();
    return spec;
}

}  // namespace bulkhead::corun
