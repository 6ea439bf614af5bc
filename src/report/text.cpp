#include <algorithm>

#include "base/printable.h"
#include "report/report.h"
#include "report/values.h"

namespace bulkhead::report {

std::string text(const Result& result) {
    const std::size_t columns = result.columns.size();
    std::vector<std::vector<std::string>> cells(1);
    std::vector<bool> right(columns, !result.rows.empty());
    for (const auto& column : result.columns) cells[0].push_back(printable(heading(column)));
    for (const auto& row : result.rows) {
        cells.emplace_back();
        for (std::size_t c = 0; c < columns; ++c) {
            cells.back().push_back(printable(shown(row[c])));
            if (!isNumber(row[c]) && !std::holds_alternative<std::monostate>(row[c])) right[c] = false;
        }
    }
    std::vector<std::size_t> widths(columns, 0);
    for (const auto& row : cells)
        for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], width(row[c]));

    std::string out = result.title.empty() ? "" : printable(result.title) + "\n";
    for (const auto& row : cells) {
        std::string line;
        for (std::size_t c = 0; c < columns; ++c) {
            const std::string padding(widths[c] - width(row[c]), ' ');
            if (c > 0) line += "  ";
            line += right[c] ? padding + row[c] : row[c] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

}  // namespace bulkhead::report
