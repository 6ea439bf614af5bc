#pragma once

#include <cstddef>
#include <functional>
#include <optional>

// Distributions and searches in one dimension, from Boost.Math. No other file includes it, as its headers take seconds.
namespace bulkhead::stress {

double normalQuantile(double probability);
double normalCdf(double x);
double studentQuantile(double probability, std::size_t degreesOfFreedom);
double chiSquaredQuantile(double probability, double degreesOfFreedom);
/// P(X > x).
double chiSquaredAbove(double x, double degreesOfFreedom);
double betaQuantile(double probability, double a, double b);
/// P(X <= successes) of so many trials.
double binomialCdf(std::size_t successes, std::size_t trials, double probability);
/// P(sqrt(n) D > x) of Kolmogorov's statistic of many samples.
double kolmogorovAbove(double x);
/// P(W > x) of the Cramer-von Mises statistic of many samples (Anderson and Darling, 1952), which KPSS's has as well.
double cramerVonMisesAbove(double x);

struct Extremum {
    double at = 0, value = 0;
};
/// The least value between two places, of a function that has one valley there (Brent).
Extremum minimise(const std::function<double(double)>&, double low, double high);
/// Where an increasing function is 0, looked for upward from `from`, where it is below 0, in steps that double. Nothing
/// if it is still below 0 at `limit`.
std::optional<double> rootAbove(const std::function<double(double)>&, double from, double step, double limit);

}  // namespace bulkhead::stress
