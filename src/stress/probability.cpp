#include "stress/probability.h"

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>

namespace bulkhead::stress {
namespace {

namespace math = boost::math;
using math::policies::policy;
// Arithmetic in double on every host: a long double is 64, 80 or 128 bits, and slow where it is 128.
using Double = policy<math::policies::promote_double<false>>;

constexpr int kBits = 30;  // of a place; near a valley's bottom no more can be told apart
constexpr double kNegligible = 1e-12;

}  // namespace

double normalQuantile(double probability) {
    return quantile(math::normal_distribution<double, Double>(), probability);
}

double normalCdf(double x) {
    return cdf(math::normal_distribution<double, Double>(), x);
}

double studentQuantile(double probability, std::size_t degreesOfFreedom) {
    return quantile(math::students_t_distribution<double, Double>(static_cast<double>(degreesOfFreedom)), probability);
}

double chiSquaredQuantile(double probability, double degreesOfFreedom) {
    return quantile(math::chi_squared_distribution<double, Double>(degreesOfFreedom), probability);
}

double chiSquaredAbove(double x, double degreesOfFreedom) {
    return cdf(complement(math::chi_squared_distribution<double, Double>(degreesOfFreedom), x));
}

double betaQuantile(double probability, double a, double b) {
    return quantile(math::beta_distribution<double, Double>(a, b), probability);
}

double binomialCdf(std::size_t successes, std::size_t trials, double probability) {
    return cdf(math::binomial_distribution<double, Double>(static_cast<double>(trials), probability),
               static_cast<double>(successes));
}

double kolmogorovAbove(double x) {
    if (x < 0.2) return 1;  // the series needs many terms, and all digits are nines
    double sum = 0;
    for (double j = 1, sign = 1; j < 100; ++j, sign = -sign) {
        const double term = std::exp(-2 * j * j * x * x);
        sum += 2 * sign * term;
        if (term < kNegligible) break;
    }
    return std::clamp(sum, 0.0, 1.0);
}

double cramerVonMisesAbove(double x) {
    if (x < 0.02) return 1;
    double below = 0, coefficient = 1;  // Gamma(j + 1/2) / (Gamma(1/2) j!)
    for (double j = 0; j < 100; ++j) {
        const double root = 4 * j + 1, argument = root * root / (16 * x);
        const double term =
            coefficient * std::sqrt(root) * std::exp(-argument) * math::cyl_bessel_k(0.25, argument, Double());
        below += term;
        if (term < kNegligible) break;
        coefficient *= (j + 0.5) / (j + 1);
    }
    return std::clamp(1 - below / (math::constants::pi<double>() * std::sqrt(x)), 0.0, 1.0);
}

Extremum minimise(const std::function<double(double)>& function, double low, double high) {
    std::uintmax_t most = 60;
    const auto [at, value] = math::tools::brent_find_minima(function, low, high, kBits, most);
    return {at, value};
}

std::optional<double> rootAbove(const std::function<double(double)>& function, double from, double step, double limit) {
    double low = from, high = from + step;
    for (; function(high) < 0; step *= 2) {
        if (high >= limit) return std::nullopt;
        low = high;
        high = std::min(high + 2 * step, limit);
    }
    std::uintmax_t most = 60;
    return math::tools::toms748_solve(function, low, high, math::tools::eps_tolerance<double>(kBits), most).second;
}

}  // namespace bulkhead::stress
