#include "reproduce/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/extremes.h"
#include "base/phrases.h"
#include "gpu/gpu_name.h"

namespace bulkhead::reproduce {
namespace {

constexpr double kAgrees = 0.10, kNear = 0.30;
constexpr const char* kFactor = "x";  ///< the unit of times as much
constexpr const char *kWithin = "paper: within", *kEffect = "gain";
constexpr const char *kNumbers = "Measured and published values", *kTally = "Agreement with the papers";
constexpr std::array<const char*, 2> kNames = {"simulated", "hardware"};  // as gpu::originOf() says it

std::optional<std::size_t> columnNamed(const Result& r, const std::string& name) {
    for (std::size_t c = 0; c < r.columns.size(); ++c)
        if (r.columns[c].name == name) return c;
    return std::nullopt;
}

/// Ours and the paper's, by their columns. Of a bound, ours is in two: the least and the greatest change.
std::vector<std::pair<std::size_t, std::size_t>> pairsOf(const Result& r) {
    const std::string prefix = "paper's ";
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t c = 0; c < r.columns.size(); ++c) {
        const std::string& name = r.columns[c].name;
        const auto ours = name == "paper"            ? columnNamed(r, "ours")
                          : name.starts_with(prefix) ? columnNamed(r, name.substr(prefix.size()))
                                                     : std::nullopt;
        if (ours) pairs.emplace_back(*ours, c);
    }
    return pairs;
}

std::optional<double> numberIn(const Value& value) {
    if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
    if (const auto* d = std::get_if<double>(&value)) return *d;
    return std::nullopt;
}

/// What the number in a column is about: the names and whole numbers that a row begins with.
std::string subject(const std::vector<Value>& row, std::size_t column) {
    std::string words;
    for (std::size_t c = 0; c < column; ++c) {
        const auto* text = std::get_if<std::string>(&row[c]);
        const auto* number = std::get_if<std::int64_t>(&row[c]);
        if (!text && !number) break;
        const std::string word = text ? *text : std::to_string(*number);
        if (!word.empty()) words += (words.empty() ? "" : ", ") + word;
    }
    return words;
}

const char* wordFor(double off) {
    return off <= kAgrees ? "agrees" : off <= kNear ? "near" : "differs";
}

enum Source : std::size_t { simulated, hardware, kSources };

/// What we have for a number of a paper.
struct Ours {
    double value;
    double effect = 0;  ///< of a bound: what could have changed
};

/// A number of a paper, and what we have for it.
struct Comparison {
    std::string from, what, quantity, unit;
    double papers;
    bool isBound = false;  ///< ours must be no more than the paper's
    std::array<std::optional<Ours>, kSources> ours = {};

    /// Ours over the paper's. A factor counts by what it adds: one that gains nothing has nothing of what a paper has.
    std::optional<double> ratio(const Ours& mine) const {
        const double nothing = unit == kFactor ? 1 : 0;
        if (papers == nothing) return std::nullopt;
        return (mine.value - nothing) / (papers - nothing);
    }
    const char* verdict(const Ours& mine) const {
        const std::optional<double> times = ratio(mine);
        if (!isBound) return wordFor(times ? std::abs(*times - 1) : std::abs(mine.value - papers));
        // What has no effect does not change, and keeps every bound: that says nothing.
        if (mine.effect <= papers) return "differs";
        return times && *times <= 1 ? "agrees" : wordFor(times ? std::max(*times - 1, kAgrees * 1.001) : 1);
    }

    bool sameAs(const Comparison& other) const {
        return from == other.from && what == other.what && quantity == other.quantity && papers == other.papers;
    }
};

std::vector<Comparison> comparisons(const std::vector<Result>& results) {
    std::vector<Comparison> all;
    for (const Result& r : results) {
        if (isVerdict(r)) continue;
        const Source source = gpu::originOf(r.provenance.gpu) == kNames[hardware] ? hardware : simulated;
        const auto add = [&](Comparison c, Ours mine) {
            const auto known = std::find_if(all.begin(), all.end(), [&](const Comparison& other) {
                return c.sameAs(other) && !other.ours[source];
            });
            Comparison& place = known == all.end() ? all.emplace_back(std::move(c)) : *known;
            place.ours[source] = mine;
        };
        for (const auto& [ours, papers] : pairsOf(r))
            for (const auto& row : r.rows) {
                const auto mine = numberIn(row[ours]), theirs = numberIn(row[papers]);
                if (mine && theirs)
                    add({r.title, subject(row, ours), r.columns[ours].name, r.columns[ours].unit, *theirs}, {*mine});
            }
        const auto within = columnNamed(r, kWithin), least = columnNamed(r, "minimum"),
                   most = columnNamed(r, "maximum");
        if (!within || !least || !most) continue;
        const auto gains = columnNamed(r, kEffect);
        for (const auto& row : r.rows) {
            const auto low = numberIn(row[*least]), high = numberIn(row[*most]), theirs = numberIn(row[*within]);
            if (!low || !high || !theirs) continue;
            const std::optional<double> effect = gains ? numberIn(row[*gains]) : std::nullopt;
            add({r.title, subject(row, *least), "change within", r.columns[*within].unit, *theirs, true},
                {std::max(std::abs(*low), std::abs(*high)), effect.value_or(0)});
        }
    }
    return all;
}

std::array<bool, kSources> sourcesOf(const std::vector<Comparison>& all) {
    std::array<bool, kSources> present = {};
    for (const Comparison& c : all)
        for (std::size_t s = 0; s < kSources; ++s) present[s] = present[s] || c.ours[s].has_value();
    return present;
}

/// "Figure 8a. Performance of the schedulers" of the titles of all its parts.
std::string figureOf(const std::string& title) {
    return title.substr(0, title.find(": "));
}

Result numbersTable(const std::vector<Comparison>& all) {
    Result r;
    r.title = kNumbers;
    r.columns = {{"figure", ""}, {"case", ""}, {"quantity", ""}, {"unit", ""}, {"paper", ""}};
    const std::array<bool, kSources> present = sourcesOf(all);
    for (std::size_t s = 0; s < kSources; ++s)
        if (present[s])
            for (const char* column : {"", ", ratio", ", verdict"})
                r.columns.push_back({kNames[s] + std::string(column), ""});
    for (const Comparison& c : all) {
        std::vector<Value> row = {figureOf(c.from), c.what, c.quantity, c.unit, c.papers};
        std::size_t at = row.size();
        row.resize(r.columns.size());
        for (std::size_t s = 0; s < kSources; ++s) {
            if (const std::optional<Ours>& ours = c.ours[s]) {
                row[at] = ours->value;
                if (const std::optional<double> ratio = c.ratio(*ours)) row[at + 1] = *ratio;
                row[at + 2] = std::string(c.verdict(*ours));
            }
            if (present[s]) at += 3;
        }
        r.add(std::move(row));
    }
    return r;
}

void answer(Result& r, const std::vector<Comparison>& all) {
    std::size_t numbers = 0, agree = 0, near = 0;
    for (const Comparison& c : all)
        for (const std::optional<Ours>& ours : c.ours) {
            if (!ours) continue;
            const std::string_view word = c.verdict(*ours);
            ++numbers;
            agree += word == "agrees" ? 1 : 0;
            near += word == "near" ? 1 : 0;
        }
    r.question = "Do our numbers agree with the papers'?";
    r.answer = fmt::format("Of {}, {} agree within 10 %, {} more are within 30 %, and {} differ.",
                           counted(numbers, "published number"), agree, near, numbers - agree - near);
    r.reading = "Bars count the numbers of each figure; the next table has them one by one.";
}

Result tally(const std::vector<Comparison>& all) {
    Result r;
    r.title = kTally;
    r.columns = {{"figure", ""}, {"GPU", ""}, {"agree", ""}, {"near", ""}, {"differ", ""}};
    std::map<std::string, std::size_t> places;
    std::vector<std::array<std::array<std::int64_t, 3>, kSources>> counts;
    std::vector<std::string> figures;
    for (const Comparison& c : all) {
        const auto [place, fresh] = places.emplace(figureOf(c.from), counts.size());
        if (fresh) {
            counts.emplace_back();
            figures.push_back(place->first);
        }
        for (std::size_t s = 0; s < kSources; ++s) {
            if (!c.ours[s]) continue;
            const std::string word = c.verdict(*c.ours[s]);
            ++counts[place->second][s][word == "agrees" ? 0 : word == "near" ? 1 : 2];
        }
    }
    for (std::size_t f = 0; f < figures.size(); ++f)
        for (std::size_t s = 0; s < kSources; ++s) {
            const auto& [agree, near, differ] = counts[f][s];
            if (agree + near + differ > 0) r.add({figures[f], std::string(kNames[s]), agree, near, differ});
        }
    r.charts = {{Chart::Kind::bar,
                 "Numbers by agreement",
                 "figure",
                 {"agree", "near", "differ"},
                 {"GPU"},
                 {},
                 "numbers",
                 false,
                 false}};
    return r;
}

/// Of a figure whose paper prints no number: how far ours reach.
void answerWithoutNumbers(Result& r) {
    if (r.charts.empty() || r.charts.front().y.empty()) return;
    const std::string& y = r.charts.front().y.front();
    const auto column = std::find_if(r.columns.begin(), r.columns.end(), [&](const auto& c) { return c.name == y; });
    if (column == r.columns.end()) return;
    const auto found = extremesOf(r, static_cast<std::size_t>(column - r.columns.begin()));
    if (!found) return;
    if (r.question.empty()) r.question = "What is ours, where the paper prints no number?";
    const std::string unit = column->unit.empty() ? "" : " " + column->unit;
    r.answer = found->least < found->most
                   ? fmt::format("{}: from {} to {}{}. The paper has a picture alone, whose shape can be compared.", y,
                                 brief(found->least), brief(found->most), unit)
                   : fmt::format("{}: {}{}. The paper has a picture alone.", y, brief(found->most), unit);
}

}  // namespace

bool isVerdict(const Result& r) {
    return r.title == kNumbers || r.title == kTally;
}

void answer(Result& r) {
    if (!r.answer.empty()) return;
    const std::vector<Result> own = verdicts({r});
    if (own.empty()) return answerWithoutNumbers(r);
    if (r.question.empty()) r.question = "Does it agree with the paper?";
    r.answer = own.front().answer;
    if (r.reading.empty()) r.reading = "A column named for the paper has what it published.";
}

std::vector<Result> verdicts(const std::vector<Result>& results) {
    const std::vector<Comparison> all = comparisons(results);
    if (all.empty()) return {};
    std::vector<Result> both = {tally(all), numbersTable(all)};
    answer(both.front(), all);
    both.back().question = "Which numbers agree, one by one?";
    both.back().reading =
        "ratio is ours over the paper's, of factors what they are more than 1: within 10 % a number agrees, within 30 "
        "% "
        "it is near.";
    return both;
}

}  // namespace bulkhead::reproduce
