#include "stress/scenario.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/schema.h"
#include "corun/aggressor.h"
#include "corun/spec_json.h"
#include "dissect/map_file.h"
#include "gpu/known_profile.h"
#include "workloads/workload.h"

namespace bulkhead::stress {

using nlohmann::json;

namespace {

void completeWarps(corun::Layout& layout) {
    if (layout.blocks && !layout.warps) layout.warps = 32;
}

void readCommon(JsonObject& o, corun::PairSpec& spec) {
    o.read("gpu", spec.gpu);
    o.read("settings", spec.settings);
    o.read("separate", spec.separate);
    o.read("map", spec.map);
    o.read("share_sms", spec.shareSms);
    o.read("seed", spec.seed);
    if (const json* victim = o.find("victim")) corun::readVictim(*victim, o.where() + ": victim", spec.victim);
    completeWarps(spec.victim.layout);
}

}  // namespace

const std::vector<std::string>& waysOfSharing() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> names;
        for (const corun::SharingWay& way : corun::sharingWays()) names.emplace_back(way.name);
        return names;
    }();
    return all;
}

std::string wayOfSharing(const std::string& name) {
    return std::string(corun::findSharing(name).name);
}

Options scenarioFromJson(const json& j, const std::string& where) {
    Options options;
    JsonObject o(j, where);
    schemas::kScenario.expectIn(o);
    readCommon(o, options.pair);
    const json* victim = o.find("victim");
    const bool named = victim && victim->contains("name");
    if (named && o.find("victims"))
        throw Error("{}: give the victim's name either in victims or in victim, not in both", where);
    if (named) options.victims = {options.pair.victim.name};
    o.read("victims", options.victims);
    o.read("samples", options.samples);
    o.read("explained", options.explained);
    o.read("search_budget", options.searchBudget);
    o.read("exceedance", options.exceedance);
    o.read("seconds_per_cell", options.secondsPerCell);
    std::vector<std::string> names = {"streams"};
    o.read("sharing", names);
    options.sharing.clear();
    for (const std::string& name : names) options.sharing.push_back(wayOfSharing(name));
    const json* aggressorList = o.find("aggressors");
    if (!aggressorList || !aggressorList->is_array()) throw Error("{}: aggressors must be a list", where);
    for (const json& aggressor : *aggressorList) {
        options.aggressors.push_back(corun::readAggressor(aggressor, where + ": aggressors"));
        completeWarps(options.aggressors.back().layout);
    }
    o.finish();
    return options;
}

Options readScenario(const std::string& path) {
    return scenarioFromJson(readJson(path), path);
}

namespace {

void validateProgram(const std::string& victim, const Options& options) {
    std::vector<std::string_view> ofProcesses;
    for (const corun::SharingWay& way : corun::sharingWays())
        if (way.separateProcesses) ofProcesses.push_back(way.name);
    for (const std::string& sharing : options.sharing)
        if (!corun::findSharing(sharing).separateProcesses)
            throw Error("stress: {} runs in its own process: use --sharing {}", victim, fmt::join(ofProcesses, " or "));
    const std::filesystem::path program = corun::wordsOf(victim).front();
    std::error_code unknown;
    const char* const several = "; give each program its own --victim option";
    if (!std::filesystem::exists(program, unknown))
        throw Error("stress: {}: no such program{}", program.string(),
                    victim.find(',') == std::string::npos ? "" : several);
    if (std::filesystem::is_directory(program, unknown))
        throw Error("stress: {}: is a directory, not a program", program.string());
    if (::access(program.c_str(), X_OK) != 0) throw Error("stress: {}: is not executable", program.string());
}

void validateVictim(const std::string& victim, const Options& options) {
    const bool own =
        std::find(corun::ownVictims().begin(), corun::ownVictims().end(), victim) != corun::ownVictims().end();
    if (corun::isProgram(victim)) {
        validateProgram(victim, options);
    } else if (!own) {
        workloads::find(victim);
    }
}

void validateTarget(const corun::AggressorSpec& aggressor, const arch::AddressMap& map) {
    const corun::AggressorType& type = corun::findAggressor(aggressor.kind);
    if (type.targets && aggressor.target >= type.targets(map))
        throw Error("stress: no {} {}: the GPU has {}, counted from 0", type.name, aggressor.target, type.targets(map));
}

void validateLimits(const corun::VictimSpec& victim) {
    constexpr std::uint64_t kMostAccesses = std::uint64_t{1} << 32;
    corun::expectBytes(victim.bytes);
    if (victim.accesses > kMostAccesses)
        throw Error("stress: {} accesses: choose at most {}", victim.accesses, kMostAccesses);
    if (victim.layout.warps > 32) throw Error("stress: {} warps per block: choose from 1 to 32", victim.layout.warps);
    for (const double seconds : {victim.limitSeconds, victim.programLimitSeconds})
        if (!(seconds > 0)) throw Error("stress: time limit of {} s: choose more than 0", seconds);
    workloads::parseSize(victim.size);
}

}  // namespace

void expectProbability(double exceedance) {
    if (!(exceedance > 0 && exceedance < 1))
        throw Error("stress: exceedance {} is not a probability between 0 and 1", exceedance);
}

void validate(const Options& options) {
    std::optional<arch::AddressMap> map;
    if (const auto profile = gpu::knownProfile(options.pair.gpu, options.pair.settings)) map = profile->map;
    if (!options.pair.map.empty()) map = dissect::readMapFile(options.pair.map).map;
    if (options.samples == 0) throw Error("stress: 0 samples: choose at least 1");
    if (options.victims.empty() || options.aggressors.empty() || options.sharing.empty())
        throw Error("stress: name at least one victim, one aggressor and one way of sharing");
    if (options.secondsPerCell < 0) throw Error("stress: {} s per cell: choose 0 or more", options.secondsPerCell);
    expectProbability(options.exceedance);
    for (const std::string& victim : options.victims) validateVictim(victim, options);
    for (const corun::AggressorSpec& aggressor : options.aggressors) {
        corun::validate(aggressor);
        if (map) validateTarget(aggressor, *map);
    }
    validateLimits(options.pair.victim);
    sim::resourcesOf(options.pair.separate);
    if (!options.pair.separate.empty() && !gpu::capabilitiesOf(options.pair.gpu).settable)
        throw Error("stress: {} cannot separate resources: that works on simulated GPUs only", options.pair.gpu);
}

}  // namespace bulkhead::stress
