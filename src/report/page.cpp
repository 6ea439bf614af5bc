#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "report/palette.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/values.h"

// The bundle is longer than every compiler must take; g++ and clang do.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "report_css.h"
#include "report_js.h"
#pragma GCC diagnostic pop

namespace bulkhead::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongTable = 30;    // folded away below a chart
constexpr std::size_t kMostRows = 5'000;  // more would make a browser slow

/// Six digits are more than a screen shows.
Json shortNumber(double v) {
    if (!std::isfinite(v)) return nullptr;
    return std::stod(fmt::format("{:.6g}", v));
}

Json numbers(const std::vector<double>& values) {
    Json out = Json::array();
    for (const double v : values) out.push_back(shortNumber(v));
    return out;
}

std::string kindName(Chart::Kind kind) {
    switch (kind) {
        case Chart::Kind::line:
            return "line";
        case Chart::Kind::bar:
            return "bar";
        case Chart::Kind::cdf:
            return "cdf";
        case Chart::Kind::histogram:
            return "histogram";
        case Chart::Kind::heatmap:
            return "heatmap";
        case Chart::Kind::scatter:
            return "scatter";
    }
    return {};
}

Json plotJson(const Plot& p) {
    Json out = {
        {"kind", kindName(p.kind)}, {"xTitle", p.xTitle}, {"yTitle", p.yTitle}, {"logX", p.logX}, {"logY", p.logY}};
    if (!p.categories.empty()) out["categories"] = p.categories;
    if (p.kind == Chart::Kind::heatmap) {
        out["rowTitle"] = p.rowTitle;
        out["rows"] = p.rows;
        out["cells"] = numbers(p.cells);
        return out;
    }
    if (p.kind == Chart::Kind::histogram) out["binWidth"] = p.binWidth;
    if (p.kind == Chart::Kind::scatter) out["band"] = p.band;
    out["series"] = Json::array();
    for (const Plot::Series& s : p.series) {
        out["series"].push_back({{"name", s.name}, {"paper", s.paper}, {"x", numbers(s.x)}, {"y", numbers(s.y)}});
        if (!s.labels.empty()) out["series"].back()["labels"] = s.labels;
    }
    return out;
}

/// JSON that cannot end the script element that it stands in.
std::string scriptJson(const Json& json) {
    std::string out;
    for (const char c : jsonText(json)) c == '<' ? out += "\\u003c" : out += c;
    return out;
}

std::string figure(const Result& result, const Chart& chart) {
    const Plot p = plot(result, chart);
    if (p.empty()) return {};
    const bool repeats = result.charts.size() == 1 && result.title.find(chart.title) != std::string::npos;
    return fmt::format(
        "<figure class=\"chart\">\n<figcaption{}>{}</figcaption>\n"
        "<div class=\"plot\" role=\"img\" tabindex=\"0\" aria-label=\"{}\"></div>\n"
        "<script type=\"application/json\">{}</script>\n</figure>\n",
        repeats ? " class=\"unseen\"" : "", escaped(chart.title), escaped(describe(p)), scriptJson(plotJson(p)));
}

std::set<std::string> paperColumns(const Result& result) {
    std::set<std::string> names;
    for (const Chart& chart : result.charts) names.insert(chart.paper.begin(), chart.paper.end());
    return names;
}

bool numeric(const Result& result, std::size_t column) {
    return !result.rows.empty() && std::all_of(result.rows.begin(), result.rows.end(), [&](const auto& row) {
        return isNumber(row[column]) || std::holds_alternative<std::monostate>(row[column]);
    });
}

/// Names and short notes, which read badly when they are broken at a hyphen.
bool shortWords(const Result& result, std::size_t column) {
    constexpr std::size_t kShort = 24;
    return std::all_of(result.rows.begin(), result.rows.end(),
                       [&](const auto& row) { return width(shown(row[column])) <= kShort; });
}

std::string cell(const Value& value, const std::string& classes, bool first) {
    const std::string attributes = (classes.empty() ? std::string() : " class=\"" + classes + "\"") +
                                   (isNumber(value) ? " data-value=\"" + escaped(exact(value)) + "\"" : std::string());
    const bool names = first && std::holds_alternative<std::string>(value);
    const char* const open = names ? "<th scope=\"row\"" : "<td";
    return open + attributes + ">" + escaped(shown(value)) + (names ? "</th>" : "</td>");
}

std::string table(const Result& result, const std::string& labelledBy) {
    const std::set<std::string> published = paperColumns(result);
    std::vector<std::string> classes;
    for (std::size_t c = 0; c < result.columns.size(); ++c) {
        std::string its = numeric(result, c) ? "number" : shortWords(result, c) ? "words" : "prose";
        if (published.contains(result.columns[c].name)) its += " paper";
        classes.push_back(its);
    }
    std::string out = "<div class=\"table\" role=\"region\" tabindex=\"0\" aria-labelledby=\"" + labelledBy +
                      "\">\n<table>\n<thead><tr>";
    for (std::size_t c = 0; c < result.columns.size(); ++c) {
        const Result::Column& column = result.columns[c];
        out += fmt::format("<th scope=\"col\" class=\"{}\">{}{}</th>", classes[c], escaped(column.name),
                           column.unit.empty() ? "" : " <span class=\"unit\">(" + escaped(column.unit) + ")</span>");
    }
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t row = 0; row < std::min(kMostRows, result.rows.size()); ++row) {
        out += "<tr>";
        for (std::size_t c = 0; c < result.columns.size(); ++c) out += cell(result.rows[row][c], classes[c], c == 0);
        out += "</tr>\n";
    }
    out += "</tbody>\n</table>\n</div>\n";
    if (result.rows.size() > kMostRows)
        out += fmt::format("<p class=\"note\">The first {} of {} rows. JSON and CSV files have all rows.</p>\n",
                           kMostRows, result.rows.size());
    return out;
}

std::string foldedTable(const Result& result, const std::string& labelledBy, bool hasFigures) {
    if (result.columns.empty()) return {};
    const std::string inner = table(result, labelledBy);
    if (!hasFigures || result.rows.size() <= kLongTable) return inner;
    return fmt::format("<details>\n<summary>Table of {} rows</summary>\n{}</details>\n", result.rows.size(), inner);
}

std::string source(const Result::Provenance& p) {
    std::string facts;
    const auto add = [&](const std::string& fact) {
        if (!fact.empty()) facts += (facts.empty() ? "" : " · ") + escaped(fact);
    };
    add(p.gpu);
    add(p.seed ? fmt::format("seed {}", *p.seed) : "");
    add(p.version.empty() ? "" : "version " + p.version);
    add(p.date);
    std::string out = "<footer class=\"source\">\n";
    if (!p.command.empty())
        out += "<div class=\"command\"><code>" + escaped(p.command) +
               "</code><button type=\"button\" class=\"copy\" aria-label=\"Copy the command that reproduces "
               "this result\">Copy</button></div>\n";
    if (!facts.empty()) out += "<p>" + facts + "</p>\n";
    return out + "</footer>\n";
}

std::string section(const Result& result, std::size_t number) {
    const std::string id = fmt::format("r{}", number), title = id + "-title";
    std::string figures;
    for (const Chart& chart : result.charts) figures += figure(result, chart);
    return fmt::format("<section id=\"{}\" aria-labelledby=\"{}\">\n<h2 id=\"{}\">{}</h2>\n", id, title, title,
                       escaped(result.title)) +
           (figures.empty() ? "" : "<div class=\"figures\">\n" + figures + "</div>\n") +
           foldedTable(result, title, !figures.empty()) + source(result.provenance) + "</section>\n";
}

std::string contents(std::span<const Result> results) {
    if (results.size() < 2) return {};
    std::string out = "<nav aria-label=\"Contents\">\n<ol>\n";
    for (std::size_t i = 0; i < results.size(); ++i)
        out += fmt::format("<li><a href=\"#r{}\">{}</a></li>\n", i + 1, escaped(results[i].title));
    return out + "</ol>\n</nav>\n";
}

/// What all results have in common, once.
std::string lede(std::span<const Result> results) {
    std::set<std::string> gpus, versions, days;
    for (const Result& result : results) {
        gpus.insert(result.provenance.gpu);
        versions.insert(result.provenance.version);
        days.insert(result.provenance.date.substr(0, 10));
    }
    std::string out = fmt::format("{} {}", results.size(), results.size() == 1 ? "result" : "results");
    const auto add = [&](const std::set<std::string>& values, const char* before) {
        for (const std::string& value : values)
            if (!value.empty()) out += " · " + std::string(before) + escaped(value);
    };
    add(gpus, "");
    add(versions, "version ");
    add(days, "");
    return "<p class=\"lede\">" + out + "</p>\n";
}

template <std::size_t N>
std::string variables(const std::array<const char*, N>& colors, const char* page) {
    std::string out = fmt::format("--page:{};", page);
    for (std::size_t i = 0; i < N; ++i) out += fmt::format("--series-{}:{};", i, colors[i]);
    return out;
}

/// The palettes as CSS variables: light, dark where the system or the reader wants it.
std::string paletteCss() {
    const std::string dark = variables(kDarkSeries, kDarkPage);
    return fmt::format(
        ":root{{{}--heat:{};--light:1}}\n"
        "@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{}--light:0}}}}\n"
        ":root[data-theme=dark]{{{}--light:0}}\n",
        variables(kLightSeries, kLightPage), fmt::join(kHeat, " "), dark, dark);
}

}  // namespace

std::string html(const std::string& title, std::span<const Result> results) {
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n<title>" +
        escaped(title) + "</title>\n<style>\n" + paletteCss() + kReportCss +
        "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#results\">Skip to the results</a>\n"
        "<header>\n<p class=\"mark\">Bulkhead</p>\n"
        "<button type=\"button\" id=\"theme\" hidden>Dark</button>\n<h1>" +
        escaped(title) + "</h1>\n" + lede(results) + "</header>\n" + contents(results) + "<main id=\"results\">\n";
    for (std::size_t i = 0; i < results.size(); ++i) out += section(results[i], i + 1);
    return out + "</main>\n<div id=\"live\" class=\"unseen\" aria-live=\"polite\"></div>\n<script>\n" + kReportJs +
           "</script>\n</body>\n</html>\n";
}

}  // namespace bulkhead::report
