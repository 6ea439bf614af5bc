#include "report/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "cli/verbs.h"
#include "reproduce/verdict.h"

namespace bulkhead::cli {
namespace {

struct ReportOptions {
    std::vector<std::string> files;
    std::string html, title = "Bulkhead report", svg, png, json;
};

/// All results but verdicts, and verdicts on them.
struct Judged {
    std::vector<Result> verdicts, results;

    /// Verdicts, then results of different GPUs side by side where asked to, then every one.
    std::vector<Result> all(bool sideBySide) const {
        std::vector<Result> all = verdicts;
        if (sideBySide)
            for (Result& together : report::sideBySide(results)) all.push_back(std::move(together));
        all.insert(all.end(), results.begin(), results.end());
        return all;
    }
};

Judged readResults(const std::vector<std::string>& files) {
    Judged judged;
    for (const std::string& file : files)
        for (Result& result : report::resultsIn(readJson(file), file))
            if (!reproduce::isVerdict(result)) judged.results.push_back(std::move(result));
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

int runReport(const ReportOptions& o) {
    if (o.html.empty() && o.svg.empty() && o.png.empty() && o.json.empty())
        throw Error("report: nothing to write: give -o FILE.html, --json FILE, --svg DIR or --png DIR");
    expectFolder(o.svg);
    expectFolder(o.png);
    expectOutputs({o.html, o.json});
    if (!o.png.empty()) report::expectPng();
    const Judged judged = readResults(o.files);
    if (!o.json.empty()) writeJson(o.json, report::fileJson(judged.all(false)));
    const std::vector<Result> results = judged.all(true);
    if (!o.html.empty()) writeOutput(o.html, report::html(o.title, results));
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
    return [o, line] {
        if (o->html.empty()) refuseGiven(line, {"--title"}, "report without a page");
        return runReport(*o);
    };
}

}  // namespace bulkhead::cli
