#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>

#include "corun/corun.h"
#include "corun/process_sharing.h"
#include "corun/protocol.h"
#include "corun/spec_json.h"
#include "experiment/json_worker.h"

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
    RemoteActor(const CoRunSpec& spec, std::size_t index, const ProcessSharing& sharing)
        : worker_(sharing.words(spec.actors.at(index).partition, "actor"), sharing.environment(), kName),
          index_(index) {
        if (const experiment::MpsDaemon* daemon = sharing.daemon())
            worker_.whileWaiting([daemon] { daemon->throwIfEnded(); });
        be(spec);
    }
    void be(const CoRunSpec& spec) {
        limit_ = limitOf(spec.actors.at(index_));
        worker_.ask({{"do", "be"}, {"corun", toJson(spec)}, {"actor", index_}}, kSetUpSeconds);
    }
    TakenMemory takeMemory() {
        const json answer = ask("memory");
        JsonObject said(answer, kName);
        return {said.get<Bytes>("bytes"), said.get<std::string>("refusal")};
    }
    void kill() { worker_.signal(SIGKILL); }
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

double secondsOf(const auto& action) {
    const auto begin = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class RemoteCoRun final : public CoRun, public ActorProcesses {
  public:
    explicit RemoteCoRun(const CoRunSpec& spec) : spec_(spec), sharing_(spec) {
        spec_.gpu = sharing_.gpuInside();
        for (std::size_t i = 0; i < spec.actors.size(); ++i) {
            const auto* victim = std::get_if<VictimSpec>(&spec.actors[i].what);
            const bool program = victim && isProgram(victim->name);
            remote_.push_back(program ? nullptr : std::make_unique<RemoteActor>(spec_, i, sharing_));
            programs_.push_back(program ? programOf(*victim) : nullptr);
        }
    }
    Actor& actor(std::size_t i) override {
        if (programs_.at(i)) return *programs_[i];
        return present(i);
    }
    void replace(std::size_t i, const ActorSpec& actor) override {
        spec_.actors.at(i) = actor;
        present(i).be(spec_);
    }
    Place place(std::size_t i) override { return remote_.at(i) ? remote_[i]->place() : Place(); }
    TakenMemory takeMemory(std::size_t i) override { return present(i).takeMemory(); }

    ActorProcesses* processes() override { return this; }
    double leave(std::size_t i) override {
        return secondsOf([&] { remote_.at(i).reset(); });
    }
    double join(std::size_t i) override {
        return secondsOf([&] { remote_.at(i) = std::make_unique<RemoteActor>(spec_, i, sharing_); });
    }
    std::string stop(std::size_t i) override {
        const bool stopped = sharing_.stop(spec_.actors.at(i).partition);
        if (!stopped) present(i).kill();
        remote_[i].reset();
        return stopped ? "isolate stop" : "SIGKILL";
    }

  private:
    RemoteActor& present(std::size_t i) {
        if (!remote_.at(i)) throw Error("an actor has no process");
        return *remote_[i];
    }
    std::unique_ptr<Actor> programOf(const VictimSpec& victim) const {
        const experiment::ChildProcess::Environment environment = sharing_.environment();
        return victim.wallClock ? makeProgram(wordsOf(victim.name), environment, victim.limitSeconds)
                                : makeTimedProgram(spec_.gpu, victim.name, environment, victim.limitSeconds);
    }

    CoRunSpec spec_;
    ProcessSharing sharing_;  // goes last: after its processes
    std::vector<std::unique_ptr<RemoteActor>> remote_;
    std::vector<std::unique_ptr<Actor>> programs_;
};

}  // namespace

std::unique_ptr<CoRun> makeRemoteCoRun(const CoRunSpec& spec) {
    return std::make_unique<RemoteCoRun>(spec);
}

}  // namespace bulkhead::corun
