#include "corun/in_process_aggressor.h"

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

CoRunSpec completed(CoRunSpec spec, const CacheShape& shape) {
    completeLayouts(spec, shape);
    return spec;
}

}  // namespace

std::string toText(const InProcessRequest& request) {
    return jsonText(json{{"corun", toJson(request.corun)}, {"start", request.start}, {"account", request.account}});
}

InProcessRequest inProcessFromText(const std::string& text) {
    const json j = parseJson(text, kInProcessVariable);
    JsonObject o(j, kInProcessVariable);
    return {coRunFromJson(o.at("corun"), kInProcessVariable), o.get<bool>("start"), o.get<std::string>("account")};
}

InProcessAccount readAccount(const std::string& file) {
    const std::string text = readFile(file);
    if (text.empty()) throw Error("the program ended without a kernel on the simulated GPU");
    const json j = parseJson(text, file);
    JsonObject o(j, file);
    return {runFromJson(o.at("program"), file), reportFromJson(o.at("aggressor"), file)};
}

void InProcessAggressor::prepare(const InProcessRequest& request) {
    driver::simulator().setSharing(request.corun.sharing.way == "mps");
}

InProcessAggressor::InProcessAggressor(InProcessRequest request)
    : request_(std::move(request)),
      gpu_(openGpu(request_.corun, watch_)),
      context_(gpu_.createContext(request_.corun.sharing.way == "mps")) {
    const CacheShape shape = CacheShape::of(gpu_);
    aggressor_ = std::make_unique<Aggressor>(
        context_, shape, std::get<AggressorSpec>(completed(request_.corun, shape).actors.at(1).what),
        memoryMapper(gpu_, request_.corun.map));
    if (request_.start) aggressor_->start(kStartSeconds);
    context_.api().cuCtxSetCurrent(nullptr);  // as the program expects it
}

void InProcessAggressor::finish() {
    const ActorReport report = request_.start ? aggressor_->stop() : ActorReport();
    context_.makeCurrent();
    std::vector<sim::LaunchId> own;
    driver::simulator().launches(&own);
    const std::set<sim::LaunchId> ofAggressor(own.begin(), own.end());
    std::vector<sim::LaunchId> ofProgram = watch_.ended();
    std::erase_if(ofProgram, [&](sim::LaunchId launch) { return ofAggressor.contains(launch); });
    const std::optional<ActorRun> run = runOfLaunches(ofProgram, *gpu_.simulator(), watch_);
    if (run) writeFile(request_.account, jsonText(json{{"program", toJson(*run)}, {"aggressor", toJson(report)}}));
}

}  // namespace bulkhead::corun
