#include "corun/encounter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "corun/placed_kernel.h"

namespace bulkhead::corun {
namespace {

using Moment = MachineWatch::Moment;

/// A persistent kernel, which is stopped after the victim's run: the last that ended.
std::optional<std::uint32_t> aggressorIn(const MachineWatch& watch) {
    return watch.ended().empty() ? std::nullopt : std::optional(watch.ended().back().id);
}

struct Requests {
    std::uint64_t victim = 0, aggressor = 0;
};

Requests requestsIn(const Moment& moment, std::uint32_t aggressor) {
    Requests sum;
    for (const auto& [launch, count] : moment.requests) (launch == aggressor ? sum.aggressor : sum.victim) += count;
    return sum;
}

/// What was asked of the L2 from one moment to another, in stretches that follow `offsetUs`.
void addStretches(Encounter& e, const MachineWatch& watch, std::uint32_t aggressor, std::uint64_t startNs,
                  std::uint64_t endNs, double offsetUs) {
    const auto at = [&](const Moment& moment) { return offsetUs + static_cast<double>(moment.ns - startNs) * 1e-3; };
    const Moment* before = nullptr;
    for (const Moment& moment : watch.moments()) {
        if (moment.ns < startNs || moment.ns > endNs) continue;
        if (before != nullptr) {
            const Requests from = requestsIn(*before, aggressor), to = requestsIn(moment, aggressor);
            e.stretches.push_back({at(*before), at(moment), to.victim - from.victim, to.aggressor - from.aggressor});
        }
        before = &moment;
    }
}

void addEvictions(Encounter& e, const MachineWatch& watch, std::uint32_t aggressor, std::uint64_t startNs,
                  std::uint64_t endNs) {
    for (const MachineWatch::Eviction& one : watch.evictions()) {
        if (one.ns < startNs || one.ns > endNs) continue;
        const bool ofAggressor = one.owner == aggressor, byAggressor = one.evictor == aggressor;
        e.evictions[ofAggressor ? Encounter::aggressor : Encounter::victim]
                   [byAggressor ? Encounter::aggressor : Encounter::victim] += one.count;
        if (ofAggressor || !byAggressor) continue;
        e.lostBySlice.resize(std::max<std::size_t>(e.lostBySlice.size(), one.slice + 1));
        e.lostBySlice[one.slice] += one.count;
    }
}

}  // namespace

std::optional<Encounter> encounterOf(const MachineWatch& watch, const Pair& pair) {
    const ActorRun &alone = pair.alone, &together = pair.together;
    if (together.sms.empty() || alone.endNs == 0 || together.endNs == 0) return std::nullopt;
    const std::optional<std::uint32_t> launch = aggressorIn(watch);
    if (!launch || !disjoint(together.sms, pair.aggressor.sms)) return std::nullopt;
    Encounter e;
    addStretches(e, watch, *launch, alone.startNs, alone.endNs, 0);
    e.togetherUs = static_cast<double>(alone.endNs - alone.startNs) * 1e-3;
    addStretches(e, watch, *launch, together.startNs, together.endNs, e.togetherUs);
    addEvictions(e, watch, *launch, together.startNs, together.endNs);
    return e;
}

nlohmann::ordered_json Encounter::toJson() const {
    nlohmann::ordered_json json = {{"together_us", togetherUs},
                                   {"evictions", evictions},
                                   {"lost_by_slice", lostBySlice},
                                   {"stretches", nlohmann::ordered_json::array()}};
    for (const Stretch& s : stretches) json["stretches"].push_back({s.beginUs, s.endUs, s.victim, s.aggressor});
    return json;
}

Encounter Encounter::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    Encounter e;
    e.togetherUs = o.get<double>("together_us");
    const auto evictions = o.get<std::vector<std::vector<std::uint64_t>>>("evictions");
    if (evictions.size() != 2 || evictions[0].size() != 2 || evictions[1].size() != 2)
        throw Error("{}: evictions is not of two by two", where);
    for (std::size_t whose = 0; whose < 2; ++whose)
        for (std::size_t by = 0; by < 2; ++by) e.evictions[whose][by] = evictions[whose][by];
    e.lostBySlice = o.get<std::vector<std::uint64_t>>("lost_by_slice");
    for (const nlohmann::json& one : o.at("stretches")) {
        if (!one.is_array() || one.size() != 4) throw Error("{}: a stretch is not of four numbers", where);
        e.stretches.push_back({jsonAs<double>(one[0], where), jsonAs<double>(one[1], where),
                               jsonAs<std::uint64_t>(one[2], where), jsonAs<std::uint64_t>(one[3], where)});
    }
    o.finish();
    return e;
}

}  // namespace bulkhead::corun
