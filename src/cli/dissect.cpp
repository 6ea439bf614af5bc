#include "dissect/dissect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/progress.h"
#include "cli/verbs.h"
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

std::string valueText(const Value& value) {
    if (const auto* n = std::get_if<std::int64_t>(&value)) return std::to_string(*n);
    if (const auto* d = std::get_if<double>(&value)) return fmt::format("{:.4g}", *d);
    if (const auto* s = std::get_if<std::string>(&value)) return *s;
    if (const auto* b = std::get_if<bool>(&value)) return *b ? "yes" : "no";
    return "undecided";
}

/// Tells each step on standard error as it happens: results go to standard output, alone.
class Narrator final : public dissect::Listener {
  public:
    explicit Narrator(bool quiet) : quiet_(quiet), terminal_(isatty(2) != 0) {}
    ~Narrator() override { clear(); }

    void step(const std::string& what) override {
        clear();
        timeLeft_ = TimeLeft();
        if (!quiet_) fmt::print(stderr, "{}\n", what);
    }
    void progress(double fraction) override {
        if (quiet_ || !terminal_) return;
        constexpr int kWidth = 40;
        const int full = static_cast<int>(fraction * kWidth);
        fmt::print(stderr, "\r  [{:#<{}}{:.<{}}] {:3.0f} %{}\x1b[K", "", full, "", kWidth - full, 100 * fraction,
                   timeLeft_.words(fraction));
        std::fflush(stderr);
        shown_ = true;
    }
    void found(const dissect::Finding& f) override {
        clear();
        if (!quiet_)
            fmt::print(stderr, "  {}: {}{}{}  ({})\n", f.name, valueText(f.value), f.unit.empty() ? "" : " ", f.unit,
                       f.evidence);
    }

  private:
    void clear() {
        if (!shown_) return;
        fmt::print(stderr, "\r\x1b[K");
        shown_ = false;
    }
    bool quiet_, terminal_, shown_ = false;
    TimeLeft timeLeft_;
};

Result summary(const std::string& gpu, const std::vector<dissect::Finding>& findings) {
    Result r;
    r.title = "What timing tells of " + gpu;
    r.columns = {{"property", ""}, {"value", ""}, {"unit", ""}, {"confidence", ""}};
    for (const dissect::Finding& f : findings)
        r.add({f.name, valueText(f.value), f.unit, fmt::format("{:.3f}", f.confidence)});
    return r;
}

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

std::string page(const std::string& gpu, const dissect::Dissection& found, const Result::Provenance& from) {
    std::vector<Result> results = {summary(gpu, found.findings)};
    results.front().provenance = from;
    results.insert(results.end(), found.figures.begin(), found.figures.end());
    return report::html(results.front().title, results);
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
    if (!o.html.empty()) writeOutput(o.html, page(gpu.info().name, found, from));
    if (!o.json.empty()) {
        nlohmann::ordered_json json = found.file ? toJson(*found.file) : nlohmann::ordered_json::object();
        if (!found.file) json["findings"] = report::json(summary(gpu.info().name, found.findings))["rows"];
        json["decided"] = found.file.has_value();
        json["gpu_seconds"] = found.gpuSeconds;
        json["figures"] = nlohmann::ordered_json::array();
        for (const Result& figure : found.figures) json["figures"].push_back(report::json(figure));
        writeJson(o.json, json);
    } else if (o.html != "-") {
        writeOutput("-", report::text(summary(gpu.info().name, found.findings)) +
                             fmt::format("{:.3g} s of GPU time\n", found.gpuSeconds));
    }
    if (!found.file) {
        fmt::print(stderr, "bulkhead: no map of {} could be decided\n", o.gpu);
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
    r.title = fmt::format("{} on {}: answers that agree with timing", o.verify, gpu.info().name);
    r.columns = {{"part", ""}, {"right", "%"}};
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
    if (o.json.empty()) {
        writeOutput("-", report::text(r));
    } else {
        writeJson(o.json, report::json(r));
    }
    return good ? kDone : kCheckFailed;
}

}  // namespace

Action setUpDissect(CLI::App& app) {
    const auto o = std::make_shared<DissectOptions>();
    app.add_option("--gpu", o->gpu, "sim:NAME, sim:FILE.json or cuda:N")->capture_default_str();
    app.add_option("--out", o->out, "write the map to FILE, for stress and isolate")->type_name("FILE");
    app.add_option("--verify", o->verify, "measure how right a map is on fresh addresses, instead")->type_name("FILE");
    app.add_option("--json", o->json, "write everything to FILE, or to standard output if it is -")->type_name("FILE");
    app.add_option("--html", o->html, "write a page, likewise")->type_name("FILE");
    app.add_option("--figures", o->figures, "write figures 3, 4, 6 and 8 as CSV into this directory")->type_name("DIR");
    app.add_option("--set", o->settings, "change a figure of a simulated GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--seed", o->seed, "of the addresses that are tried")->capture_default_str();
    app.add_option("--memory", o->memoryMb,
                   "how much memory to probe, in MB; 0: all of a simulated GPU's, 4096 of a real one's")
        ->check(between(0, 1 << 20));
    app.add_option("--addresses", o->addresses, "fresh addresses to check with; a simulated GPU takes fewer")
        ->capture_default_str()
        ->check(between(1, 1 << 24));
    app.add_flag("--unknown-addresses", o->unknownAddresses,
                 "do without physical addresses on a simulated GPU, as on a real one");
    return [o, &app] {
        if (o->verify.empty()) return runDissect(*o);
        refuseGiven(app, {"--out", "--html", "--figures", "--unknown-addresses"}, "dissect --verify");
        return runVerify(*o);
    };
}

}  // namespace bulkhead::cli
