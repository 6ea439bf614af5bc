#include "corun/in_process_aggressor.h"

#include <nlohmann/json.hpp>

#include "applications.ptx.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "corun/protocol.h"
#include "corun/spec_json.h"

namespace bulkhead::corun {
namespace {

using nlohmann::json;

constexpr double kStartSeconds = 10;  // simulated

CoRunSpec completed(CoRunSpec spec, const CacheGeometry& shape) {
    completeLayouts(spec, shape);
    return spec;
}

/// Whether program and aggressor do not take turns.
bool sideBySide(const InProcessRequest& request) {
    return !findSharing(request.corun.sharing.way).timeSliced;
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

InProcessAggressor::InProcessAggressor(InProcessRequest request)
    : request_(std::move(request)),
      gpu_(openGpu(request_.corun, watch_, sideBySide(request_))),
      context_(gpu_.createContext(sideBySide(request_))),
      launches_(gpu_, context_) {
    watch_.setCounters(gpu_.launchCounters());
    const CacheGeometry shape = CacheGeometry::of(gpu_);
    aggressor_ = std::make_unique<Aggressor>(
        context_, shape, std::get<AggressorSpec>(completed(request_.corun, shape).actors.at(1).what),
        memoryMapper(gpu_, request_.corun.map));
    if (!sideBySide(request_)) enterProgram();
    if (request_.start) aggressor_->start(kStartSeconds);
    context_.api().cuCtxSetCurrent(nullptr);  // as the program expects it
}

/// What made the aggressor ready has left the GPU to its context. The program finds it in its own, as if there had been
/// nobody else: to change over is no part of its time alone.
void InProcessAggressor::enterProgram() {
    gpu::Context& program = gpu_.context();
    gpu::Stream stream = program.createStream();
    gpu::LaunchLog entering(gpu_, program);
    program.load(kApplicationsPtx).kernel("nothing").launch(stream, {1}, {1}, 0);
    stream.synchronize();
    for (const gpu::Launch& launch : entering.launches()) notOfProgram_.insert(launch.id);
}

void InProcessAggressor::finish() {
    const ActorReport report = request_.start ? aggressor_->stop() : ActorReport();
    for (const gpu::Launch& launch : launches_.launches()) notOfProgram_.insert(launch.id);
    std::vector<gpu::Launch> ofProgram;
    for (const gpu::Launch& launch : watch_.ended())
        if (!notOfProgram_.contains(launch.id)) ofProgram.push_back(launch);
    const std::optional<ActorRun> run = runOfLaunches(ofProgram, gpu_.launchCounters(), watch_);
    if (run) writeFile(request_.account, jsonText(json{{"program", toJson(*run)}, {"aggressor", toJson(report)}}));
}

}  // namespace bulkhead::corun
