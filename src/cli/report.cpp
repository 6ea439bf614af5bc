#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/phrases.h"
#include "cli/common_options.h"
#include "cli/result_stream.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "dissect/map_file.h"
#include "dissect/summary.h"
#include "gpu/gpu_name.h"
#include "report/chapters.h"
#include "report/derived_answer.h"
#include "report/difference.h"
#include "reproduce/verdict.h"

namespace bulkhead::cli {
namespace {

struct ReportOptions {
    std::vector<std::string> files;
    std::string html, title = "Bulkhead report", svg, png, json;
    bool all = false, diff = false, titleGiven = false;
    double noise = -1;  ///< percent; below 0: by what was measured
};

/// All results but verdicts, and verdicts on them.
struct Judged {
    std::vector<Result> verdicts, results;

    /// Verdicts; results of different GPUs side by side; then every one, by paper and machine.
    std::vector<report::Chapter> chapters() const {
        std::vector<report::Chapter> all = report::chaptersOf(results);
        std::vector<Result> beside = report::sideBySide(results);
        const auto first = [&](const char* title, std::vector<Result> some) {
            if (!some.empty()) all.insert(all.begin(), {title, std::move(some)});
        };
        first("Side by side", std::move(beside));
        first("Papers", verdicts);
        if (all.size() == 1) all.front().title.clear();
        return all;
    }

    /// Verdicts, then results of different GPUs side by side where asked to, then every one.
    std::vector<Result> all(bool sideBySide) const {
        std::vector<Result> all = verdicts;
        if (sideBySide)
            for (Result& together : report::sideBySide(results)) all.push_back(std::move(together));
        all.insert(all.end(), results.begin(), results.end());
        return all;
    }
};

/// Those of a file; of a map, what it tells and the figures beside it.
std::vector<Result> resultsOf(const std::string& file) {
    const nlohmann::json json = readJson(file);
    if (!json.is_object() || !json.contains("map")) return report::resultsIn(json, file);
    std::vector<Result> results = dissect::resultsOf(dissect::mapFileFromJson(json, file));
    if (!json.contains("figures")) return results;
    const auto known = [&](const Result& figure) {
        return std::any_of(results.begin(), results.end(), [&](const Result& r) { return r.title == figure.title; });
    };
    for (Result& figure : report::resultsIn(json, file))
        if (!known(figure)) results.push_back(std::move(figure));
    return results;
}

Judged readResults(const std::vector<std::string>& files, bool superseded) {
    Judged judged;
    for (const std::string& file : files)
        for (Result& result : resultsOf(file))
            if (!reproduce::isVerdict(result)) judged.results.push_back(std::move(result));
    if (!superseded) {
        const std::size_t all = judged.results.size();
        judged.results = report::withoutSuperseded(judged.results);
        if (const std::size_t gone = all - judged.results.size(); gone > 0)
            fmt::print(stderr, "bulkhead: left out {} that newer ones replace (--all shows them)\n",
                       counted(gone, "result"));
    }
    judged.verdicts = reproduce::verdicts(judged.results);
    for (Result& verdict : judged.verdicts)
        verdict.provenance = {commandLine(), "", std::nullopt, version(), currentDate()};
    return judged;
}

/// "07-2-slowdown-by-aggressor": in the order of the report.
std::string pictureName(std::size_t result, std::size_t chart, const std::string& title) {
    std::string name;
    for (const char c : title.substr(0, 60)) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (plain) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (!plain && !name.empty() && name.back() != '-') name += '-';
    }
    if (!name.empty() && name.back() == '-') name.pop_back();
    return fmt::format("{:02}-{}-{}", result + 1, chart + 1, name.empty() ? "chart" : name);
}

void writePictures(const std::vector<Result>& results, const ReportOptions& o) {
    for (const std::string& folder : {o.svg, o.png})
        if (!folder.empty()) makeFolder(folder);
    std::size_t count = 0;
    for (std::size_t r = 0; r < results.size(); ++r)
        for (std::size_t c = 0; c < results[r].charts.size(); ++c, ++count) {
            const Chart& chart = results[r].charts[c];
            const std::string picture = report::svg(results[r], chart), name = pictureName(r, c, chart.title);
            if (!o.svg.empty()) writeFile(std::filesystem::path(o.svg) / (name + ".svg"), picture);
            if (!o.png.empty()) writeFile(std::filesystem::path(o.png) / (name + ".png"), report::png(picture));
        }
    for (const std::string& folder : {o.svg, o.png})
        if (!folder.empty()) fmt::print(stderr, "{} {} in {}\n", count, count == 1 ? "picture" : "pictures", folder);
}

/// Simulated GPUs repeat themselves exactly, but for other seeds; real ones do not.
double noiseOf(const Result& before, const Result& after) {
    constexpr double kOtherSeed = 0.02, kHardware = 0.05;
    const auto isReal = [](const Result& r) { return gpu::originOf(r.provenance.gpu) == "hardware"; };
    if (isReal(before) || isReal(after)) return kHardware;
    return before.provenance.seed == after.provenance.seed ? 0 : kOtherSeed;
}

int compareFiles(const ReportOptions& o) {
    if (o.files.size() != 2) throw Error("report --diff: give two files, the older one first");
    expectOutputs({o.html, o.json});
    const report::Noise noise = [&](const Result& before, const Result& after) {
        return o.noise < 0 ? noiseOf(before, after) : o.noise / 100;
    };
    Result changes = report::difference(resultsOf(o.files[0]), resultsOf(o.files[1]), noise);
    changes.title = fmt::format("Changes from {} to {}", o.files[0], o.files[1]);
    changes.provenance = {commandLine(), "", std::nullopt, version(), currentDate()};
    if (!o.json.empty()) writeJson(o.json, report::fileJson(changes));
    if (!o.html.empty())
        writeOutput(o.html, report::html(o.titleGiven ? o.title : "What changed", std::span(&changes, 1)));
    if (o.json != "-" && o.html != "-") showResults(changes);
    return kDone;
}

int runReport(const ReportOptions& o) {
    if (o.html.empty() && o.svg.empty() && o.png.empty() && o.json.empty())
        throw Error("report: nothing to write: give -o FILE.html, --json FILE, --svg DIR or --png DIR");
    expectFolder(o.svg);
    expectFolder(o.png);
    expectOutputs({o.html, o.json});
    if (!o.png.empty()) report::expectPng();
    // Of a file that is written anew, nothing is lost.
    Judged judged = readResults(o.files, o.all || o.html.empty());
    if (!o.json.empty()) writeResults(o.json, judged.all(false));
    for (Result& result : judged.results)
        if (result.answer.empty()) result.answer = report::derivedAnswer(result);
    const std::vector<Result> results = judged.all(true);
    if (!o.html.empty()) writeOutput(o.html, report::html(o.title, judged.chapters()));
    writePictures(results, o);
    return kDone;
}

}  // namespace

Action setUpReport(CommandLine line) {
    const auto o = std::make_shared<ReportOptions>();
    line.option("FILES", o->files, "JSON files that other verbs wrote").required();
    line.option("-o,--html", o->html, "write an HTML report to FILE (- for standard output)").typeName("FILE");
    line.option("--json", o->json, "write the results with verdicts of today to FILE (- for standard output)")
        .typeName("FILE");
    line.option("--title", o->title, "title of the report").typeName("TEXT").showDefault();
    line.option("--svg", o->svg, "write each chart as SVG into DIR").typeName("DIR");
    line.option("--png", o->png, "write each chart as PNG into DIR; needs librsvg").typeName("DIR");
    line.flag("--all", o->all, "show also results that newer ones of the same command replace");
    line.flag("--diff", o->diff, "show what changed between two FILES beyond noise, the older one first");
    line.option(
            "--noise", o->noise,
            "with --diff: percent that numbers without limits may differ by [simulated: 0, other seeds: 2, real: 5]")
        .typeName("PERCENT");
    addWideOption(line);
    return [o, line] {
        o->titleGiven = line.given("--title");
        if (o->diff) {
            refuseGiven(line, {"--svg", "--png", "--all"}, "report --diff");
            return compareFiles(*o);
        }
        refuseGiven(line, {"--noise", "--wide"}, "report without --diff");
        if (o->html.empty()) refuseGiven(line, {"--title"}, "report without a page");
        return runReport(*o);
    };
}

}  // namespace bulkhead::cli
