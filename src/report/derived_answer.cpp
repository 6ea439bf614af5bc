#include "report/derived_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/extremes.h"
#include "base/phrases.h"
#include "report/values.h"

namespace bulkhead::report {
namespace {

bool hasNumbers(const Result& r, std::size_t column) {
    return std::any_of(r.rows.begin(), r.rows.end(), [&](const auto& row) { return isNumber(row[column]); });
}

/// The column that the answer is about.
std::optional<std::size_t> subjectOf(const Result& r) {
    for (const Chart& chart : r.charts)
        for (const std::string& name : chart.y)
            for (std::size_t c = 0; c < r.columns.size(); ++c)
                if (r.columns[c].name == name && hasNumbers(r, c)) return c;
    for (std::size_t c = 0; c < r.columns.size(); ++c)
        if (!r.columns[c].unit.empty() && hasNumbers(r, c)) return c;
    return std::nullopt;
}

/// " (MM / cp)": the words that a row begins with.
std::string nameOf(const std::vector<Value>& row) {
    constexpr std::size_t kMostWords = 3, kMostCharacters = 60;
    std::string name;
    for (std::size_t c = 0; c < std::min(row.size(), kMostWords); ++c) {
        const auto* word = std::get_if<std::string>(&row[c]);
        if (!word || word->empty()) break;
        name += (name.empty() ? "" : " / ") + *word;
    }
    return name.empty() ? "" : fmt::format(" ({})", withoutMiddle(name, kMostCharacters));
}

}  // namespace

std::string derivedAnswer(const Result& r) {
    const std::optional<std::size_t> column = subjectOf(r);
    if (!column) return {};
    const std::optional<Extremes> found = extremesOf(r, *column);
    if (!found) return {};
    const Result::Column& subject = r.columns[*column];
    const std::string unit = subject.unit.empty() ? "" : " " + subject.unit;
    if (found->least == found->most) return fmt::format("{}: {}{} everywhere.", subject.name, brief(found->most), unit);
    return fmt::format("{}: from {}{}{} to {}{}{}.", subject.name, brief(found->least), unit,
                       nameOf(r.rows[found->leastRow]), brief(found->most), unit, nameOf(r.rows[found->mostRow]));
}

}  // namespace bulkhead::report
