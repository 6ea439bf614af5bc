#include "sim/ratio_estimate.h"

#include <cmath>

#include "base/statistics.h"

namespace bulkhead::sim {

Estimate estimateRest(std::span<const MeasuredPiece> pieces, double size) {
    double cost = 0, measured = 0;
    for (const MeasuredPiece& piece : pieces) {
        cost += piece.cost;
        measured += piece.size;
    }
    if (measured <= 0 || size <= 0) return {};
    const double ratio = cost / measured;
    Estimate estimate{ratio * size, ratio * size};
    if (pieces.size() < 2) return estimate;
    double squares = 0;
    for (const MeasuredPiece& piece : pieces) squares += std::pow(piece.cost - ratio * piece.size, 2);
    const auto n = static_cast<double>(pieces.size());
    const double variance = squares / (n - 1);
    const double rest = size * n / measured;  // in pieces of the average size
    estimate.halfWidth = studentT95(pieces.size() - 1) * std::sqrt(variance * (rest * rest / n + rest));
    return estimate;
}

}  // namespace bulkhead::sim
