#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "corun/beside.h"
#include "experiment/child_process.h"

namespace bulkhead::corun {
namespace {

/// A file that nobody else has, gone with this object.
class ScratchFile {
  public:
    ScratchFile() {
        std::error_code unknown;
        path_ = (std::filesystem::temp_directory_path(unknown) / "bulkhead-stress-XXXXXX").string();
        const int file = mkstemp(path_.data());
        if (file < 0) throw Error("{}: cannot be made: {}", path_, std::strerror(errno));
        close(file);
    }
    ~ScratchFile() { unlink(path_.c_str()); }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// Every run is a process, and the aggressor, once started, is part of the next one.
class SimulatedProgramArena final : public Arena, private Victim, private Assault {
  public:
    explicit SimulatedProgramArena(const ArenaSpec& spec) : spec_(spec) {}
    Victim& victim() override { return *this; }
    Assault& aggressor() override { return *this; }
    void setAggressor(const AggressorSpec& aggressor) override { spec_.aggressor = aggressor; }
    std::optional<Causes> explain(const Pair& pair) override {
        arch::DeviceProfile profile = arch::findProfile(spec_.gpu);
        arch::applySettings(profile, spec_.settings);
        return explainPair(profile, pair);
    }

  private:
    std::optional<VictimRun> run() override {
        const ScratchFile account;
        const std::string beside = toText({spec_, besieged_, account.path()});
        const std::unique_ptr<Victim> program =
            makeProgramVictim(command(), {{kBesideVariable, beside}}, spec_.victim.programLimitSeconds);
        if (!runOnce(*program)) return std::nullopt;
        const BesideAccount told = readAccount(account.path());
        report_ = told.aggressor;
        return told.program;
    }
    bool runOnce(Victim& program) const {
        try {
            return program.run().has_value();
        } catch (const Error&) {
            throw Error("the program failed: bulkhead exec --gpu {} -- {} says why", spec_.gpu, spec_.victim.name);
        }
    }
    void settle() override {}
    void prepare() override {}  // every process begins with a new GPU
    void start(double) override { besieged_ = true; }
    AggressorReport stop() override {
        besieged_ = false;
        return report_;
    }

    /// bulkhead exec puts the driver library in front of the program.
    std::vector<std::string> command() const {
        std::vector<std::string> words = {"/proc/self/exe", "exec", "--quiet", "--gpu", spec_.gpu, "--"};
        for (const std::string& word : wordsOf(spec_.victim.name)) words.push_back(word);
        return words;
    }

    ArenaSpec spec_;
    bool besieged_ = false;
    AggressorReport report_;
};

}  // namespace

std::unique_ptr<Arena> makeSimulatedProgramArena(const ArenaSpec& spec) {
    return std::make_unique<SimulatedProgramArena>(spec);
}

}  // namespace bulkhead::corun
