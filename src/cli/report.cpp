#include "report/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/verbs.h"

namespace bulkhead::cli {
namespace {

struct Options {
    std::vector<std::string> files;
    std::string html, title = "Bulkhead report", svg;
};

std::vector<Result> readResults(const std::vector<std::string>& files) {
    std::vector<Result> results;
    for (const std::string& file : files)
        for (Result& result : report::resultsIn(parseJson(readFile(file), file), file))
            results.push_back(std::move(result));
    for (Result& together : report::sideBySide(results)) results.insert(results.begin(), std::move(together));
    return results;
}

/// "07-2-slowdown-by-aggressor.svg": in the order of the report.
std::string pictureName(std::size_t result, std::size_t chart, const std::string& title) {
    std::string name;
    for (const char c : title.substr(0, 60)) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (plain) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (!plain && !name.empty() && name.back() != '-') name += '-';
    }
    if (!name.empty() && name.back() == '-') name.pop_back();
    return fmt::format("{:02}-{}-{}.svg", result + 1, chart + 1, name.empty() ? "chart" : name);
}

std::size_t writePictures(const std::vector<Result>& results, const std::filesystem::path& folder) {
    std::size_t count = 0;
    for (std::size_t r = 0; r < results.size(); ++r)
        for (std::size_t c = 0; c < results[r].charts.size(); ++c, ++count) {
            const Chart& chart = results[r].charts[c];
            writeFile(folder / pictureName(r, c, chart.title), report::svg(results[r], chart));
        }
    return count;
}

int run(const Options& o) {
    if (o.html.empty() && o.svg.empty()) throw Error("report: nothing to write: give -o FILE.html, or --svg DIR");
    if (!o.svg.empty() && !std::filesystem::is_directory(o.svg)) throw Error("{}: no such directory", o.svg);
    expectOutputs({o.html});
    const std::vector<Result> results = readResults(o.files);
    if (!o.html.empty()) writeOutput(o.html, report::html(o.title, results));
    if (!o.svg.empty()) {
        const std::size_t count = writePictures(results, o.svg);
        fmt::print(stderr, "{} {} in {}\n", count, count == 1 ? "picture" : "pictures", o.svg);
    }
    return kDone;
}

}  // namespace

Action setUpReport(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    app.add_option("FILES", o->files, "JSON that other verbs wrote")->required();
    app.add_option("-o,--html", o->html, "write a page to FILE, or to standard output if it is -")->type_name("FILE");
    app.add_option("--title", o->title, "what the page is called")->capture_default_str();
    app.add_option("--svg", o->svg, "write each chart as a picture into this directory")->type_name("DIR");
    return [o] { return run(*o); };
}

}  // namespace bulkhead::cli
