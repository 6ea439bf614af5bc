#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace bulkhead::stress {

/// A generalised Pareto distribution of what exceeds a threshold, by how much. With shape 0, an exponential one.
struct GeneralizedPareto {
    double scale = 0;
    double shape = 0;  ///< below 0 the tail has an end, above 0 it is heavier than an exponential one

    /// What an excess exceeds with this probability.
    double exceeded(double probability) const;
};

/// Shapes that are fitted. Below the least, likelihood is not regular; the tail ends near the greatest sample there.
constexpr double kLightestShape = -0.5, kHeaviestShape = 1;

/// By maximum likelihood, in one dimension (Grimshaw, 1993). Throws Error with fewer than two.
GeneralizedPareto fitGeneralizedPareto(std::span<const double> excesses);
double logLikelihood(const GeneralizedPareto&, std::span<const double> excesses);

/// An upper confidence limit of what an excess exceeds with a probability, by the likelihood that is left when this
/// quantile is held and the shape chosen best. Nothing where the data set no limit.
std::optional<double> upperLimit(const GeneralizedPareto& fit, std::span<const double> excesses, double probability,
                                 double confidence);

/// The same of an exponential tail, which is exact: the sum of excesses has a gamma distribution.
double exponentialUpperLimit(std::span<const double> excesses, double probability, double confidence);

/// Anderson and Darling's distance with its weight on the upper tail alone.
double upperTailDistance(const GeneralizedPareto& fit, std::span<const double> excesses);
/// How often samples of the fitted distribution are further from their own fit: by simulation, as it depends on the
/// shape. Not told exactly where it is far from 5 % (after Besag and Clifford, 1991).
double fitPValue(const GeneralizedPareto& fit, std::span<const double> excesses);

/// Standard deviation over mean: 1 of an exponential tail, below it of a lighter one.
double coefficientOfVariation(std::span<const double> excesses);

/// A Gumbel distribution of the maxima of blocks.
struct Gumbel {
    double location = 0, scale = 0;

    /// What a maximum exceeds with this probability.
    double exceeded(double probability) const;
};

/// By maximum likelihood. Throws Error with fewer than two, and if they do not vary.
Gumbel fitGumbel(std::span<const double> maxima);
double logLikelihood(const Gumbel&, std::span<const double> maxima);
std::optional<double> upperLimit(const Gumbel& fit, std::span<const double> maxima, double probability,
                                 double confidence);
/// Anderson and Darling's distance, corrected for the number of samples when both parameters were fitted (Stephens,
/// 1977). The fit is bad at the 5 % level above kGumbelCritical.
double andersonDarling(const Gumbel&, std::span<const double> maxima);
constexpr double kGumbelCritical = 0.757;

}  // namespace bulkhead::stress
