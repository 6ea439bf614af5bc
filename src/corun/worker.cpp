#include "corun/worker.h"

#include <nlohmann/json.hpp>

#include "corun/corun.h"
#include "corun/protocol.h"
#include "corun/spec_json.h"
#include "experiment/json_worker.h"
#include "gpu/real_driver.h"

namespace bulkhead::corun {
namespace {

using nlohmann::json;

/// The actor that a process was asked to be.
class Served {
  public:
    json carryOut(JsonObject request) {
        const auto what = request.get<std::string>("do");
        if (what == "be") {
            be(coRunFromJson(request.at("corun"), "request"), request.get<std::size_t>("actor"));
            return json::object();
        }
        if (!coRun_) throw Error("request: there is no actor yet");
        Actor& actor = coRun_->actor(index_);
        if (what == "run") {
            const std::optional<ActorRun> run = actor.run({request.get<unsigned>("rounds"), {}});
            return run ? toJson(*run) : json{{"hung", true}};
        }
        if (what == "stop") return toJson(actor.stop());
        if (what == "completed") return {{"runs", actor.completed()}};
        if (what == "place") return json(coRun_->place(index_).toJson());
        if (what == "memory") {
            const TakenMemory taken = coRun_->takeMemory(index_);
            return {{"bytes", taken.bytes}, {"refusal", taken.refusal}};
        }
        if (what == "prepare") return done([&] { actor.prepare(); });
        if (what == "check") return done([&] { actor.check(); });
        if (what == "settle") return done([&] { actor.settle(); });
        if (what == "start") return done([&] { actor.start(request.get<double>("limit_s")); });
        throw Error("request: unknown action {}", what);
    }

  private:
    static json done(const auto& action) {
        action();
        return json::object();
    }
    /// The first time, or another one in its place.
    void be(const CoRunSpec& spec, std::size_t index) {
        if (coRun_) {
            coRun_->replace(index, spec.actors.at(index));
        } else {
            if (spec.sharing.leased) gpu::openDriverOfPrograms();
            loadModulesEagerly();
            coRun_ = makeLocalCoRun(spec, index);
        }
        index_ = index;
    }

    std::unique_ptr<CoRun> coRun_;
    std::size_t index_ = 0;
};

}  // namespace

int serveActor() {
    Served served;
    return experiment::serveJson([&](const JsonObject& request) { return served.carryOut(request); });
}

}  // namespace bulkhead::corun
