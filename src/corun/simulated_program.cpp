#include "arch/device_profile.h"
#include "base/error.h"
#include "corun/in_process_aggressor.h"
#include "corun/scratch_file.h"

namespace bulkhead::corun {
namespace {

/// The program: every run is a process.
class SimulatedProgram final : public Actor {
  public:
    explicit SimulatedProgram(const CoRunSpec& spec) : spec_(spec) {}

    std::optional<ActorRun> run(const Rounds&) override {
        const ScratchFile account;
        const std::string beside = toText({spec_, besieged_, account.path()});
        const std::unique_ptr<Actor> program =
            makeProgram(command(), {{kInProcessVariable, beside}}, victim().programLimitSeconds);
        if (!runOnce(*program)) return std::nullopt;
        const InProcessAccount told = readAccount(account.path());
        report_ = told.aggressor;
        return told.program;
    }

    void setAggressor(const ActorSpec& aggressor) { spec_.actors.at(1) = aggressor; }
    void besiege(bool besieged) { besieged_ = besieged; }
    const ActorReport& report() const { return report_; }

  private:
    const VictimSpec& victim() const { return std::get<VictimSpec>(spec_.actors.at(0).what); }
    bool runOnce(Actor& program) const {
        try {
            return program.run().has_value();
        } catch (const Error&) {
            throw Error("the program failed: run bulkhead exec --gpu {} -- {} to see why", spec_.gpu, victim().name);
        }
    }
    /// bulkhead exec puts the driver library in front of the program.
    std::vector<std::string> command() const {
        std::vector<std::string> words = {"/proc/self/exe", "exec", "--quiet", "--gpu", spec_.gpu, "--"};
        for (const std::string& word : wordsOf(victim().name)) words.push_back(word);
        return words;
    }

    CoRunSpec spec_;
    bool besieged_ = false;
    ActorReport report_;
};

/// The aggressor: once started, it is part of the program's next run.
class PartOfProgram final : public Actor {
  public:
    explicit PartOfProgram(SimulatedProgram& program) : program_(program) {}
    void start(double) override { program_.besiege(true); }
    ActorReport stop() override {
        program_.besiege(false);
        return program_.report();
    }

  private:
    SimulatedProgram& program_;
};

class SimulatedProgramCoRun final : public CoRun {
  public:
    explicit SimulatedProgramCoRun(const CoRunSpec& spec)
        : profile_(arch::findProfile(spec.gpu)), program_(spec), aggressor_(program_) {
        arch::applySettings(profile_, spec.settings);
    }
    Actor& actor(std::size_t i) override {
        if (i == 0) return program_;
        return aggressor_;
    }
    void replace(std::size_t, const ActorSpec& aggressor) override { program_.setAggressor(aggressor); }
    Place place(std::size_t) override { return {}; }
    const arch::DeviceProfile* profile() override { return &profile_; }

  private:
    arch::DeviceProfile profile_;
    SimulatedProgram program_;
    PartOfProgram aggressor_;
};

}  // namespace

std::unique_ptr<CoRun> makeSimulatedProgram(const CoRunSpec& spec) {
    return std::make_unique<SimulatedProgramCoRun>(spec);
}

}  // namespace bulkhead::corun
