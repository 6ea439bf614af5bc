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
    std::string html, title = "Bulkhead report", svg, png;
};

std::vector<Result> readResults(const std::vector<std::string>& files) {
    std::vector<Result> results;
    for (const std::string& file : files)
        for (Result& result : report::resultsIn(readJson(file), file))
            if (!reproduce::isVerdict(result)) results.push_back(std::move(result));
    std::vector<Result> first = reproduce::verdicts(results);
    for (Result& verdict : first) verdict.provenance = {commandLine(), "", std::nullopt, version(), currentDate()};
    for (Result& together : report::sideBySide(results)) first.push_back(std::move(together));
    results.insert(results.begin(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
    return results;
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
    if (o.html.empty() && o.svg.empty() && o.png.empty())
        throw Error("report: nothing to write: give -o FILE.html, --svg DIR or --png DIR");
    expectFolder(o.svg);
    expectFolder(o.png);
    expectOutputs({o.html});
    if (!o.png.empty()) report::expectPng();
    const std::vector<Result> results = readResults(o.files);
    if (!o.html.empty()) writeOutput(o.html, report::html(o.title, results));
    writePictures(results, o);
    return kDone;
}

}  // namespace

Action setUpReport(CommandLine line) {
    const auto o = std::make_shared<ReportOptions>();
    line.option("FILES", o->files, "JSON files that other verbs wrote").required();
    line.option("-o,--html", o->html, "write an HTML report to FILE (- for standard output)").typeName("FILE");
    line.option("--title", o->title, "title of the report").typeName("TEXT").showDefault();
    line.option("--svg", o->svg, "write each chart as SVG into DIR").typeName("DIR");
    line.option("--png", o->png, "write each chart as PNG into DIR; needs librsvg").typeName("DIR");
    return [o, line] {
        if (o->html.empty()) refuseGiven(line, {"--title"}, "report without a page");
        return runReport(*o);
    };
}

}  // namespace bulkhead::cli
