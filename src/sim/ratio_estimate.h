#pragma once

#include <span>

namespace bulkhead::sim {

/// A piece of a whole that was measured: its cost, and its size, which is known of all pieces.
struct MeasuredPiece {
    double cost, size;
};

/// A value and half the width of its confidence interval of 95 %.
struct Estimate {
    double value = 0, halfWidth = 0;
};

/// What the rest of the whole costs, given its size: cost is taken to be proportional to size, as it was in the pieces
/// (a ratio estimator). The interval follows from how much the pieces differ from that (Student's t over pieces); it
/// covers that the ratio is not known exactly and that the rest differs in the same way. With one piece it is as wide
/// as the value.
Estimate estimateRest(std::span<const MeasuredPiece>, double size);

}  // namespace bulkhead::sim
