#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace bulkhead {

/// A cell of a result; empty where there is nothing to say.
using Value = std::variant<std::monostate, std::int64_t, double, std::string, bool>;

/// What an experiment found: rows of named values, with their units and how they came about. Knows nothing of how it
/// is shown; see report/.
struct Result {
    struct Column {
        std::string name;
        std::string unit;  ///< empty: a plain number or text
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
    std::vector<Column> columns;
    std::vector<std::vector<Value>> rows;
    Provenance provenance;

    /// Adds a row; throws Error if it has not one value a column.
    void add(std::vector<Value> row);
};

/// The date and time now, in the form of Provenance::date.
std::string currentDate();

}  // namespace bulkhead
