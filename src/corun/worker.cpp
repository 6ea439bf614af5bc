#include "corun/worker.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "corun/protocol.h"
#include "corun/spec_json.h"
#include "experiment/json_worker.h"

namespace bulkhead::corun {
namespace {

using nlohmann::json;

/// The side of an arena that a process was asked to be.
class Side {
  public:
    json carryOut(JsonObject request) {
        if (!request.find("role")) return act(request);
        become(request);
        return json::object();
    }

  private:
    void become(JsonObject& request) {
        ArenaSpec spec = arenaFromJson(request.at("arena"), "request");
        victim_.reset();
        aggressor_.reset();
        if (!gpu_) {
            gpu::SimulationOptions options;
            options.settings = spec.settings;
            gpu_ = std::make_unique<gpu::Gpu>(gpu::Gpu::open(spec.gpu, options));
        }
        const CacheShape shape = CacheShape::of(*gpu_);
        completeLayouts(spec, shape);
        if (request.get<std::string>("role") == "victim") {
            victim_ = makeVictim(*gpu_, gpu_->context(), shape, spec.victim);
        } else {
            aggressor_ =
                std::make_unique<Aggressor>(gpu_->context(), shape, spec.aggressor, memoryMapper(*gpu_, spec.map));
        }
    }

    json act(JsonObject& request) {
        const auto what = request.get<std::string>("do");
        if (victim_ && what == "run") {
            const std::optional<VictimRun> run = victim_->run();
            return run ? toJson(*run) : json{{"hung", true}};
        }
        if (victim_ && what == "prepare") victim_->prepare();
        if (victim_ && what == "settle") victim_->settle();
        if (aggressor_ && what == "start") aggressor_->start(request.get<double>("limit_s"));
        if (aggressor_ && what == "stop") return toJson(aggressor_->stop());
        return json::object();
    }

    std::unique_ptr<gpu::Gpu> gpu_;
    std::unique_ptr<Victim> victim_;
    std::unique_ptr<Aggressor> aggressor_;
};

}  // namespace

int serveWorker() {
    Side side;
    return experiment::serveJson([&](const JsonObject& request) { return side.carryOut(request); });
}

}  // namespace bulkhead::corun
