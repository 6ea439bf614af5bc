#include "stress/stored_samples.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "base/error.h"
#include "corun/aggressor.h"

namespace bulkhead::stress {
namespace {

/// Rows of a result by the names of columns.
class Rows {
  public:
    explicit Rows(const Result& result) : result_(result) {}

    bool have(std::initializer_list<const char*> columns) const {
        return std::all_of(columns.begin(), columns.end(), [&](const char* name) { return placeOf(name).has_value(); });
    }
    std::size_t count() const { return result_.rows.size(); }

    std::string text(std::size_t row, const char* column) const {
        const auto* text = std::get_if<std::string>(&at(row, column));
        if (!text) throw Error("{}: row {}: {} is not a name", result_.title, row, column);
        return *text;
    }
    double number(std::size_t row, const char* column) const {
        const Value& value = at(row, column);
        if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
        const auto* number = std::get_if<double>(&value);
        if (!number) throw Error("{}: row {}: {} is not a number", result_.title, row, column);
        return *number;
    }

  private:
    std::optional<std::size_t> placeOf(const char* name) const {
        const auto c = std::find_if(result_.columns.begin(), result_.columns.end(),
                                    [&](const Result::Column& column) { return column.name == name; });
        if (c == result_.columns.end()) return std::nullopt;
        return static_cast<std::size_t>(c - result_.columns.begin());
    }
    const Value& at(std::size_t row, const char* column) const { return result_.rows[row][*placeOf(column)]; }

    const Result& result_;
};

Cell& cellOf(std::vector<Cell>& cells, const Rows& rows, std::size_t row) {
    corun::PairSpec pair;
    pair.victim.name = rows.text(row, "victim");
    pair.sharing = rows.text(row, "sharing");
    pair.aggressor.name = rows.text(row, "aggressor");
    for (Cell& cell : cells)
        if (cell.pair.victim.name == pair.victim.name && cell.pair.sharing == pair.sharing &&
            cell.pair.aggressor.name == pair.aggressor.name)
            return cell;
    cells.emplace_back().pair = pair;
    return cells.back();
}

}  // namespace

std::vector<Cell> storedCells(std::span<const Result> results) {
    std::vector<Cell> cells;
    for (const Result& result : results) {
        const Rows rows(result);
        if (!rows.have({"victim", "sharing", "aggressor", "sample", "solo", "co-run"})) continue;
        for (std::size_t i = 0; i < rows.count(); ++i) {
            corun::Pair pair;
            pair.alone.seconds = rows.number(i, "solo") * 1e-3;
            pair.together.seconds = rows.number(i, "co-run") * 1e-3;
            cellOf(cells, rows, i).pairing.pairs.push_back(pair);
        }
    }
    if (cells.empty()) throw Error("no samples: these are not results of stress --json");
    for (const Result& result : results) {
        const Rows rows(result);
        if (!rows.have({"victim", "sharing", "aggressor", "lost", "slowdown"})) continue;
        // A lost pair is one that gave no time, for whatever reason.
        for (std::size_t i = 0; i < rows.count(); ++i)
            cellOf(cells, rows, i).pairing.failed += static_cast<unsigned>(rows.number(i, "lost"));
    }
    return cells;
}

}  // namespace bulkhead::stress
