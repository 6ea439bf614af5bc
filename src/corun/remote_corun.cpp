#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "corun/corun.h"
#include "corun/protocol.h"
#include "corun/spec_json.h"
#include "experiment/json_worker.h"
#include "experiment/mps_daemon.h"

namespace bulkhead::corun {
namespace {

using nlohmann::json;

constexpr double kSetUpSeconds = 120, kAnswerSeconds = 60;
const std::string kName = "an actor's process";

/// Of which a run may take so long on the GPU.
double limitOf(const ActorSpec& spec) {
    const auto* victim = std::get_if<VictimSpec>(&spec.what);
    return (victim ? victim->limitSeconds : 0) + kAnswerSeconds;
}

/// An actor, asked through its process.
class RemoteActor final : public Actor {
  public:
    RemoteActor(const CoRunSpec& spec, std::size_t index, const experiment::ChildProcess::Environment& environment,
                const experiment::MpsDaemon* daemon)
        : worker_({"actor"}, environment, kName), index_(index) {
        if (daemon) worker_.whileWaiting([daemon] { daemon->throwIfEnded(); });
        be(spec);
    }
    void be(const CoRunSpec& spec) {
        limit_ = limitOf(spec.actors.at(index_));
        worker_.ask({{"do", "be"}, {"corun", toJson(spec)}, {"actor", index_}}, kSetUpSeconds);
    }
    Place place() { return Place::fromJson(ask("place"), kName); }

    void prepare() override { ask("prepare"); }
    std::optional<ActorRun> run(const Rounds& rounds) override {
        const json answer = worker_.ask({{"do", "run"}, {"rounds", rounds.count}}, limit_);
        if (answer.contains("hung")) return std::nullopt;
        return runFromJson(answer, kName);
    }
    void check() override { ask("check"); }
    void settle() override { ask("settle"); }
    void start(double limitSeconds) override {
        worker_.ask({{"do", "start"}, {"limit_s", limitSeconds}}, limitSeconds + kAnswerSeconds);
    }
    ActorReport stop() override { return reportFromJson(ask("stop"), kName); }
    std::uint64_t completed() override {
        const json answer = ask("completed");
        return JsonObject(answer, kName).get<std::uint64_t>("runs");
    }

  private:
    json ask(const char* what) { return worker_.ask({{"do", what}}, limit_); }

    experiment::JsonWorker worker_;
    std::size_t index_;
    double limit_ = kAnswerSeconds;
};

class RemoteCoRun final : public CoRun {
  public:
    explicit RemoteCoRun(const CoRunSpec& spec) : spec_(spec) {
        if (!findSharing(spec.sharing.way).timeSliced) daemon_ = std::make_unique<experiment::MpsDaemon>();
        for (std::size_t i = 0; i < spec.actors.size(); ++i) {
            const auto* victim = std::get_if<VictimSpec>(&spec.actors[i].what);
            const bool program = victim && isProgram(victim->name);
            remote_.push_back(program ? nullptr : std::make_unique<RemoteActor>(spec, i, environment(), daemon_.get()));
            programs_.push_back(program ? programOf(*victim) : nullptr);
        }
    }
    Actor& actor(std::size_t i) override {
        if (programs_.at(i)) return *programs_[i];
        return *remote_[i];
    }
    void replace(std::size_t i, const ActorSpec& actor) override {
        spec_.actors.at(i) = actor;
        remote_.at(i)->be(spec_);
    }
    Place place(std::size_t i) override { return remote_.at(i) ? remote_[i]->place() : Place(); }

  private:
    std::unique_ptr<Actor> programOf(const VictimSpec& victim) const {
        return victim.wallClock ? makeProgram(wordsOf(victim.name), environment(), victim.limitSeconds)
                                : makeTimedProgram(spec_.gpu, victim.name, environment(), victim.limitSeconds);
    }
    experiment::ChildProcess::Environment environment() const {
        if (!daemon_) return {};
        experiment::ChildProcess::Environment all = daemon_->environment();
        if (spec_.sharing.limitThreads)
            all.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", 100 / spec_.sharing.partitions));
        return all;
    }

    CoRunSpec spec_;
    std::unique_ptr<experiment::MpsDaemon> daemon_;  // goes last: after its clients
    std::vector<std::unique_ptr<RemoteActor>> remote_;
    std::vector<std::unique_ptr<Actor>> programs_;
};

}  // namespace

std::unique_ptr<CoRun> makeRemoteCoRun(const CoRunSpec& spec) {
    return std::make_unique<RemoteCoRun>(spec);
}

}  // namespace bulkhead::corun
