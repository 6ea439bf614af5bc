#pragma once

#include <optional>
#include <span>
#include <string>

namespace bulkhead::stress {

/// A Gumbel distribution of block maxima: one of the two that a probabilistic worst-case execution time is read from.
struct Gumbel {
    double location = 0, scale = 0;

    /// What a maximum of a block exceeds with this probability.
    double exceeded(double probability) const;
};

/// By probability-weighted moments. Throws Error with fewer than two samples.
Gumbel fitGumbel(std::span<const double> maxima);
/// The Anderson-Darling distance, corrected for the number of samples when both parameters were fitted (Stephens,
/// 1977). The fit is bad at the 5 % level above kGumbelCritical.
double andersonDarling(const Gumbel&, std::span<const double> maxima);
constexpr double kGumbelCritical = 0.757;

/// The other: a generalised Pareto distribution of what exceeds a threshold, by how much.
struct GeneralizedPareto {
    double scale = 0;
    double shape = 0;  ///< below 0 the tail has an end, above 0 it is heavier than an exponential one

    /// What an excess exceeds with this probability.
    double exceeded(double probability) const;
};

/// By probability-weighted moments (Hosking and Wallis, 1987), which hold for shapes below 1/2. Throws Error with fewer
/// than two.
GeneralizedPareto fitGeneralizedPareto(std::span<const double> excesses);
/// The Anderson-Darling distance, not corrected. Infinite where an excess lies beyond the end of the tail.
double andersonDarling(const GeneralizedPareto&, std::span<const double> excesses);
/// What the distance stays below in 95 % of fits to samples of this distribution, of this number: by simulation, as it
/// depends on the shape. Fits that leave a sample beyond the end of the tail do not count.
double paretoCritical(const GeneralizedPareto&, std::size_t count);

/// A bound on the time of one run by one of the distributions, or why there is none.
struct Bound {
    std::optional<double> value;        ///< exceeded by a run with the probability asked for
    double distance = 0, critical = 0;  ///< Anderson-Darling, and its 5 % level; 0 where nothing was fitted
    std::size_t count = 0;              ///< maxima or excesses that were fitted
    std::string refusal;                ///< empty where there is a value
};

struct WorstCase {
    Bound gumbel, pareto;

    /// The greater of those that there are.
    std::optional<double> value() const;
};

/// From samples in the order in which they were taken: maxima of blocks of ten with a Gumbel fit, and excesses over the
/// 90th percentile with a generalised Pareto fit. Refused: too few samples, samples that do not vary or that depend on
/// the ones before them, a tail too heavy to be fitted, or a bad fit.
WorstCase boundWorstCase(std::span<const double> samples, double probability);

}  // namespace bulkhead::stress
