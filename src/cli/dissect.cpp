#include "dissect/dissect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/phrases.h"
#include "cli/common_options.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "dissect/summary.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

struct DissectOptions {
    std::string gpu = "sim:gtx1080", out, json, html, verify, figures;
    std::vector<std::string> settings;
    std::uint64_t seed = 1;
    std::uint64_t memoryMb = 0;
    std::size_t addresses = 1000;
    bool unknownAddresses = false;
};

/// Tells each step on standard error as it happens: results go to standard output, alone.
class Narrator final : public dissect::Listener {
  public:
    explicit Narrator(bool quiet) : quiet_(quiet), terminal_(isatty(2) != 0) {}
    ~Narrator() override { clear(); }

    void step(const std::string& what) override {
        clear();
        timeLeft_ = TimeLeft();
        step_ = what;
        if (streamsProgress()) return streamProgress(0, what);
        if (!quiet_) fmt::print(stderr, "{}\n", what);
    }
    void progress(double fraction) override {
        if (streamsProgress()) return stream(fraction);
        if (quiet_) return;
        if (!terminal_) {
            if (minute_.due()) fmt::print(stderr, "  {:.0f} %{}\n", 100 * fraction, timeLeft_.words(fraction));
            return;
        }
        constexpr int kWidth = 40;
        const int full = static_cast<int>(fraction * kWidth);
        fmt::print(stderr, "\r  [{:#<{}}{:.<{}}] {:3.0f} %{}\x1b[K", "", full, "", kWidth - full, 100 * fraction,
                   timeLeft_.words(fraction));
        std::fflush(stderr);
        shown_ = true;
    }
    void found(const dissect::Finding& f) override {
        clear();
        if (!quiet_) fmt::print(stderr, "  {}: {}  ({})\n", f.name, dissect::valueAndUnit(f), f.evidence);
    }

  private:
    void clear() {
        if (!shown_) return;
        fmt::print(stderr, "\r\x1b[K");
        shown_ = false;
    }
    /// A few times a second.
    void stream(double fraction) {
        constexpr double kPauseS = 0.25;
        if (sinceStreamed_.elapsed() < kPauseS) return;
        sinceStreamed_ = TimeLeft();
        streamProgress(fraction, step_, timeLeft_.seconds(fraction));
    }
    bool quiet_, terminal_, shown_ = false;
    std::string step_;
    TimeLeft timeLeft_, sinceStreamed_;
    EveryMinute minute_;
};

Result::Provenance provenance(const DissectOptions& o) {
    Result::Provenance p;
    p.command = commandLine();
    p.gpu = o.gpu;
    p.seed = static_cast<std::int64_t>(o.seed);
    p.version = version();
    p.date = currentDate();
    return p;
}

dissect::Options experimentOptions(const DissectOptions& o) {
    dissect::Options options;
    options.seed = o.seed;
    options.usePhysical = !o.unknownAddresses;
    options.memory = o.memoryMb << 20;
    options.verifyAddresses = o.addresses;
    return options;
}

gpu::Gpu openGpu(const DissectOptions& o) {
    gpu::SimulationOptions simulation;
    simulation.settings = o.settings;
    return gpu::Gpu::open(o.gpu, simulation);
}

std::string fileName(const Result& figure) {
    std::string name;
    for (const char c : figure.title.substr(0, figure.title.find(':')))
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '_';
    return name + ".csv";
}

/// A table of findings, then the figures.
std::vector<Result> resultsOf(const std::string& gpu, const dissect::Dissection& found,
                              const Result::Provenance& from) {
    std::vector<Result> results = {dissect::summaryOf(gpu, found.findings)};
    results.front().provenance = from;
    results.insert(results.end(), found.figures.begin(), found.figures.end());
    return results;
}

/// The map with its figures; where there is none, the results alone.
nlohmann::ordered_json dissectionJson(const std::vector<Result>& results, const dissect::Dissection& found) {
    nlohmann::ordered_json json = found.file ? toJson(*found.file) : report::fileJson(results);
    json["decided"] = found.file.has_value();
    json["gpu_seconds"] = found.gpuSeconds;
    if (!found.file) return json;
    json["figures"] = nlohmann::ordered_json::array();
    for (const Result& figure : found.figures) json["figures"].push_back(report::json(figure));
    return json;
}

int runDissect(const DissectOptions& o) {
    expectOutputs({o.out, o.json, o.html});
    expectFolder(o.figures);
    gpu::Gpu gpu = openGpu(o);
    Narrator narrator(false);
    dissect::Dissection found = dissect::dissect(gpu, experimentOptions(o), narrator);
    const Result::Provenance from = provenance(o);
    for (Result& figure : found.figures) figure.provenance = from;
    if (!o.figures.empty()) makeFolder(o.figures);
    for (const Result& figure : found.figures)
        if (!o.figures.empty()) writeFile(std::filesystem::path(o.figures) / fileName(figure), report::csv(figure));
    if (found.file) {
        found.file->provenance = from;
        if (!o.out.empty()) writeJson(o.out, toJson(*found.file));
    }
    const std::vector<Result> results = resultsOf(gpu.info().name, found, from);
    if (!o.html.empty()) writeOutput(o.html, report::html(results.front().title, results));
    if (!o.json.empty()) {
        writeJson(o.json, dissectionJson(results, found));
    } else if (o.html != "-" && o.out != "-") {
        writeOutput("-", tableText(results.front()) + fmt::format("{:.3g} s of GPU time\n", found.gpuSeconds) +
                             answerText(results.front()));
    }
    if (!found.file) {
        fmt::print(stderr, "bulkhead: could not determine the address map of {}\n", o.gpu);
        return kCheckFailed;
    }
    return kDone;
}

int runVerify(const DissectOptions& o) {
    expectOutputs({o.json});
    const dissect::MapFile file = dissect::readMapFile(o.verify);
    gpu::Gpu gpu = openGpu(o);
    Narrator narrator(!o.json.empty());
    const dissect::Verification v = dissect::verify(gpu, file, experimentOptions(o), narrator);
    Result r;
    r.title = fmt::format("{} on {}: addresses for which the map agrees with timing", o.verify, gpu.info().name);
    r.columns = {{"part of the map", ""}, {"correct", "%"}};
    bool good = true;
    const auto add = [&](const char* part, double share) {
        if (share < 0) return;
        r.add({part, 100 * share});
        good = good && share >= 0.99;
    };
    add("side", v.side);
    add("slice", v.slice);
    add("bank", v.bank);
    add("set", v.set);
    r.provenance = provenance(o);
    r.question = "Does the map still hold, at addresses that it was not made from?";
    double least = 100;
    for (const auto& row : r.rows) least = std::min(least, std::get<double>(row.back()));
    if (!r.rows.empty())
        r.answer = fmt::format("{}: at least {} % of the addresses agree with it, in each of its parts.",
                               good ? "Yes" : "No", brief(least));
    r.reading = "99 % in each part is enough: single accesses are disturbed.";
    if (o.json.empty()) {
        showResults(r);
    } else {
        writeJson(o.json, report::fileJson(r));
    }
    return good ? kDone : kCheckFailed;
}

}  // namespace

Action setUpDissect(CommandLine line) {
    const auto o = std::make_shared<DissectOptions>();
    addGpuOption(line, o->gpu);
    line.option("--out", o->out, "write the address map to FILE, for stress and isolate").typeName("FILE");
    line.option("--verify", o->verify, "only check the address map in FILE, on fresh addresses").typeName("FILE");
    addJsonOption(line, o->json, "all measurements as JSON");
    addHtmlOption(line, o->html);
    addWideOption(line);
    line.option("--figures", o->figures, "write the data of figures 3, 4, 6 and 8 as CSV into DIR").typeName("DIR");
    addSettings(line, o->settings);
    addThreadsOption(line);
    line.option("--seed", o->seed, "seed of the addresses tried").showDefault();
    line.option("--memory", o->memoryMb, "memory to probe; 0: all (simulated GPU) or 4096 MB (real GPU)")
        .typeName("MB")
        .check(between(0, 1 << 20));
    line.option("--addresses", o->addresses, "fresh addresses to check the map with (simulated GPU: fewer)")
        .showDefault()
        .check(between(1, 1 << 24));
    line.flag("--unknown-addresses", o->unknownAddresses,
              "use no physical addresses on a simulated GPU, as on a real one");
    return [o, line] {
        if (o->verify.empty()) return runDissect(*o);
        refuseGiven(line, {"--out", "--html", "--figures", "--unknown-addresses"}, "dissect --verify");
        return runVerify(*o);
    };
}

}  // namespace bulkhead::cli
