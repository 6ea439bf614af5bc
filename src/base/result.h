#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bulkhead {

/// A cell of a result; empty where there is nothing to say.
using Value = std::variant<std::monostate, std::int64_t, double, std::string, bool>;

/// A drawing that a result asks for, in terms of its columns' names. Says nothing of pages, pixels or colors.
struct Chart {
    enum class Kind { line, bar, cdf, histogram, heatmap, scatter, stack, floorplan };

    /// A line across a chart where x has a value that matters.
    struct Mark {
        std::string name;
        double x = 0;
        bool operator==(const Mark&) const = default;
    };

    Kind kind = Kind::line;
    std::string title;
    /// line, scatter: numbers; bar, stack: names; heatmap: across; floorplan: what names a unit; cdf, histogram: none
    std::string x;
    /// line, bar: heights; stack: parts of one bar; cdf, histogram: samples; heatmap, floorplan: what colors show, the
    /// first unless the reader chooses another
    std::vector<std::string> y;
    /// Rows that differ here are drawn apart; heatmap: down; floorplan: the kind of a unit, and its group
    std::vector<std::string> series;
    std::vector<std::string> paper;   ///< what was published for y, in the order of y
    std::string yTitle;               ///< empty: the name of the only y
    bool logX = false, logY = false;  ///< heatmap: logY is of the color
    std::string label = {};           ///< scatter: what names a point; heatmap: a cell
    double band = 0;  ///< scatter: above 0, x and y are of the same kind: y = x is drawn, and y = x (1 +- band)
    std::vector<Mark> marks = {};  ///< line, cdf, histogram
};

/// What an experiment found: rows of named values, with their units and how they came about. Knows nothing of how it
/// is shown; see report/.
struct Result {
    struct Column {
        std::string name;
        std::string unit;     ///< empty: a plain number or text
        bool detail = false;  ///< behind the answer: shown where somebody asks for all
    };

    /// Enough to make it again.
    struct Provenance {
        std::string command;
        std::string gpu;
        std::optional<std::int64_t> seed;
        std::string version;
        std::string date;  ///< ISO 8601, UTC
    };

    std::string title;
    std::string question;              ///< what it was measured for; empty: the title says it
    std::string answer;                ///< one sentence with the number; empty: it answers nothing by itself
    std::string reading;               ///< how to read the table and the charts
    std::vector<std::string> caveats;  ///< what the answer does not hold for
    std::vector<Column> columns;
    std::vector<std::vector<Value>> rows;
    Provenance provenance;
    std::vector<Chart> charts;

    /// Adds a row; throws Error if it has not one value a column.
    void add(std::vector<Value> row);
    /// Makes details of the columns with these names; a name that no column has is ignored.
    void setDetails(std::initializer_list<std::string_view> names);
};

/// The date and time now, in the form of Provenance::date.
std::string currentDate();

}  // namespace bulkhead
