#include "calibrate/calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/schema.h"
#include "cli/common_options.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

struct CalibrateOptions {
    std::string gpu = "sim:tx2", out, base, name, json;
    std::vector<std::string> only, settings;
    std::uint64_t seed = 1;
    std::uint32_t limit = 300;  ///< seconds
    bool list = false;
};

/// Tells on standard error what is measured: results go to standard output, alone.
class CalibrationNarrator final : public calibrate::Listener {
  public:
    void measuring(const std::string& name, double done) override {
        fmt::print(stderr, "{:3.0f} %  {}\n", 100 * done, name);
    }
    void undecided(const calibrate::Undecided& u) override {
        fmt::print(stderr, "       {}: {}\n", u.measurement, u.why);
    }
};

/// A profile is called as its file is, unless a name was given.
std::string profileName(const CalibrateOptions& o) {
    if (!o.name.empty()) return o.name;
    if (o.out == "-") return "calibrated";
    return std::filesystem::path(o.out).stem().string();
}

void writeProfile(const CalibrateOptions& o, const gpu::Gpu& gpu, calibrate::Calibration& found) {
    found.profile.name = profileName(o);
    found.profile.description =
        fmt::format("{}, as bulkhead calibrate measured it; the rest as {}", gpu.info().name, found.base);
    nlohmann::ordered_json json = schemas::kProfile.begin();
    json.update(found.profile.toJson());
    writeJson(o.out, json);
}

int runCalibrate(const CalibrateOptions& o) {
    if (o.limit == 0) throw Error("--limit 0: must be more than 0 seconds");
    expectOutputs({o.out, o.json});
    gpu::SimulationOptions simulation;
    simulation.settings = o.settings;
    gpu::Gpu gpu = gpu::Gpu::open(o.gpu, simulation);
    calibrate::Options options;
    options.base = o.base;
    options.only = o.only;
    options.seed = o.seed;
    options.limitSeconds = o.limit;
    CalibrationNarrator narrator;
    calibrate::Calibration found = calibrate::calibrate(gpu, options, narrator);
    if (!o.out.empty()) writeProfile(o, gpu, found);
    Result table = calibrate::figureTable(found);
    table.title = fmt::format("{} by microbenchmarks, beside {}", gpu.info().name, found.base);
    table.provenance = {commandLine(), o.gpu, static_cast<std::int64_t>(o.seed), version(), currentDate()};
    if (!o.json.empty()) writeJson(o.json, report::fileJson(table));
    if (o.json != "-" && o.out != "-")
        writeOutput("-",
                    tableText(table) + fmt::format("{:.3g} s of GPU time\n", found.gpuSeconds) + answerText(table));
    return kDone;
}

}  // namespace

Action setUpCalibrate(CommandLine line) {
    const auto o = std::make_shared<CalibrateOptions>();
    addGpuOption(line, o->gpu);
    line.option("--out", o->out, "write a profile for the GPU's simulated twin to FILE (- for standard output)")
        .typeName("FILE");
    line.option("--base", o->base, "profile whose parameters stay where nothing was measured [the nearest]")
        .typeName("NAME");
    line.option("--only", o->only, "measurements to make (--list has them) [all]").typeName("NAME").delimiter(',');
    addJsonOption(line, o->json, "what was measured, as JSON,");
    line.option("--name", o->name, "name of the profile [as its file]");
    addWideOption(line);
    addSettings(line, o->settings);
    addThreadsOption(line);
    line.option("--seed", o->seed, "seed of the addresses tried").showDefault();
    line.option("--limit", o->limit, "seconds of GPU time after which no further measurement begins").showDefault();
    line.flag("--list", o->list, "list the measurements, each with its parameters and microbenchmark");
    return [o, line] {
        if (!o->list) return runCalibrate(*o);
        refuseGiven(line, {"--gpu", "--out", "--base", "--only", "--json", "--name", "--set", "--seed", "--limit"},
                    "calibrate --list");
        writeOutput("-", report::text(calibrate::measurementList()));
        return static_cast<int>(kDone);
    };
}

}  // namespace bulkhead::cli
