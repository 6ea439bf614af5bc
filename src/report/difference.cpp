#include "report/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/phrases.h"
#include "report/values.h"

namespace bulkhead::report {
namespace {

constexpr const char* kHostTime = "simulated in";  // of the machine that simulates: it is never the same
constexpr double kRounding = 1e-9;
constexpr std::size_t kFewBars = 30;

std::optional<std::size_t> columnNamed(const Result& r, const std::string& name) {
    for (std::size_t c = 0; c < r.columns.size(); ++c)
        if (r.columns[c].name == name) return c;
    return std::nullopt;
}

/// Columns of words from one on, up to the next that has none.
std::set<std::string> wordsFrom(const Result& r, std::size_t c) {
    std::set<std::string> names;
    for (; c < r.columns.size(); ++c) {
        const auto isWord = [&](const auto& row) { return std::holds_alternative<std::string>(row[c]); };
        if (r.rows.empty() || !std::all_of(r.rows.begin(), r.rows.end(), isWord)) break;
        names.insert(r.columns[c].name);
    }
    return names;
}

/// Columns that say what a row is about: words that it begins with and what charts tell apart, else its first number
/// and words behind that.
std::set<std::string> keysOf(const Result& r) {
    std::set<std::string> keys = wordsFrom(r, 0);
    for (const Chart& chart : r.charts) {
        keys.insert(chart.series.begin(), chart.series.end());
        if (!chart.label.empty()) keys.insert(chart.label);
        if (!chart.x.empty() && chart.kind != Chart::Kind::scatter) keys.insert(chart.x);
    }
    if (keys.empty() && !r.columns.empty()) {
        keys = wordsFrom(r, 1);
        keys.insert(r.columns.front().name);
    }
    return keys;
}

/// Rows by what they are about; of several alike, the second has a number.
std::map<std::string, const std::vector<Value>*> rowsOf(const Result& r, const std::set<std::string>& keys) {
    std::map<std::string, const std::vector<Value>*> rows;
    for (const auto& row : r.rows) {
        std::string name;
        for (std::size_t c = 0; c < r.columns.size(); ++c)
            if (keys.contains(r.columns[c].name)) name += (name.empty() ? "" : " / ") + shown(row[c]);
        std::string own = name;
        for (int n = 2; rows.contains(own); ++n) own = fmt::format("{} ({})", name, n);
        rows.emplace(own, &row);
    }
    return rows;
}

/// A number of both, and the limits that it has.
struct Pair {
    double before, after;
    bool share = false;              ///< in percent already: it changes by points
    std::optional<bool> apart = {};  ///< whether limits overlap; nothing where there are none

    double change() const {
        if (before == after) return 0;
        if (share) return (after - before) / 100;
        return before == 0 ? std::numeric_limits<double>::infinity() : (after - before) / std::abs(before);
    }
};

std::optional<bool> limitsApart(const Result& a, const std::vector<Value>& before, const Result& b,
                                const std::vector<Value>& after, const std::string& name) {
    const auto limit = [&](const Result& r, const std::vector<Value>& row, const char* which) {
        const auto column = columnNamed(r, name + which);
        return column ? number(row[*column]) : std::numeric_limits<double>::quiet_NaN();
    };
    const double lowA = limit(a, before, " low"), highA = limit(a, before, " high"), lowB = limit(b, after, " low"),
                 highB = limit(b, after, " high");
    if (std::isnan(lowA + highA + lowB + highB)) return std::nullopt;
    return highA < lowB || highB < lowA;
}

/// Half of an interval of 95 % around a mean, by its standard deviation (an absolute one, or in % of the mean) and the
/// number of samples in the same row: of "mean" by "SD", of "solo mean" by "solo SD". NaN where a row has none, or one
/// sample.
double halfInterval(const Result& r, const std::vector<Value>& row, const std::string& name) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN(), kOf95Percent = 1.96;
    constexpr std::string_view kMean = "mean";
    if (!name.ends_with(kMean)) return kNone;
    const auto column = columnNamed(r, name), samples = columnNamed(r, "samples"),
               deviation = columnNamed(r, name.substr(0, name.size() - kMean.size()) + "SD");
    if (!samples || !deviation || number(row[*samples]) < 2) return kNone;
    const bool relative = r.columns[*deviation].unit == "%" && r.columns[*column].unit != "%";
    const double absolute = number(row[*deviation]) * (relative ? number(row[*column]) / 100 : 1);
    return kOf95Percent * absolute / std::sqrt(number(row[*samples]));
}

/// The same by the spread that rows have: means differ by more than chance lets them.
std::optional<bool> spreadApart(const Result& a, const std::vector<Value>& before, const Result& b,
                                const std::vector<Value>& after, const Pair& pair, const std::string& name) {
    const double allowed = std::hypot(halfInterval(a, before, name), halfInterval(b, after, name));
    if (std::isnan(allowed)) return std::nullopt;
    return std::abs(pair.after - pair.before) > allowed;
}

bool isLimit(const Result& r, const std::string& name) {
    for (const std::string which : {" low", " high"})
        if (name.ends_with(which) && columnNamed(r, name.substr(0, name.size() - which.size()))) return true;
    return false;
}

/// What was found so far.
struct Tally {
    std::size_t compared = 0, changed = 0, rowsAlone = 0, resultsAlone = 0;
    std::vector<std::pair<double, std::vector<Value>>> rows;
};

void compareResults(const Result& a, const Result& b, double noise, Tally& tally) {
    const std::set<std::string> keys = keysOf(a);
    const auto before = rowsOf(a, keys), after = rowsOf(b, keys);
    for (const auto& [name, row] : after) tally.rowsAlone += before.contains(name) ? 0 : 1;
    for (const auto& [name, row] : before) {
        const auto other = after.find(name);
        if (other == after.end()) {
            ++tally.rowsAlone;
            continue;
        }
        for (std::size_t c = 0; c < a.columns.size(); ++c) {
            const Result::Column& column = a.columns[c];
            const auto c2 = columnNamed(b, column.name);
            if (!c2 || keys.contains(column.name) || column.name == kHostTime || isLimit(a, column.name)) continue;
            const Value &old = (*row)[c], &fresh = (*other->second)[*c2];
            if (!isNumber(old) || !isNumber(fresh)) continue;
            ++tally.compared;
            Pair pair{number(old), number(fresh), column.unit == "%",
                      limitsApart(a, *row, b, *other->second, column.name)};
            const bool limited = pair.apart.has_value();
            if (!limited) pair.apart = spreadApart(a, *row, b, *other->second, pair, column.name);
            const double size = std::abs(pair.change());
            if (pair.apart ? !*pair.apart : size <= std::max(noise, kRounding)) continue;
            ++tally.changed;
            const bool finite = std::isfinite(size);
            tally.rows.emplace_back(
                size,
                std::vector<Value>{fmt::format("{}: {}", name, column.name), a.title, column.unit, old, fresh,
                                   finite ? Value(100 * pair.change()) : Value(),
                                   std::string(limited      ? "limits of 95 % do not overlap"
                                               : pair.apart ? "more than both spread (95 %)"
                                                            : fmt::format("more than {} %", brief(100 * noise)))});
        }
    }
}

std::string answerOf(const Tally& tally, const Result& r) {
    if (tally.compared == 0) return "Nothing can be compared: no number is in both.";
    if (tally.changed == 0)
        return fmt::format("Nothing: none of {} changed beyond noise.", counted(tally.compared, "number"));
    const auto& first = r.rows.front();
    const double change = number(first[5]);
    return fmt::format(
        "{} of {} changed beyond noise; {} most, from {} to {}{}.", tally.changed, counted(tally.compared, "number"),
        std::get<std::string>(first[0]), shown(first[3]), shown(first[4]),
        std::isnan(change) ? std::string() : fmt::format(" ({}{} %)", change > 0 ? "+" : "", brief(change)));
}

}  // namespace

Result difference(std::span<const Result> before, std::span<const Result> after, const Noise& noise) {
    Tally tally;
    std::vector<bool> taken(after.size(), false);
    for (const Result& a : before) {
        std::size_t i = 0;
        while (i < after.size() && (taken[i] || after[i].title != a.title)) ++i;
        if (i == after.size()) {
            ++tally.resultsAlone;
            continue;
        }
        taken[i] = true;
        compareResults(a, after[i], noise(a, after[i]), tally);
    }
    tally.resultsAlone += static_cast<std::size_t>(std::count(taken.begin(), taken.end(), false));
    std::stable_sort(tally.rows.begin(), tally.rows.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });

    Result r;
    r.title = "Changes between two results";
    r.question = "What changed, beyond noise?";
    r.columns = {{"what", ""},  {"result", ""},  {"unit", ""},  {"before", ""},
                 {"after", ""}, {"change", "%"}, {"beyond", ""}};
    for (auto& [size, row] : tally.rows) r.add(std::move(row));
    r.answer = answerOf(tally, r);
    r.reading =
        "Each row is a number that both have; one in % changes by points. Where results give limits of 95 %, or "
        "standard deviations of means, these decide whether it changed; else a share that depends on whether runs "
        "repeat exactly.";
    if (tally.resultsAlone > 0)
        r.caveats.push_back(fmt::format("{} in one file alone: not compared.", counted(tally.resultsAlone, "result")));
    if (tally.rowsAlone > 0)
        r.caveats.push_back(fmt::format("{} in one file alone: not compared.", counted(tally.rowsAlone, "row")));
    if (!r.rows.empty() && r.rows.size() <= kFewBars)
        r.charts.push_back(
            {Chart::Kind::bar, "Change of each number", "what", {"change"}, {}, {}, "change (%)", false, false});
    return r;
}

}  // namespace bulkhead::report
