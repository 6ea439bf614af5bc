#pragma once

#include "math_double.h"

// The special functions, in double: gamma, the error function's relatives and Bessel's. Section numbers are those of
// Abramowitz and Stegun, Handbook of Mathematical Functions.

namespace bulkhead_sdk {

__device__ __forceinline__ Pair<double> pairSum(Pair<double> a, Pair<double> b) {
    const Pair<double> s = sum(a.high, b.high);
    return quickSum(s.high, s.low + (a.low + b.low));
}
__device__ __forceinline__ Pair<double> divided(Pair<double> a, double b) {
    const double q = __ddiv_rn(a.high, b);
    return quickSum(q, __ddiv_rn(__fma_rn(-q, b, a.high) + a.low, b));
}

/// Gamma(1.5 + s) for |s| <= 0.5.
BULKHEAD_DEVICE double gammaFromOneToTwo(double s) {
    return polynomial(s, 0x1.c5bf891b4ef6bp-1, 0x1.08ea88ee5619bp-5, 0x1.a8c4dba620d6dp-2, -0x1.b77ac1ca2dc55p-4,
                      0x1.283bd374e9384p-3, -0x1.3d88cfe568e7ep-4, 0x1.e022b7456911dp-5, -0x1.374fd5a7ca84cp-5,
                      0x1.a752c6186a606p-6, -0x1.1a2c31115fe54p-6, 0x1.7991f64f8b68dp-7, -0x1.f7fa6e5b79827p-8,
                      0x1.504c131ee4a8fp-8, -0x1.c0c965b0e7d86p-9, 0x1.2b5d41282163ap-9, -0x1.8cef5c6763766p-10,
                      0x1.07e6263cfb1efp-10, -0x1.746aa92dc6071p-11, 0x1.f9910797a3ceap-12, -0x1.bb3f811e19b2ap-13,
                      0x1.0937ed67f9a22p-13, -0x1.115d0ac8d3a98p-12, 0x1.8282c6059fa3dp-13);
}
/// The logarithm of gamma at 1.5 + s, divided by its roots' (s - 0.5) (s + 0.5); at 2.5 + s, by s + 0.5.
BULKHEAD_DEVICE double logGammaFromOneToTwo(double s) {
    return polynomial(s, 0x1.eeb95b094c191p-2, -0x1.2aed059bd608ap-3, 0x1.01af62a2929bfp-4, -0x1.007aa83cee0f6p-5,
                      0x1.133423527f3fbp-6, -0x1.34dbda14a68c0p-7, 0x1.64f0664c35775p-8, -0x1.a503522912d4fp-9,
                      0x1.f814babf3f1d3p-10, -0x1.313e8be05aa93p-10, 0x1.750a77c2b6c77p-11, -0x1.cb44891b2ef61p-12,
                      0x1.1c7e50ca76d0dp-12, -0x1.624493b93e5b6p-13, 0x1.b9e235cc8e880p-14, -0x1.1531857021a8dp-14,
                      0x1.68fed205a8313p-15, -0x1.cb3697f892588p-16, 0x1.ba0ca9e09ed42p-17, -0x1.0e3821f920194p-17,
                      0x1.97abe2d366ba6p-17, -0x1.0c223674a80b7p-17);
}
BULKHEAD_DEVICE double logGammaFromTwoToThree(double s) {
    return polynomial(s, 0x1.2383e809a67e8p-1, 0x1.1200f695b0dd9p-2, -0x1.6f0ca9a1c2746p-5, 0x1.646ae6e418a72p-7,
                      -0x1.95b11573d7da5p-9, 0x1.f7e4616128607p-11, -0x1.4a5d12d1bfc78p-12, 0x1.c135f7e296f7fp-14,
                      -0x1.3957c0b74e90dp-15, 0x1.bd7633214abccp-17, -0x1.4135309cdf492p-18, 0x1.d46c978e60f22p-20,
                      -0x1.58c68fde88cacp-21, 0x1.ff3eeef04c014p-23, -0x1.7835cb7003856p-24, 0x1.17a9d1322a1d4p-25,
                      -0x1.f9a6ef738d7a0p-27, 0x1.8edbb8f71af4dp-28);
}

/// Stirling's series without its first terms: 1/(12x) - 1/(360x^3) + ... (6.1.41).
BULKHEAD_DEVICE double stirlingTail(double x) {
    const double r = __drcp_rn(x);
    return r * polynomial(r * r, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156,
                          -3617.0 / 122400);
}
/// Gamma(x) / 2^shift for x of 20 and more. The logarithm is carried in twice the precision, as in pow.
BULKHEAD_DEVICE_LARGE double stirling(double x, int shift) {
    const Pair<double> power = product(Pair<double>{x - 0.5, 0.0}, log2Pair(x));
    const Pair<double> decay =
        product(Pair<double>{-x, 0.0}, Pair<double>{0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56});
    const Pair<double> e = pairSum(pairSum(power, decay), Pair<double>{-(double)shift, 0.0});
    return exp2Pair(e) * 0x1.40d931ff62706p+1 * exp(stirlingTail(x));
}
/// For |x| < 20 that is no whole number below 1: Gamma(t) with t in [1, 2], times or by the factors between.
BULKHEAD_DEVICE_LARGE double gammaByFactors(double x) {
    const double whole = floor(x), t = x - whole;
    Pair<double> factors = {1.0, 0.0};
    if (whole >= 1) {
        for (double k = whole - 1; k >= 1; k -= 1) factors = product(factors, sum(t, k));
        return __dmul_rn(factors.high, gammaFromOneToTwo(t - 0.5)) + factors.low * gammaFromOneToTwo(t - 0.5);
    }
    for (double k = 0; k < 1 - whole; k += 1) factors = product(factors, sum(x, k));
    const double gamma = gammaFromOneToTwo(t - 0.5), quotient = __ddiv_rn(gamma, factors.high);
    return __fma_rn(-quotient, factors.low / factors.high, quotient);
}

/// For x of 8 and more.
BULKHEAD_DEVICE double logGammaLarge(double x) {
    const double head = (x - 0.5) * (log(x) - 1.0);
    return x > 1e17 ? head : head + (0.41893853320467274178 + stirlingTail(x));
}
BULKHEAD_DEVICE_LARGE double logGammaPositive(double x) {
    if (x >= 8) return logGammaLarge(x);
    if (x >= 3) {
        double factors = 1.0;
        for (; x >= 3; x -= 1) factors *= x - 1;
        return log(factors) + (x - 2.0) * logGammaFromTwoToThree(x - 2.5);
    }
    if (x >= 2) return (x - 2.0) * logGammaFromTwoToThree(x - 2.5);
    if (x >= 1) return (x - 1.0) * (x - 2.0) * logGammaFromOneToTwo(x - 1.5) + 0.0;  // no -0
    return x * (x - 1.0) * logGammaFromOneToTwo(x - 0.5) - log(x);
}

/// e^(x^2) erfc(x) for x in [0.85, 29].
BULKHEAD_DEVICE double scaledErfcTail(double x) {
    const double t = __ddiv_rn(__dsub_rn(x, 4.0), __dadd_rn(x, 4.0));
    return __ddiv_rn(erfcPolynomial(t), __fma_rn(2.0, x, 1.0));
}
/// e^(x^2), from a square in twice the precision.
BULKHEAD_DEVICE double expOfSquare(double x) {
    const Pair<double> square = product(x, x);
    const double e = exp(square.high);
    return isInfinite(e) ? e : __fma_rn(e, square.low, e);
}

/// x with erfc(x) = q, for q in (0, 0.5]: a start that errs by 5e-4 (26.2.23), and Newton's method on the logarithm.
BULKHEAD_DEVICE_LARGE double inverseErfcTail(double q) {
    const double logQ = log(q), t = sqrt(-2.0 * (logQ - 0.69314718055994530942));
    double x = t - polynomial(t, 2.515517, 0.802853, 0.010328) / polynomial(t, 1.0, 1.432788, 0.189269, 0.001308);
    x *= 0.70710678118654752440;
    for (int i = 0; i < 3; ++i) {
        const double scaledErfc = x >= 0.85 ? scaledErfcTail(x) : expOfSquare(x) * (1.0 - erfNearZero(x));
        const Pair<double> square = product(x, x);
        const double difference = (log(scaledErfc) - square.low) - (square.high + logQ);
        x = __fma_rn(difference * 0.88622692545275801365, scaledErfc, x);
    }
    return x;
}
/// x with erf(x) = y, for |y| <= 0.5: the beginning of its series, and Halley's method.
BULKHEAD_DEVICE_LARGE double inverseErfNearZero(double y) {
    const double z = 0.78539816339744830962 * y * y;
    double x = y * 0.88622692545275801365 * polynomial(z, 1.0, 1.0 / 3, 7.0 / 30, 127.0 / 630);
    for (int i = 0; i < 2; ++i) {
        const double step = (erfNearZero(x) - y) * 0.88622692545275801365 * exp(x * x);
        x -= step / (1.0 + x * step);
    }
    return x;
}

/// Bessel functions below 25 by their power series (9.1.10), whose terms cancel, in twice the precision: the sum of
/// (-x^2/4)^k / (k! (k + n)!) n!; and, for Y, the same with each term times H_k + H_(k + n).
struct BesselSums {
    Pair<double> plain, harmonic;
};
BULKHEAD_DEVICE_LARGE BesselSums besselSeries(int n, double x) {
    const Pair<double> square = product(0.5 * x, 0.5 * x), z = {-square.high, -square.low};
    Pair<double> term = {1.0, 0.0}, harmonics = {0.0, 0.0};
    for (int k = 1; k <= n && n < 2; ++k) harmonics = pairSum(harmonics, divided({1.0, 0.0}, k));
    BesselSums sums = {term, harmonics};
    for (int k = 1; fabs(term.high) > 1e-36; ++k) {
        term = divided(product(term, z), (double)k * ((double)k + n));
        sums.plain = pairSum(sums.plain, term);
        if (n >= 2) continue;
        harmonics = pairSum(harmonics, pairSum(divided({1.0, 0.0}, k), divided({1.0, 0.0}, k + n)));
        sums.harmonic = pairSum(sums.harmonic, product(term, harmonics));
    }
    return sums;
}

/// From 25 on Hankel's expansion (9.2.5), for orders 0 and 1: its terms get below 2^-53 before they grow.
struct BesselPair {
    double j, y;
};
BULKHEAD_DEVICE_LARGE BesselPair hankel(int order, double x) {
    if (isInfinite(x)) return {0.0, 0.0};
    double even = 1.0, odd = 0.0, term = 1.0;
    for (int k = 1; k < 40 && fabs(term) > 1e-18; ++k) {
        const double first = 2.0 * k - 1;
        term *= (4.0 * order - first * first) / (8.0 * k) / x;
        if ((k & 2) != 0 && (k & 1) == 0) {
            even -= term;
        } else if ((k & 1) == 0) {
            even += term;
        } else {
            odd += (k & 2) != 0 ? -term : term;
        }
    }
    double s, c;
    sincos(x, &s, &c);
    const double cosine = order == 0 ? c + s : s - c, sine = order == 0 ? s - c : -(s + c);
    const double size =
        0.56418958354775628695 / sqrt(x);  // sqrt(2 / (pi x)), and cosine and sine have a factor sqrt(2)
    return {size * (even * cosine - odd * sine), size * (even * sine + odd * cosine)};
}

BULKHEAD_DEVICE_LARGE double besselJ(int n, double x) {
    const double size = fabs(x);
    if (n < 0 || isNan(x)) return isNan(x) ? x : notANumber<double>();
    const bool flips = (n & 1) != 0 && x < 0;
    double result = 0.0;
    if (size < 25) {
        double factor = 1.0;
        for (int k = 1; k <= n && factor != 0; ++k) factor *= 0.5 * size / k;
        const Pair<double> series = besselSeries(n, size).plain;
        result = factor == 0 ? 0.0 : factor * series.high;
    } else if (n < 2) {
        result = hankel(n, size).j;
    } else if (n <= size) {
        // J_(k+1) = 2k/x J_k - J_(k-1) (9.1.27), stable upwards while k < x.
        double before = hankel(0, size).j;
        result = hankel(1, size).j;
        for (int k = 1; k < n; ++k) {
            const double next = 2.0 * k / size * result - before;
            before = result;
            result = next;
        }
    } else if (n < 4 * size + 1000) {
        // Downwards from where it is as good as 0, and scaled by J_0 + 2 J_2 + 2 J_4 + ... = 1 (9.12, example 1).
        double after = 0.0, here = 1e-300, total = 0.0;
        for (int k = 2 * ((n + (int)sqrt(160.0 * n)) / 2); k > 0; --k) {
            const double next = 2.0 * k / size * here - after;
            after = here;
            here = next;
            if (fabs(here) > 1e200) {
                here *= 1e-200;
                after *= 1e-200;
                total *= 1e-200;
                result *= 1e-200;
            }
            if ((k & 1) != 0) total += k == 1 ? here : 2.0 * here;
            if (k - 1 == n) result = here;
        }
        result /= total;
    }
    return flips ? -result : result;
}

/// (2/pi) (ln(x/2) + gamma).
BULKHEAD_DEVICE double besselLog(double x) {
    return 0.63661977236758134308 * (log(0.5 * x) + 0.57721566490153286061);
}
BULKHEAD_DEVICE_LARGE double besselY(int n, double x) {
    if (n < 0 || !(x >= 0)) return isNan(x) ? x : notANumber<double>();
    if (x == 0) return -infinity<double>();
    double before, result;
    if (x >= 25) {
        before = hankel(0, x).y;
        result = n == 0 ? before : hankel(1, x).y;
    } else {
        const BesselSums zero = besselSeries(0, x);
        // H_k + H_k is twice the sum of 9.1.13.
        before = besselLog(x) * zero.plain.high - 0.31830988618379067154 * zero.harmonic.high;
        result = before;
        if (n > 0) {
            const BesselSums one = besselSeries(1, x);
            const double half = 0.5 * x;
            result = (besselLog(x) * one.plain.high - 0.31830988618379067154 * one.harmonic.high) * half -
                     0.31830988618379067154 / half;
        }
    }
    for (int k = 1; k < n && !isInfinite(result); ++k) {
        const double next = 2.0 * k / x * result - before;
        before = result;
        result = next;
    }
    return result;
}

/// I_0 or I_1 (9.6.10, 9.7.1); nothing cancels below 20, and above that its expansion is good.
BULKHEAD_DEVICE_LARGE double besselI(int order, double x) {
    if (isNan(x)) return x;
    const double size = fabs(x);
    double result;
    if (size < 20) {
        const Pair<double> z = product(0.5 * size, 0.5 * size);
        Pair<double> term = {1.0, 0.0}, total = term;
        for (int k = 1; term.high > total.high * 0x1p-60; ++k) {
            term = divided(product(term, z), (double)k * (k + order));
            total = quickSum(total, term);
        }
        result = order == 0 ? total.high : total.high * 0.5 * size;
    } else {
        double total = 1.0, term = 1.0;
        for (int k = 1; k < 40 && fabs(term) > 1e-18; ++k) {
            const double first = 2.0 * k - 1;
            term *= (first * first - 4.0 * order) / (8.0 * k) / size;
            total += term;
        }
        // Two factors, as e^x alone overflows first.
        const double root = exp(0.5 * size);
        result = size > 720 ? infinity<double>() : root * (0.39894228040143267794 * total / sqrt(size)) * root;
    }
    return order == 1 ? copysign(result, x) : result;
}

/// The length of a vector, or its reciprocal, scaled so that no square over- or underflows.
BULKHEAD_DEVICE double lengthOf(int count, const double* p, bool reciprocal) {
    double largest = 0.0, invalid = 0.0;
    for (int i = 0; i < count; ++i) {
        if (isInfinite(p[i])) return reciprocal ? 0.0 : infinity<double>();
        invalid += p[i] - p[i];  // NaN, if any is
        largest = fmax(largest, fabs(p[i]));
    }
    if (isNan(invalid)) return invalid;
    if (largest == 0) return reciprocal ? infinity<double>() : 0.0;
    int exponent;
    splitExponent(largest, &exponent);
    Pair<double> total = {0.0, 0.0};
    for (int i = 0; i < count; ++i) {
        const double x = scaled(p[i], -exponent);
        total = pairSum(total, product(x, x));
    }
    return reciprocal ? scaled(__drcp_rn(sqrt(total.high)), -exponent) : scaled(sqrt(total.high), exponent);
}

}  // namespace bulkhead_sdk

BULKHEAD_DEVICE_LARGE double tgamma(double x) {
    using namespace bulkhead_sdk;
    if (x == 0) return __ddiv_rn(1.0, x);
    if (isNan(x) || x == infinity<double>()) return x;
    if (x < 0 && floor(x) == x) return notANumber<double>();
    if (fabs(x) < 0x1p-60) return __drcp_rn(x);
    if (fabs(x) < 20) return gammaByFactors(x);
    if (x > 172) return infinity<double>();
    if (x > 0) return scaled(stirling(x, 64), 64);
    if (x < -190) return withSign(0.0, ((long long)floor(x) & 1) != 0 ? -1.0 : 1.0);
    // Reflection (6.1.17).
    return scaled(-3.14159265358979323846 / (x * sinpi(x) * stirling(-x, 600)), -600);
}
/// The logarithm of |Gamma(x)|.
BULKHEAD_DEVICE_LARGE double lgamma(double x) {
    using namespace bulkhead_sdk;
    if (isNan(x)) return x;
    if (isInfinite(x) || (x <= 0 && floor(x) == x)) return infinity<double>();
    if (x > 0) return logGammaPositive(x);
    if (x > -0x1p-60) return -log(-x);
    return log(3.14159265358979323846 / fabs(x * sinpi(x))) - logGammaPositive(-x);
}

BULKHEAD_DEVICE_LARGE double erfcx(double x) {
    using namespace bulkhead_sdk;
    if (isNan(x)) return x;
    if (x < 0) return x < -27 ? infinity<double>() : 2.0 * expOfSquare(x) - erfcx(-x);
    if (x < 0.85) return expOfSquare(x) * (1.0 - erfNearZero(x));
    if (x < 28) return scaledErfcTail(x);
    const double r = 0.5 / x / x;  // 7.1.23
    return 0.56418958354775628695 / x * polynomial(r, 1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0);
}
BULKHEAD_DEVICE_LARGE double erfinv(double y) {
    using namespace bulkhead_sdk;
    const double size = fabs(y);
    if (!(size <= 1)) return notANumber<double>();
    if (size == 1) return copysign(infinity<double>(), y);
    if (size < 0x1p-30) return y * 0.88622692545275801365;
    return size <= 0.5 ? inverseErfNearZero(y) : copysign(inverseErfcTail(1.0 - size), y);
}
BULKHEAD_DEVICE_LARGE double erfcinv(double y) {
    using namespace bulkhead_sdk;
    if (!(y >= 0 && y <= 2)) return notANumber<double>();
    if (y == 0 || y == 2) return y == 0 ? infinity<double>() : -infinity<double>();
    if (y <= 0.5) return inverseErfcTail(y);
    return y >= 1.5 ? -inverseErfcTail(2.0 - y) : erfinv(1.0 - y);
}
BULKHEAD_DEVICE_LARGE double normcdfinv(double p) {
    return -1.41421356237309504880 * erfcinv(2.0 * p);
}

BULKHEAD_DEVICE_LARGE double j0(double x) {
    return bulkhead_sdk::besselJ(0, x);
}
BULKHEAD_DEVICE_LARGE double j1(double x) {
    return bulkhead_sdk::besselJ(1, x);
}
BULKHEAD_DEVICE_LARGE double jn(int n, double x) {
    return bulkhead_sdk::besselJ(n, x);
}
BULKHEAD_DEVICE_LARGE double y0(double x) {
    return bulkhead_sdk::besselY(0, x);
}
BULKHEAD_DEVICE_LARGE double y1(double x) {
    return bulkhead_sdk::besselY(1, x);
}
BULKHEAD_DEVICE_LARGE double yn(int n, double x) {
    return bulkhead_sdk::besselY(n, x);
}
BULKHEAD_DEVICE_LARGE double cyl_bessel_i0(double x) {
    return bulkhead_sdk::besselI(0, x);
}
BULKHEAD_DEVICE_LARGE double cyl_bessel_i1(double x) {
    return bulkhead_sdk::besselI(1, x);
}

#define BULKHEAD_NORMS(prefix, reciprocal)                                            \
    BULKHEAD_DEVICE_LARGE double prefix##3d(double x, double y, double z) {           \
        const double p[3] = {x, y, z};                                                \
        return bulkhead_sdk::lengthOf(3, p, reciprocal);                              \
    }                                                                                 \
    BULKHEAD_DEVICE_LARGE double prefix##4d(double x, double y, double z, double w) { \
        const double p[4] = {x, y, z, w};                                             \
        return bulkhead_sdk::lengthOf(4, p, reciprocal);                              \
    }                                                                                 \
    BULKHEAD_DEVICE_LARGE double prefix(int count, const double* p) {                 \
        return bulkhead_sdk::lengthOf(count, p, reciprocal);                          \
    }
BULKHEAD_NORMS(norm, false)
BULKHEAD_NORMS(rnorm, true)
#undef BULKHEAD_NORMS
