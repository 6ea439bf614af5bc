#include "stress/scenario.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/json.h"
#include "dissect/map_file.h"
#include "workloads/workload.h"

namespace bulkhead::stress {
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

AggressorSpec readAggressor(const json& j, const std::string& where) {
    AggressorSpec spec;
    if (j.is_string()) {
        spec.kind = parseAggressor(j.get<std::string>());
        return spec;
    }
    JsonObject o(j, where);
    std::string kind;
    o.read("kind", kind);
    spec.kind = parseAggressor(kind);
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

}  // namespace

json toJson(const ArenaSpec& spec) {
    json victim, aggressor = {{"kind", describe(spec.aggressor.kind).name}};
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

Options scenarioFromJson(const json& j, const std::string& where) {
    Options options;
    JsonObject o(j, where);
    readCommon(o, options.arena);
    const json* victim = o.find("victim");
    const bool named = victim && victim->contains("name");
    if (named && o.find("victims")) throw Error("{}: victims names them, victim must not as well", where);
    if (named) options.victims = {options.arena.victim.name};
    o.read("victims", options.victims);
    o.read("samples", options.samples);
    o.read("exceedance", options.exceedance);
    o.read("seconds_per_cell", options.secondsPerCell);
    std::vector<std::string> names = {"streams"};
    o.read("placements", names);
    options.placements.clear();
    for (const std::string& name : names) options.placements.push_back(parsePlacement(name));
    const json* aggressorList = o.find("aggressors");
    if (!aggressorList || !aggressorList->is_array()) throw Error("{}: aggressors must be a list", where);
    for (const json& aggressor : *aggressorList)
        options.aggressors.push_back(readAggressor(aggressor, where + ": aggressors"));
    o.finish();
    return options;
}

Options readScenario(const std::string& path) {
    return scenarioFromJson(readJson(path), path);
}

namespace {

void validateProgram(const std::string& victim, const Options& options) {
    for (const Placement placement : options.placements)
        if (placement != Placement::processes && placement != Placement::mps)
            throw Error("stress: {} is a process of its own: --placement processes or mps", victim);
    const std::filesystem::path program = wordsOf(victim).front();
    std::error_code unknown;
    const char* const several = "; of several victims each has a --victim of its own where one is a program";
    if (!std::filesystem::exists(program, unknown))
        throw Error("stress: {}: no such program{}", program.string(),
                    victim.find(',') == std::string::npos ? "" : several);
    if (std::filesystem::is_directory(program, unknown))
        throw Error("stress: {}: is a directory, no program", program.string());
    if (::access(program.c_str(), X_OK) != 0) throw Error("stress: {}: is not executable", program.string());
}

void validateVictim(const std::string& victim, const Options& options) {
    const bool own = std::find(ownVictims().begin(), ownVictims().end(), victim) != ownVictims().end();
    if (isProgram(victim)) {
        validateProgram(victim, options);
    } else if (!own) {
        workloads::find(victim);
    }
}

void validateTarget(const AggressorSpec& aggressor, const arch::AddressMap& map) {
    const std::uint64_t channels = map.channels();
    const std::uint64_t targets = aggressor.kind == AggressorKind::slice     ? map.slices()
                                  : aggressor.kind == AggressorKind::channel ? channels
                                  : aggressor.kind == AggressorKind::bank    ? channels * map.banksPerChannel()
                                                                             : std::uint64_t{aggressor.target} + 1;
    if (aggressor.target >= targets)
        throw Error("stress: no {} {}: there are {}, counted from 0", describe(aggressor.kind).name, aggressor.target,
                    targets);
}

void validateLimits(const VictimSpec& victim) {
    constexpr std::uint64_t kMostAccesses = std::uint64_t{1} << 32;
    expectBytes(victim.bytes);
    if (victim.accesses > kMostAccesses)
        throw Error("stress: {} accesses: choose {} at most", victim.accesses, kMostAccesses);
    if (victim.layout.warps > 32) throw Error("stress: {} warps of a block: choose from 1 to 32", victim.layout.warps);
    for (const double seconds : {victim.limitSeconds, victim.programLimitSeconds})
        if (!(seconds > 0)) throw Error("stress: a limit of {} s: choose more than 0", seconds);
    workloads::parseSize(victim.size);
}

}  // namespace

void validate(const Options& options) {
    std::optional<arch::AddressMap> map;
    if (!options.arena.gpu.starts_with("cuda:")) {
        arch::DeviceProfile profile = arch::findProfile(options.arena.gpu);
        arch::applySettings(profile, options.arena.settings);
        map = profile.map;
    }
    if (!options.arena.map.empty()) map = dissect::readMapFile(options.arena.map).map;
    if (options.samples == 0) throw Error("stress: 0 samples tell nothing");
    if (options.victims.empty() || options.aggressors.empty() || options.placements.empty())
        throw Error("stress: at least one victim, one aggressor and one placement");
    if (options.secondsPerCell < 0) throw Error("stress: {} s for a cell: choose 0 or more", options.secondsPerCell);
    if (!(options.exceedance > 0 && options.exceedance < 1))
        throw Error("stress: a probability of {} is not between 0 and 1", options.exceedance);
    for (const std::string& victim : options.victims) validateVictim(victim, options);
    for (const AggressorSpec& aggressor : options.aggressors) {
        validate(aggressor);
        if (map) validateTarget(aggressor, *map);
    }
    validateLimits(options.arena.victim);
}

}  // namespace bulkhead::stress
