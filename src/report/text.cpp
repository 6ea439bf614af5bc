#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/printable.h"
#include "report/report.h"
#include "report/values.h"

namespace bulkhead::report {
namespace {

constexpr std::size_t kGap = 2, kLeastName = 16;

/// Cells of the columns that are shown, headings first.
struct Grid {
    std::vector<std::vector<std::string>> cells;
    std::vector<bool> right;  ///< numbers
    std::vector<std::size_t> widths;

    std::size_t total() const {
        return std::accumulate(widths.begin(), widths.end(),
                               kGap * (widths.size() - std::min<std::size_t>(1, widths.size())));
    }
};

std::vector<std::size_t> columnsOf(const Result& result, bool details) {
    std::vector<std::size_t> chosen;
    for (std::size_t c = 0; c < result.columns.size(); ++c)
        if (details || !result.columns[c].detail) chosen.push_back(c);
    return chosen;
}

Grid gridOf(const Result& result, const std::vector<std::size_t>& columns) {
    Grid g;
    g.right.assign(columns.size(), !result.rows.empty());
    g.cells.emplace_back();
    for (const std::size_t c : columns) g.cells[0].push_back(printable(heading(result.columns[c])));
    for (const auto& row : result.rows) {
        g.cells.emplace_back();
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const Value& value = row[columns[i]];
            g.cells.back().push_back(printable(shown(value)));
            if (!isNumber(value) && !std::holds_alternative<std::monostate>(value)) g.right[i] = false;
        }
    }
    g.widths.assign(columns.size(), 0);
    for (const auto& row : g.cells)
        for (std::size_t i = 0; i < columns.size(); ++i) g.widths[i] = std::max(g.widths[i], width(row[i]));
    return g;
}

/// Shortens the longest column of words by turns, until the table fits or none is long.
void shortenNames(Grid& g, std::size_t most) {
    while (g.total() > most) {
        std::size_t longest = g.widths.size();
        for (std::size_t i = 0; i < g.widths.size(); ++i)
            if (!g.right[i] && g.widths[i] > kLeastName &&
                (longest == g.widths.size() || g.widths[i] > g.widths[longest]))
                longest = i;
        if (longest == g.widths.size()) return;
        std::size_t& own = g.widths[longest];
        own = std::max(kLeastName, own - std::min(own, g.total() - most));
        for (auto& row : g.cells) row[longest] = withoutMiddle(row[longest], own);
    }
}

std::string linesOf(const Grid& g) {
    std::string out;
    for (const auto& row : g.cells) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(g.widths[i] - width(row[i]), ' ');
            if (i > 0) line += std::string(kGap, ' ');
            line += g.right[i] ? padding + row[i] : row[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

/// Words in lines of at most so many characters; 0: in one.
std::string wrapped(const std::string& words, std::size_t most) {
    if (most == 0) return words + "\n";
    std::string out, line;
    std::size_t at = 0;
    while (at <= words.size()) {
        const std::size_t end = std::min(words.find(' ', at), words.size());
        const std::string word = words.substr(at, end - at);
        if (!line.empty() && width(line) + 1 + width(word) > most) {
            out += line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
        at = end + 1;
    }
    return out + line + "\n";
}

}  // namespace

std::string text(const Result& result, const TextOptions& options) {
    std::vector<std::size_t> columns = columnsOf(result, options.details);
    Grid g = gridOf(result, columns);
    if (options.width > 0 && !options.details) {
        shortenNames(g, options.width);
        while (columns.size() > 1 && g.total() > options.width) {
            columns.pop_back();
            g = gridOf(result, columns);
            shortenNames(g, options.width);
        }
    }
    std::string out = result.title.empty() ? "" : wrapped(printable(result.title), options.width);
    if (!result.question.empty()) out += wrapped(printable(result.question), options.width);
    out += linesOf(g);
    if (options.more.empty() || columns.size() == result.columns.size()) return out;
    std::vector<std::string> left;
    for (std::size_t c = 0; c < result.columns.size(); ++c)
        if (std::find(columns.begin(), columns.end(), c) == columns.end())
            left.push_back(printable(result.columns[c].name));
    return out + wrapped(fmt::format("({} adds {})", options.more, fmt::join(left, ", ")), options.width);
}

std::string conclusion(const Result& result, std::size_t most) {
    std::string out;
    const auto add = [&](const char* before, const std::string& words) {
        if (!words.empty()) out += wrapped(before + printable(words), most);
    };
    add("Answer: ", result.answer);
    add("How to read it: ", result.reading);
    for (const std::string& caveat : result.caveats) add("Caveat: ", caveat);
    return out;
}

}  // namespace bulkhead::report
