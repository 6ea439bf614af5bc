#include "stress/scenario.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "dissect/map_file.h"
#include "workloads/workload.h"

namespace bulkhead::stress {
namespace {

using nlohmann::json;

/// An object of a file: every key that is read is known, and finish() refuses the others.
class Object {
  public:
    Object(const json& j, std::string where) : json_(j), where_(std::move(where)) {
        if (!json_.is_object()) throw Error("{}: must be an object", where_);
    }
    template <class T>
    void read(const char* key, T& value) {
        known_.push_back(key);
        if (!json_.contains(key)) return;
        try {
            if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>)
                if (!json_[key].is_number_unsigned()) throw Error("{}: {} must be a whole number", where_, key);
            json_[key].get_to(value);
        } catch (const json::exception&) {
            throw Error("{}: {} has the wrong type", where_, key);
        }
    }
    const json* find(const char* key) {
        known_.push_back(key);
        return json_.contains(key) ? &json_[key] : nullptr;
    }
    void finish() const {
        for (const auto& [key, value] : json_.items())
            if (std::find(known_.begin(), known_.end(), key) == known_.end())
                throw Error("{}: unknown key {}", where_, key);
    }
    const std::string& where() const { return where_; }

  private:
    const json& json_;
    std::string where_;
    std::vector<std::string> known_;
};

void readLayout(Object& o, Layout& layout) {
    o.read("blocks", layout.blocks);
    o.read("warps", layout.warps);
    o.read("sms", layout.multiprocessors);
    if (layout.blocks && !layout.warps) layout.warps = 32;
}

void addLayout(json& j, const Layout& layout) {
    j["blocks"] = layout.blocks;
    j["warps"] = layout.warps;
    j["sms"] = layout.multiprocessors;
}

void readVictim(const json& j, const std::string& where, VictimSpec& spec) {
    Object o(j, where);
    o.read("name", spec.name);
    o.read("bytes", spec.bytes);
    o.read("accesses", spec.accesses);
    o.read("size", spec.size);
    o.read("seed", spec.seed);
    o.read("cold", spec.cold);
    o.read("limit_s", spec.limitSeconds);
    readLayout(o, spec.layout);
    o.finish();
}

AggressorSpec readAggressor(const json& j, const std::string& where) {
    AggressorSpec spec;
    if (j.is_string()) {
        spec.kind = parseAggressor(j.get<std::string>());
        return spec;
    }
    Object o(j, where);
    std::string kind;
    o.read("kind", kind);
    spec.kind = parseAggressor(kind);
    o.read("lanes", spec.lanes);
    o.read("duty_percent", spec.dutyPercent);
    o.read("gb_per_s", spec.gigabytesPerSecond);
    o.read("bytes", spec.bytes);
    o.read("target", spec.target);
    o.read("seed", spec.seed);
    readLayout(o, spec.layout);
    o.finish();
    return spec;
}

void readCommon(Object& o, ArenaSpec& spec) {
    o.read("gpu", spec.gpu);
    o.read("settings", spec.settings);
    o.read("map", spec.map);
    o.read("share_sms", spec.shareMultiprocessors);
    o.read("seed", spec.seed);
    if (const json* victim = o.find("victim")) readVictim(*victim, o.where() + ": victim", spec.victim);
}

}  // namespace

json toJson(const ArenaSpec& spec) {
    json victim = {{"name", spec.victim.name}, {"bytes", spec.victim.bytes}, {"accesses", spec.victim.accesses},
                   {"size", spec.victim.size}, {"seed", spec.victim.seed},   {"limit_s", spec.victim.limitSeconds},
                   {"cold", spec.victim.cold}};
    addLayout(victim, spec.victim.layout);
    const AggressorSpec& a = spec.aggressor;
    json aggressor = {{"kind", describe(a.kind).name},
                      {"lanes", a.lanes},
                      {"duty_percent", a.dutyPercent},
                      {"gb_per_s", a.gigabytesPerSecond},
                      {"bytes", a.bytes},
                      {"target", a.target},
                      {"seed", a.seed}};
    addLayout(aggressor, a.layout);
    return {{"gpu", spec.gpu},   {"settings", spec.settings},
            {"map", spec.map},   {"share_sms", spec.shareMultiprocessors},
            {"seed", spec.seed}, {"placement", placementName(spec.placement)},
            {"victim", victim},  {"aggressor", aggressor}};
}

ArenaSpec arenaFromJson(const json& j, const std::string& where) {
    ArenaSpec spec;
    Object o(j, where);
    readCommon(o, spec);
    std::string placement(placementName(spec.placement));
    o.read("placement", placement);
    spec.placement = parsePlacement(placement);
    if (const json* aggressor = o.find("aggressor")) spec.aggressor = readAggressor(*aggressor, where + ": aggressor");
    o.finish();
    return spec;
}

Options readScenario(const std::string& path) {
    const json j = parseJson(readFile(path), path);
    Options options;
    Object o(j, path);
    readCommon(o, options.arena);
    o.read("victims", options.victims);
    o.read("samples", options.samples);
    o.read("exceedance", options.exceedance);
    o.read("seconds_per_cell", options.secondsPerCell);
    std::vector<std::string> names = {"streams"};
    o.read("placements", names);
    options.placements.clear();
    for (const std::string& name : names) options.placements.push_back(parsePlacement(name));
    const json* aggressorList = o.find("aggressors");
    if (!aggressorList || !aggressorList->is_array()) throw Error("{}: aggressors must be a list", path);
    for (const json& aggressor : *aggressorList)
        options.aggressors.push_back(readAggressor(aggressor, path + ": aggressors"));
    o.finish();
    return options;
}

namespace {

void validateProgram(const std::string& program, const Options& options) {
    if (options.arena.gpu.starts_with("sim:"))
        throw Error("stress: {} is a process of its own, and a simulated GPU is in one process only: --gpu cuda:N",
                    program);
    for (const Placement placement : options.placements)
        if (placement != Placement::processes && placement != Placement::mps)
            throw Error("stress: {} is a process of its own: --placement processes or mps", program);
}

}  // namespace

void validate(const Options& options) {
    if (options.samples == 0) throw Error("stress: 0 samples tell nothing");
    if (!(options.exceedance > 0 && options.exceedance < 1))
        throw Error("stress: a probability of {} is not between 0 and 1", options.exceedance);
    for (const std::string& victim : options.victims) {
        const bool own = std::find(ownVictims().begin(), ownVictims().end(), victim) != ownVictims().end();
        if (isProgram(victim)) {
            validateProgram(victim, options);
        } else if (!own) {
            workloads::find(victim);
        }
    }
    workloads::parseSize(options.arena.victim.size);
    if (!options.arena.map.empty()) dissect::readMapFile(options.arena.map);  // refuses one that cannot be read
}

}  // namespace bulkhead::stress
