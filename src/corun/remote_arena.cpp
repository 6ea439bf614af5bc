#include <nlohmann/json.hpp>

#include "base/json.h"
#include "corun/beside.h"
#include "corun/protocol.h"
#include "corun/spec_json.h"
#include "corun/worker.h"
#include "experiment/json_worker.h"
#include "experiment/mps_daemon.h"

namespace bulkhead::corun {
namespace {

using nlohmann::json;

constexpr double kSetupSeconds = 120, kAnswerSeconds = 60;

experiment::ChildProcess::Environment environmentOf(const experiment::MpsDaemon* daemon) {
    return daemon ? daemon->environment() : experiment::ChildProcess::Environment();
}

/// One side of the arena, asked through its process.
class Worker {
  public:
    Worker(const char* role, const ArenaSpec& spec, const experiment::MpsDaemon* daemon)
        : worker_({"stress", "--worker"}, environmentOf(daemon), "a process of the arena") {
        if (daemon) worker_.whileWaiting([daemon] { daemon->throwIfEnded(); });
        change(role, spec);
    }
    /// Another task for the same process.
    void change(const char* role, const ArenaSpec& spec) {
        ask({{"role", role}, {"arena", toJson(spec)}}, kSetupSeconds);
    }
    json ask(const json& request, double limitSeconds) { return worker_.ask(request, limitSeconds); }

  private:
    experiment::JsonWorker worker_;
};

class RemoteVictim final : public Victim {
  public:
    RemoteVictim(const ArenaSpec& spec, const experiment::MpsDaemon* daemon)
        : worker_("victim", spec, daemon), limit_(spec.victim.limitSeconds + kAnswerSeconds) {}
    std::optional<VictimRun> run() override {
        const json answer = worker_.ask({{"do", "run"}}, limit_);
        if (answer.contains("hung")) return std::nullopt;
        return runFromJson(answer, "the victim's process");
    }
    void settle() override { worker_.ask({{"do", "settle"}}, limit_); }
    void prepare() override { worker_.ask({{"do", "prepare"}}, limit_); }

  private:
    Worker worker_;
    double limit_;
};

class RemoteAggressor final : public Assault {
  public:
    RemoteAggressor(const ArenaSpec& spec, const experiment::MpsDaemon* daemon) : worker_("aggressor", spec, daemon) {}
    void start(double limitSeconds) override {
        worker_.ask({{"do", "start"}, {"limit_s", limitSeconds}}, limitSeconds + kAnswerSeconds);
    }
    AggressorReport stop() override {
        return reportFromJson(worker_.ask({{"do", "stop"}}, kAnswerSeconds), "the aggressor's process");
    }
    void change(const ArenaSpec& spec) { worker_.change("aggressor", spec); }

  private:
    Worker worker_;
};

class RemoteArena final : public Arena {
  public:
    explicit RemoteArena(const ArenaSpec& spec)
        : spec_(spec),
          daemon_(spec.placement == Placement::mps ? std::make_unique<experiment::MpsDaemon>() : nullptr),
          victim_(
              isProgram(spec.victim.name)
                  ? makeProgramVictim(wordsOf(spec.victim.name), environmentOf(daemon_.get()), spec.victim.limitSeconds)
                  : std::make_unique<RemoteVictim>(spec, daemon_.get())),
          aggressor_(spec, daemon_.get()) {}
    Victim& victim() override { return *victim_; }
    Assault& aggressor() override { return aggressor_; }
    void setAggressor(const AggressorSpec& aggressor) override {
        spec_.aggressor = aggressor;
        aggressor_.change(spec_);
    }

  private:
    ArenaSpec spec_;
    std::unique_ptr<experiment::MpsDaemon> daemon_;  // goes last: after its clients
    std::unique_ptr<Victim> victim_;
    RemoteAggressor aggressor_;
};

}  // namespace

std::unique_ptr<Arena> makeRemoteArena(const ArenaSpec& spec) {
    return std::make_unique<RemoteArena>(spec);
}

std::unique_ptr<Arena> makeArena(const ArenaSpec& spec) {
    const bool processes = spec.placement == Placement::processes || spec.placement == Placement::mps;
    const bool simulated = spec.gpu.starts_with("sim:");
    if (simulated && isProgram(spec.victim.name)) return makeSimulatedProgramArena(spec);
    if (processes && !simulated) return makeRemoteArena(spec);
    return makeLocalArena(spec);
}

}  // namespace bulkhead::corun
