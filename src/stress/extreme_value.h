#pragma once

#include <optional>
#include <span>
#include <string>

namespace bulkhead::stress {

/// A Gumbel distribution of block maxima: what a probabilistic worst-case execution time is read from.
struct Gumbel {
    double location = 0, scale = 0;

    double cumulative(double x) const;
    /// What a maximum of a block exceeds with this probability.
    double exceeded(double probability) const;
};

/// By probability-weighted moments. Throws Error with fewer than two samples.
Gumbel fitGumbel(std::span<const double> maxima);
/// The Anderson-Darling distance, corrected for the number of samples when both parameters were fitted (Stephens,
/// 1977). The fit is bad at the 5 % level above kGumbelCritical.
double andersonDarling(const Gumbel&, std::span<const double> maxima);
constexpr double kGumbelCritical = 0.757;

/// A bound on the time of one run, or why there is none.
struct WorstCase {
    std::optional<double> bound;  ///< exceeded by a run with the probability asked for
    Gumbel fit;
    double distance = 0;  ///< andersonDarling()
    std::size_t blocks = 0, blockSize = 0;
    std::string refusal;  ///< empty where there is a bound
};

/// From samples in the order in which they were taken: maxima of blocks and a Gumbel fit to them. Refused: too few
/// samples, samples that do not vary, that depend on the ones before them, or a bad fit.
WorstCase boundWorstCase(std::span<const double> samples, double probability);

}  // namespace bulkhead::stress
