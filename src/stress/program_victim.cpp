#include <chrono>
#include <sstream>

#include "base/error.h"
#include "stress/victim.h"

namespace bulkhead::stress {
namespace {

class ProgramVictim final : public Victim {
  public:
    ProgramVictim(const std::string& command, ChildProcess::Environment environment, double limitSeconds)
        : environment_(std::move(environment)), limit_(limitSeconds) {
        std::istringstream words(command);
        for (std::string word; words >> word;) command_.push_back(word);
    }
    std::optional<VictimRun> run() override {
        const auto now = [] { return std::chrono::steady_clock::now(); };
        const auto begin = now();
        ChildProcess process(command_, environment_, true);
        const int status = process.wait(limit_);
        VictimRun run;
        run.seconds = std::chrono::duration<double>(now() - begin).count();
        if (run.seconds >= limit_) return std::nullopt;
        if (status == kNotStarted) throw Error("cannot run {}", command_.front());
        if (status != 0) throw Error("{} ended with status {}", command_.front(), status);
        return run;
    }
    void settle() override {}  // a process that is late is ended at once

  private:
    static constexpr int kNotStarted = 127;
    std::vector<std::string> command_;
    ChildProcess::Environment environment_;
    double limit_;
};

}  // namespace

bool isProgram(const std::string& victim) {
    return victim.find('/') != std::string::npos;
}

std::unique_ptr<Victim> makeProgramVictim(const std::string& command, const ChildProcess::Environment& environment,
                                          double limitSeconds) {
    return std::make_unique<ProgramVictim>(command, environment, limitSeconds);
}

}  // namespace bulkhead::stress
