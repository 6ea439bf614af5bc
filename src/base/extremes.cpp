#include "base/extremes.h"

namespace bulkhead {

std::optional<Extremes> extremesOf(const Result& result, std::size_t column) {
    std::optional<Extremes> found;
    for (std::size_t row = 0; row < result.rows.size(); ++row) {
        const Value& value = result.rows[row][column];
        const auto* const whole = std::get_if<std::int64_t>(&value);
        const auto* const real = std::get_if<double>(&value);
        if (!whole && !real) continue;
        const double x = whole ? static_cast<double>(*whole) : *real;
        if (!found) found = Extremes{x, x, row, row};
        if (x < found->least) {
            found->least = x;
            found->leastRow = row;
        }
        if (x > found->most) {
            found->most = x;
            found->mostRow = row;
        }
    }
    return found;
}

}  // namespace bulkhead
