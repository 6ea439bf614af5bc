#include <cctype>
#include <chrono>
#include <cstdio>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "corun/corun.h"
#include "corun/scratch_file.h"
#include "experiment/interruption.h"

namespace bulkhead::corun {
namespace {

class Program final : public Actor {
  public:
    Program(std::vector<std::string> command, experiment::ChildProcess::Environment environment, double limitSeconds)
        : command_(std::move(command)), environment_(std::move(environment)), limit_(limitSeconds) {}
    std::optional<ActorRun> run(const Rounds&) override {
        const auto begin = std::chrono::steady_clock::now();
        const auto taken = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        };
        experiment::ChildProcess process(command_, environment_, experiment::ChildProcess::Says::nothing);
        process.closeInput();
        while (!process.ended() && !experiment::isInterrupted() && taken() < limit_)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ActorRun run;
        run.seconds = taken();
        const int status = process.wait(0);  // ends it where it has not ended
        experiment::throwIfInterrupted();
        if (run.seconds >= limit_) return std::nullopt;
        if (status == kNotStarted) throw Error("cannot run {}", command_.front());
        if (status != 0) throw Error("{} ended with status {}", command_.front(), status);
        return run;
    }
    void prepare() override { run(Rounds{}); }

  private:
    static constexpr int kNotStarted = 127;
    std::vector<std::string> command_;
    experiment::ChildProcess::Environment environment_;
    double limit_;
};

class TimedProgram final : public Actor {
  public:
    TimedProgram(std::string gpu, std::string victim, experiment::ChildProcess::Environment environment, double limit)
        : gpu_(std::move(gpu)), victim_(std::move(victim)), environment_(std::move(environment)), limit_(limit) {}

    std::optional<ActorRun> run(const Rounds&) override {
        const ScratchFile account;
        std::vector<std::string> command = {"/proc/self/exe", "exec", "--gpu", gpu_, "--timed", account.path(), "--"};
        for (const std::string& word : wordsOf(victim_)) command.push_back(word);
        if (!runOnce(command)) return std::nullopt;
        const std::string text = readFile(account.path());
        if (text.empty()) throw Error("the program ended without its driver library: time it with --wall-clock");
        const nlohmann::json json = parseJson(text, account.path());
        JsonObject o(json, account.path());
        if (o.get<std::uint64_t>("operations") == 0)
            throw Error("the program ended without a kernel or copy on {}", gpu_);
        ActorRun run;
        run.seconds = o.get<double>("seconds");
        return run;
    }
    void prepare() override { run(Rounds{}); }

  private:
    bool runOnce(const std::vector<std::string>& command) const {
        try {
            return Program(command, environment_, limit_).run(Rounds{}).has_value();
        } catch (const Error&) {
            throw Error("the program failed: run bulkhead exec --gpu {} --timed time.json -- {} to see why", gpu_,
                        victim_);
        }
    }

    std::string gpu_, victim_;
    experiment::ChildProcess::Environment environment_;
    double limit_;
};

}  // namespace

std::unique_ptr<Actor> makeTimedProgram(const std::string& gpu, const std::string& victim,
                                        const experiment::ChildProcess::Environment& environment, double limitSeconds) {
    return std::make_unique<TimedProgram>(gpu, victim, environment, limitSeconds);
}

bool isProgram(const std::string& victim) {
    return victim.find('/') != std::string::npos;
}

std::vector<std::string> wordsOf(const std::string& victim) {
    std::vector<std::string> words;
    std::istringstream in(victim);
    for (std::string word; in >> std::ws, !in.eof();) {
        const bool quoted = in.peek() == '"';
        if (!(in >> std::quoted(word))) throw Error("{}: a quotation mark is not closed", victim);
        const int next = in.peek();
        if (quoted && next != EOF && !std::isspace(next))
            throw Error("{}: a space is missing after a quotation mark", victim);
        words.push_back(word);
    }
    if (words.empty()) throw Error("the program has no name");
    return words;
}

std::unique_ptr<Actor> makeProgram(std::vector<std::string> command,
                                   const experiment::ChildProcess::Environment& environment, double limitSeconds) {
    return std::make_unique<Program>(std::move(command), environment, limitSeconds);
}

}  // namespace bulkhead::corun
