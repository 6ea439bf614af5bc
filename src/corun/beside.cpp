#include "corun/beside.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "corun/protocol.h"
#include "corun/spec_json.h"
#include "driver/simulator_api.h"

namespace bulkhead::corun {
namespace {

using nlohmann::json;

constexpr double kStartSeconds = 10;  // simulated

ArenaSpec completed(ArenaSpec spec, const CacheShape& shape) {
    completeLayouts(spec, shape);
    return spec;
}

}  // namespace

std::string toText(const BesideRequest& request) {
    return jsonText(json{{"arena", toJson(request.arena)}, {"start", request.start}, {"account", request.account}});
}

BesideRequest besideFromText(const std::string& text) {
    const json j = parseJson(text, kBesideVariable);
    JsonObject o(j, kBesideVariable);
    return {arenaFromJson(o.at("arena"), kBesideVariable), o.get<bool>("start"), o.get<std::string>("account")};
}

BesideAccount readAccount(const std::string& file) {
    const std::string text = readFile(file);
    if (text.empty()) throw Error("the program ended without a kernel on the simulated GPU");
    const json j = parseJson(text, file);
    JsonObject o(j, file);
    return {runFromJson(o.at("program"), file), reportFromJson(o.at("aggressor"), file)};
}

void Beside::prepare(const BesideRequest& request) {
    driver::simulator().setSharing(request.arena.placement == Placement::mps);
}

Beside::Beside(BesideRequest request)
    : request_(std::move(request)),
      gpu_(openGpu(request_.arena, watch_)),
      context_(gpu_.createContext(request_.arena.placement == Placement::mps)) {
    const CacheShape shape = CacheShape::of(gpu_);
    aggressor_ = std::make_unique<Aggressor>(context_, shape, completed(request_.arena, shape).aggressor,
                                             memoryMapper(gpu_, request_.arena.map));
    if (request_.start) aggressor_->start(kStartSeconds);
    context_.api().cuCtxSetCurrent(nullptr);  // as the program expects it
}

void Beside::finish() {
    const AggressorReport report = request_.start ? aggressor_->stop() : AggressorReport();
    context_.makeCurrent();
    std::vector<sim::LaunchId> own;
    driver::simulator().launches(&own);
    const std::set<sim::LaunchId> ofAggressor(own.begin(), own.end());
    std::vector<sim::LaunchId> ofProgram = watch_.ended();
    std::erase_if(ofProgram, [&](sim::LaunchId launch) { return ofAggressor.contains(launch); });
    const std::optional<VictimRun> run = runOfLaunches(ofProgram, *gpu_.simulator(), watch_);
    if (run) writeFile(request_.account, jsonText(json{{"program", toJson(*run)}, {"aggressor", toJson(report)}}));
}

}  // namespace bulkhead::corun
