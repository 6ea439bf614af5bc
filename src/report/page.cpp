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

constexpr std::size_t kLongTable = 30;    // folded away
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
        case Chart::Kind::stack:
            return "stack";
        case Chart::Kind::floorplan:
            return "floorplan";
    }
    return {};
}

Json layersJson(const Plot& p) {
    Json out = Json::array();
    for (const Plot::Layer& layer : p.layers) {
        out.push_back({{"name", layer.name}, {"values", numbers(layer.values)}});
        if (!layer.names.empty()) out.back()["names"] = layer.names;
    }
    return out;
}

Json plotJson(const Plot& p) {
    Json out = {
        {"kind", kindName(p.kind)}, {"xTitle", p.xTitle}, {"yTitle", p.yTitle}, {"logX", p.logX}, {"logY", p.logY}};
    if (!p.categories.empty()) out["categories"] = p.categories;
    if (p.kind == Chart::Kind::heatmap) {
        out["rowTitle"] = p.rowTitle;
        out["rows"] = p.rows;
        out["layers"] = layersJson(p);
        if (!p.labels.empty()) out["labels"] = p.labels;
        return out;
    }
    if (p.kind == Chart::Kind::floorplan) {
        out["units"] = p.labels;
        out["layers"] = layersJson(p);
        out["groups"] = Json::array();
        for (const Plot::Group& g : p.groups)
            out["groups"].push_back({{"part", g.part}, {"name", g.name}, {"units", g.units}});
        return out;
    }
    if (p.kind == Chart::Kind::histogram) out["binWidth"] = p.binWidth;
    if (p.kind == Chart::Kind::scatter) out["band"] = p.band;
    out["series"] = Json::array();
    for (const Plot::Series& s : p.series) {
        out["series"].push_back({{"name", s.name}, {"paper", s.paper}, {"x", numbers(s.x)}, {"y", numbers(s.y)}});
        if (!s.labels.empty()) out["series"].back()["labels"] = s.labels;
    }
    for (const Chart::Mark& mark : p.marks) out["marks"].push_back({{"name", mark.name}, {"x", shortNumber(mark.x)}});
    return out;
}

/// JSON that cannot end the script element that it stands in.
std::string scriptJson(const Json& json) {
    std::string out;
    for (const char c : jsonText(json)) c == '<' ? out += "\\u003c" : out += c;
    return out;
}

/// `id`: of its data, which a second drawing can use.
std::string figure(const Plot& p, const std::string& title, bool repeats, const std::string& id) {
    return fmt::format(
        "<figure class=\"chart\" id=\"{}\">\n<figcaption{}>{}</figcaption>\n"
        "<div class=\"plot\" role=\"img\" tabindex=\"0\" aria-label=\"{}\"></div>\n"
        "<script type=\"application/json\">{}</script>\n</figure>\n",
        id, repeats ? " class=\"unseen\"" : "", escaped(title), escaped(describe(p)), scriptJson(plotJson(p)));
}

std::string figures(const Result& result, const std::string& id) {
    std::string out;
    for (std::size_t i = 0; i < result.charts.size(); ++i) {
        const Chart& chart = result.charts[i];
        const Plot p = plot(result, chart);
        const bool repeats =
            result.charts.size() == 1 && result.question.empty() && result.title.find(chart.title) != std::string::npos;
        if (!p.empty()) out += figure(p, chart.title, repeats, fmt::format("{}-f{}", id, i + 1));
    }
    return out.empty() ? out : "<div class=\"figures\">\n" + out + "</div>\n";
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

bool empty(const Result& result, std::size_t column) {
    return !result.rows.empty() && std::all_of(result.rows.begin(), result.rows.end(), [&](const auto& row) {
        return row[column] == Value() || row[column] == Value(std::string());
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

/// What a script makes rows of: the words of a cell, or a number with every digit.
Json cellJson(const Value& value) {
    if (!isNumber(value)) return shown(value);
    const double v = number(value);
    if (!std::isfinite(v)) return shown(value);
    return std::holds_alternative<std::int64_t>(value) ? Json(std::get<std::int64_t>(value)) : Json(v);
}

/// Rows of a table that is folded away: a script makes them when it is unfolded.
std::string rowsJson(const Result& result) {
    Json rows = Json::array();
    for (std::size_t row = 0; row < std::min(kMostRows, result.rows.size()); ++row) {
        Json cells = Json::array();
        for (const Value& value : result.rows[row]) cells.push_back(cellJson(value));
        rows.push_back(std::move(cells));
    }
    return "<script type=\"application/json\" class=\"rows\">" + scriptJson(rows) + "</script>\n";
}

std::string table(const Result& result, const std::string& labelledBy, bool folded) {
    const std::set<std::string> published = paperColumns(result);
    std::vector<std::string> classes;
    for (std::size_t c = 0; c < result.columns.size(); ++c) {
        std::string its = numeric(result, c) ? "number" : shortWords(result, c) ? "words" : "prose";
        if (published.contains(result.columns[c].name)) its += " paper";
        if (c > 0 && (result.columns[c].detail || empty(result, c))) its += " detail";
        classes.push_back(its);
    }
    std::string out = "<div class=\"table\" role=\"group\" tabindex=\"0\" aria-labelledby=\"" + labelledBy +
                      "\">\n<table>\n<thead><tr>";
    for (std::size_t c = 0; c < result.columns.size(); ++c) {
        const Result::Column& column = result.columns[c];
        out += fmt::format("<th scope=\"col\" class=\"{}\">{}{}</th>", classes[c], escaped(column.name),
                           column.unit.empty() ? "" : " <span class=\"unit\">(" + escaped(column.unit) + ")</span>");
    }
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t row = 0; !folded && row < std::min(kMostRows, result.rows.size()); ++row) {
        out += "<tr>";
        for (std::size_t c = 0; c < result.columns.size(); ++c) out += cell(result.rows[row][c], classes[c], c == 0);
        out += "</tr>\n";
    }
    out += "</tbody>\n</table>\n</div>\n";
    if (folded) out += rowsJson(result);
    if (result.rows.size() > kMostRows)
        out += fmt::format("<p class=\"note\">The first {} of {} rows. JSON and CSV files have all rows.</p>\n",
                           kMostRows, result.rows.size());
    return out;
}

/// `alone`: it is what the page is about, and there is no chart of it.
std::string foldedTable(const Result& result, const std::string& labelledBy, bool alone) {
    if (result.columns.empty() || result.rows.empty()) return {};
    const bool folded = !alone && result.rows.size() > kLongTable;
    const std::string inner = table(result, labelledBy, folded);
    if (!folded) return inner;
    return fmt::format("<details>\n<summary>Table of {} rows</summary>\n{}</details>\n", result.rows.size(), inner);
}

/// How it was made, folded: whoever reads the answer need not see it.
std::string source(const Result::Provenance& p) {
    std::string facts;
    const auto add = [&](const std::string& fact) {
        if (!fact.empty()) facts += (facts.empty() ? "" : " · ") + escaped(fact);
    };
    add(p.gpu);
    add(p.seed ? fmt::format("seed {}", *p.seed) : "");
    add(p.version.empty() ? "" : "version " + p.version);
    add(p.date);
    if (p.command.empty() && facts.empty()) return {};
    std::string out = "<details class=\"source\">\n<summary>How it was made</summary>\n";
    if (!p.command.empty())
        out += "<div class=\"command\"><code>" + escaped(p.command) +
               "</code><button type=\"button\" class=\"copy\" aria-label=\"Copy the command that reproduces "
               "this result\">Copy</button></div>\n";
    if (!facts.empty()) out += "<p>" + facts + "</p>\n";
    return out + "</details>\n";
}

/// A result with its number on the page, which its id has.
struct Numbered {
    const Result* result;
    std::size_t number;

    std::string id() const { return fmt::format("r{}", number); }
};

/// Results that differ in what they are about, not in what they are: one section in which the reader chooses.
struct Kind {
    std::vector<Numbered> members;
};

std::vector<std::string> wordsOf(const std::string& text) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

/// "Figure 8a. Performance of the schedulers" of the titles of all its parts; empty where a title has no parts.
std::string headingOf(const std::string& title) {
    const std::size_t colon = title.find(": ");
    return colon == std::string::npos || title.find('(') < colon ? std::string() : title.substr(0, colon);
}

/// Whether enough of two titles is alike to stand above both.
bool alikeWords(const std::string& a, const std::string& b) {
    const std::vector<std::string> x = wordsOf(a), y = wordsOf(b);
    const std::size_t least = std::min(x.size(), y.size());
    std::size_t before = 0, behind = 0;
    while (before < least && x[before] == y[before]) ++before;
    while (before + behind < least && x[x.size() - 1 - behind] == y[y.size() - 1 - behind]) ++behind;
    return before + behind >= std::min<std::size_t>(2, least);
}

bool sameKind(const Result& a, const Result& b) {
    const auto sameColumn = [](const Result::Column& x, const Result::Column& y) {
        return x.name == y.name && x.unit == y.unit;
    };
    const auto sameChart = [](const Chart& x, const Chart& y) {
        return x.kind == y.kind && x.x == y.x && x.y == y.y && x.series == y.series;
    };
    return headingOf(a.title) == headingOf(b.title) && alikeWords(a.title, b.title) &&
           std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(), sameColumn) &&
           std::equal(a.charts.begin(), a.charts.end(), b.charts.begin(), b.charts.end(), sameChart);
}

std::vector<Kind> kindsOf(std::span<const Result> results, std::size_t first) {
    std::vector<Kind> kinds;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) {
            return sameKind(*kind.members.front().result, results[i]);
        });
        Kind& kind = known == kinds.end() ? kinds.emplace_back() : *known;
        kind.members.push_back({&results[i], first + i});
    }
    return kinds;
}

/// What titles have in common at their ends, and what is each one's own.
struct Titles {
    std::string common;
    std::vector<std::string> own;
};

Titles titlesOf(const Kind& kind) {
    std::vector<std::vector<std::string>> all;
    for (const Numbered& one : kind.members) all.push_back(wordsOf(one.result->title));
    const auto agree = [&](const auto& wordOf) {
        return std::all_of(all.begin(), all.end(),
                           [&](const auto& words) { return wordOf(words) == wordOf(all.front()); });
    };
    std::size_t least = all.front().size();
    for (const auto& words : all) least = std::min(least, words.size());
    std::size_t before = 0, behind = 0;
    while (before < least && agree([&](const auto& words) { return words[before]; })) ++before;
    while (before + behind < least && agree([&](const auto& words) { return words[words.size() - 1 - behind]; }))
        ++behind;
    Titles titles;
    const auto& first = all.front();
    const auto end = static_cast<std::ptrdiff_t>(behind);
    std::vector<std::string> common(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(before));
    if (before + behind > 0 && before + behind < first.size()) common.emplace_back("…");
    common.insert(common.end(), first.end() - end, first.end());
    titles.common = fmt::format("{}", fmt::join(common, " "));
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::vector<std::string> own(all[i].begin() + static_cast<std::ptrdiff_t>(before), all[i].end() - end);
        titles.own.push_back(fmt::format("{}", fmt::join(own, " ")));
    }
    // Runs of one title differ in when and where they were made.
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Result::Provenance& p = kind.members[i].result->provenance;
        std::string& own = titles.own[i];
        const bool told = !own.empty() && std::count(titles.own.begin(), titles.own.end(), own) == 1;
        if (!told)
            own = fmt::format("{}{}{} {}", i + 1, own.empty() ? ": " : ": " + own + ", ", p.gpu, p.date.substr(0, 10));
    }
    return titles;
}

/// A sentence, in which a number is not parted from its percent sign.
std::string prose(const std::string& sentence) {
    std::string text = escaped(sentence);
    for (std::size_t at = text.find(" %"); at != std::string::npos; at = text.find(" %", at + 2))
        text.replace(at, 1, "\u00a0");
    return text;
}

/// The heading is the question, and the title stands small above it.
std::string head(const Result& r, const std::string& id, int level) {
    const std::string kicker = r.question.empty() ? "" : "<p class=\"kicker\">" + escaped(r.title) + "</p>\n";
    return fmt::format("{}<h{} id=\"{}-title\">{}</h{}>\n", kicker, level, id,
                       escaped(r.question.empty() ? r.title : r.question), level);
}

/// Question, answer, picture, how to read it, caveats, table, and how it was made. `lead`: a picture for it where it
/// has none.
std::string body(const Result& r, const std::string& id, int level, const std::string& lead) {
    std::string out = head(r, id, level);
    if (!r.answer.empty()) out += "<p class=\"answer\">" + prose(r.answer) + "</p>\n";
    const bool isFirst = id == "r1";
    const std::string own = figures(r, id);
    out += own.empty() ? lead : own;
    if (!r.reading.empty()) out += "<p class=\"reading\"><b>How to read it.</b> " + prose(r.reading) + "</p>\n";
    if (!r.caveats.empty()) {
        out += "<ul class=\"caveats\" aria-label=\"Caveats\">\n";
        for (const std::string& caveat : r.caveats) out += "<li>" + prose(caveat) + "</li>\n";
        out += "</ul>\n";
    }
    return out + foldedTable(r, id + "-title", own.empty() && isFirst) + source(r.provenance);
}

std::string section(const Kind& kind, int level, const std::string& lead) {
    const Numbered& first = kind.members.front();
    if (kind.members.size() == 1)
        return fmt::format("<section id=\"{}\">\n{}</section>\n", first.id(),
                           body(*first.result, first.id(), level, lead));
    const Titles titles = titlesOf(kind);
    const std::string id = first.id() + "-kind";
    std::string out = fmt::format(
        "<section id=\"{}\" class=\"choice\">\n<h{} id=\"{}-title\">{}</h{}>\n"
        "<p class=\"choose\"><label for=\"{}-choice\">Show</label> <select id=\"{}-choice\">\n",
        id, level, id, escaped(titles.common.empty() ? first.result->title : titles.common), level, id, id);
    for (std::size_t i = 0; i < kind.members.size(); ++i)
        out += fmt::format("<option value=\"{}\">{}</option>\n", kind.members[i].id(), escaped(titles.own[i]));
    out += fmt::format("</select> <span class=\"note\">of {}</span></p>\n", kind.members.size());
    for (const Numbered& one : kind.members)
        out += fmt::format("<div class=\"panel\" id=\"{}\" role=\"group\" aria-labelledby=\"{}-title\">\n{}</div>\n",
                           one.id(), one.id(), body(*one.result, one.id(), level + 1, ""));
    return out + "</section>\n";
}

std::string linkTo(const Kind& kind) {
    const Numbered& first = kind.members.front();
    if (kind.members.size() == 1)
        return fmt::format("<li><a href=\"#{}\">{}</a></li>\n", first.id(), escaped(first.result->title));
    const std::string common = titlesOf(kind).common;
    return fmt::format("<li><a href=\"#{}-kind\">{} <span class=\"count\">{}</span></a></li>\n", first.id(),
                       escaped(common.empty() ? first.result->title : common), kind.members.size());
}

/// A chart by its place on the page.
struct Placed {
    const Result* result;
    std::size_t number, chart;  ///< from 1
};

/// The GPU drawn as it is, else the first chart of any result.
std::optional<Placed> leadOf(std::span<const Chapter> chapters) {
    std::optional<Placed> first;
    std::size_t number = 0;
    for (const Chapter& chapter : chapters)
        for (const Result& r : chapter.results) {
            ++number;
            for (std::size_t i = 0; i < r.charts.size(); ++i) {
                const bool drawnGpu = r.charts[i].kind == Chart::Kind::floorplan;
                if ((!first || drawnGpu) && !plot(r, r.charts[i]).empty()) first = {&r, number, i + 1};
                if (first && drawnGpu) return first;
            }
        }
    return first;
}

/// A chart of any result, drawn a second time: what a page begins with whose first result has none and answers for all.
std::string leadFigure(std::span<const Chapter> chapters) {
    const bool summary =
        !chapters.empty() && !chapters.front().results.empty() && !chapters.front().results.front().answer.empty();
    const std::optional<Placed> lead = summary ? leadOf(chapters) : std::nullopt;
    if (!lead) return {};
    const Chart& chart = lead->result->charts[lead->chart - 1];
    return fmt::format(
        "<div class=\"figures\"><figure class=\"chart\" data-of=\"r{}-f{}\">\n<figcaption>{}</figcaption>\n"
        "<div class=\"plot\" role=\"img\" tabindex=\"0\" aria-label=\"{}\"></div>\n</figure></div>\n",
        lead->number, lead->chart, escaped(chart.title), escaped(describe(plot(*lead->result, chart))));
}

/// What all results have in common, once.
std::string lede(std::span<const Result> results) {
    std::set<std::string> gpus, versions, days;
    const auto insert = [](std::set<std::string>& values, const std::string& value) {
        if (!value.empty()) values.insert(value);
    };
    for (const Result& result : results) {
        insert(gpus, result.provenance.gpu);
        insert(versions, result.provenance.version);
        insert(days, result.provenance.date.substr(0, 10));
    }
    std::string out = fmt::format("{} {}", results.size(), results.size() == 1 ? "result" : "results");
    const auto add = [&](const std::set<std::string>& values, const char* before) {
        for (const std::string& value : values) out += " · " + std::string(before) + escaped(value);
    };
    // Of many it is enough to say how many: each result has its own.
    const auto addFew = [&](const std::set<std::string>& values, const char* before, const char* what) {
        constexpr std::size_t kFew = 3;
        if (values.size() <= kFew) return add(values, before);
        out += fmt::format(" · {} {}", values.size(), what);
    };
    addFew(gpus, "", "GPUs");
    addFew(versions, "version ", "versions");
    if (days.size() <= 2) {
        add(days, "");
    } else {
        out += " · " + escaped(*days.begin()) + " to " + escaped(*days.rbegin());
    }
    return "<p class=\"lede\">" + out + "</p>\n";
}

/// The trace itself, and buttons that open and save it.
std::string timeline(const Trace& trace) {
    if (trace.json.empty()) return {};
    std::string data;
    for (const char c : trace.json) c == '<' ? data += "\\u003c" : data += c;
    return "<section id=\"timeline\">\n<h2>What ran where and when?</h2>\n"
           "<p class=\"trace\"><button type=\"button\" id=\"open-trace\" class=\"tool\" hidden>Open in "
           "Perfetto</button> "
           "<button type=\"button\" id=\"save-trace\" class=\"tool\" hidden>Download the trace</button></p>\n"
           "<p class=\"note\">Perfetto is a viewer on the web (ui.perfetto.dev): the first button opens it and hands "
           "it "
           "the trace, which stays on this machine. Without a network, open the downloaded file elsewhere.</p>\n"
           "<script type=\"application/json\" id=\"trace\" data-name=\"" +
           escaped(trace.name) + "\">" + data + "</script>\n</section>\n";
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

std::string html(const std::string& title, std::span<const Result> results, const Trace& trace) {
    Chapter all{"", {results.begin(), results.end()}};
    // What the page is about stands above all of them already.
    for (Result& r : all.results)
        if (r.title.starts_with(title + ": ")) r.title.erase(0, title.size() + 2);
    return html(title, std::span(&all, 1), trace);
}

std::string html(const std::string& title, std::span<const Chapter> chapters, const Trace& trace) {
    std::string sections, links;
    std::size_t number = 1, kinds = 0;
    std::vector<Result> results;
    for (std::size_t c = 0; c < chapters.size(); ++c) {
        const Chapter& chapter = chapters[c];
        const bool named = !chapter.title.empty();
        if (named) {
            sections += fmt::format("<div class=\"chapter\"><h2 id=\"c{}\">{}</h2>\n", c + 1, escaped(chapter.title));
            links +=
                fmt::format("<li><a class=\"of-chapter\" href=\"#c{}\">{}</a>\n<ol>\n", c + 1, escaped(chapter.title));
        }
        for (const Kind& kind : kindsOf(chapter.results, number)) {
            sections += section(kind, named ? 3 : 2, kinds++ == 0 ? leadFigure(chapters) : "");
            links += linkTo(kind);
        }
        if (named) sections += "</div>\n";
        if (named) links += "</ol></li>\n";
        number += chapter.results.size();
        results.insert(results.end(), chapter.results.begin(), chapter.results.end());
    }
    const std::string contents =
        kinds < 2 ? ""
                  : "<nav aria-label=\"Contents\">\n<details open>\n<summary>Contents</summary>\n<ol>\n" + links +
                        "</ol>\n</details>\n</nav>\n";
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
           "script-src 'unsafe-inline'\">\n<title>" +
           escaped(title) + "</title>\n<style>\n" + paletteCss() + kReportCss +
           "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#results\">Skip to the results</a>\n"
           "<header>\n<p class=\"mark\">Bulkhead</p>\n"
           "<button type=\"button\" id=\"theme\" hidden>Dark</button>\n<h1>" +
           escaped(title) + "</h1>\n" + lede(results) + "</header>\n<div class=\"sheet" +
           (contents.empty() ? "" : " with-contents") + "\">\n" + contents + "<main id=\"results\">\n" + sections +
           timeline(trace) +
           "</main>\n</div>\n<div id=\"live\" class=\"unseen\" role=\"status\" "
           "aria-live=\"polite\"></div>\n<script>\n" +
           kReportJs + "</script>\n</body>\n</html>\n";
}

}  // namespace bulkhead::report
