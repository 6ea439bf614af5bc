#include "reproduce/verdict.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace bulkhead::reproduce {
namespace {

constexpr double kAgrees = 0.10, kNear = 0.30;

std::optional<std::size_t> columnNamed(const Result& r, const std::string& name) {
    for (std::size_t c = 0; c < r.columns.size(); ++c)
        if (r.columns[c].name == name) return c;
    return std::nullopt;
}

/// Ours and the paper's, by their columns.
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

/// The words of a row: what it is about.
std::string subject(const std::vector<Value>& row) {
    std::string words;
    for (const Value& cell : row)
        if (const auto* text = std::get_if<std::string>(&cell); text && !text->empty())
            words += (words.empty() ? "" : ", ") + *text;
    return words;
}

const char* verdict(double ours, double papers) {
    const double off = papers == 0 ? std::abs(ours) : std::abs(ours / papers - 1);
    return off <= kAgrees ? "agrees" : off <= kNear ? "near" : "differs";
}

}  // namespace

Result verdicts(const std::vector<Result>& results) {
    Result all;
    all.title = "Ours beside the papers'";
    all.columns = {{"from", ""}, {"what", ""},  {"quantity", ""}, {"unit", ""},
                   {"ours", ""}, {"paper", ""}, {"ratio", ""},    {"verdict", ""}};
    for (const Result& r : results)
        for (const auto& [ours, papers] : pairsOf(r))
            for (const auto& row : r.rows) {
                const auto mine = numberIn(row[ours]), theirs = numberIn(row[papers]);
                if (!mine || !theirs) continue;
                all.add({r.title, subject(row), r.columns[ours].name, r.columns[ours].unit, *mine, *theirs,
                         *theirs == 0 ? Value() : Value(*mine / *theirs), std::string(verdict(*mine, *theirs))});
            }
    return all;
}

}  // namespace bulkhead::reproduce
