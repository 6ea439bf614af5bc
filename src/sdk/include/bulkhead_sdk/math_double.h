#pragma once

#include "math_basic.h"
#include "polynomial.h"
#include "trigonometric_reduction.h"

// The functions of double. Polynomials are minimax ones on the intervals named; docs/cc.md has the measured errors.

namespace bulkhead_sdk {

BULKHEAD_DEVICE double heldWithin(double x, double low, double high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

/// e^(r + low) for |r| <= ln(2)/2 and a low that is a rounding error of r.
BULKHEAD_DEVICE double expNearZero(double r, double low) {
    const double p =
        polynomial(r, 0x1.000000000000cp-1, 0x1.5555555555561p-3, 0x1.555555554ff92p-5, 0x1.111111110d5dep-7,
                   0x1.6c16c185cabeep-10, 0x1.a01a01bb008bap-13, 0x1.a0199630f4a93p-16, 0x1.71dddf88e1faap-19,
                   0x1.28b0a6d91e1eep-22, 0x1.af85f185afa95p-26);
    return __dadd_rn(1.0, __dadd_rn(r, __fma_rn(__dmul_rn(r, r), p, __fma_rn(low, r, low))));
}

/// e^x as near-one * 2^n, which is what the large functions build on.
struct ExpParts {
    double r, low;
    int n;
};
BULKHEAD_DEVICE ExpParts reduceExp(double x) {
    const double n = __builtin_rint(__dmul_rn(x, 0x1.71547652b82fep+0));
    const double coarse = __fma_rn(n, -0x1.62e42fefa2p-1, x);  // few bits: exact
    const Pair<double> fine = product(n, -0x1.9ef35793c7673p-41);
    const Pair<double> r = quickSum(coarse, fine.high);
    return {r.high, r.low, (int)n};
}

/// A positive finite number as m * 2^exponent with m in [sqrt(1/2), sqrt(2)).
struct DoubleSplit {
    double m;
    int exponent;
};
BULKHEAD_DEVICE DoubleSplit splitForLog(double x) {
    int extra = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        extra = -54;
    }
    const long long bits = __double_as_longlong(x);
    const long long exponent = (bits - 0x3fe6a09e667f3bcdll) >> 52;
    return {__longlong_as_double(bits - exponent * 0x10000000000000ll), (int)exponent + extra};
}
BULKHEAD_DEVICE double logOfOther(double x) {
    return x == 0 ? -infinity<double>() : x > 0 || isNan(x) ? x : notANumber<double>();
}
BULKHEAD_DEVICE bool positiveFinite(double x) {
    return x > 0 && x < infinity<double>();
}

/// exponent * ln(2) + log(1 + f) + correction, for f in [sqrt(1/2) - 1, sqrt(2) - 1]: with s = f / (2 + f),
/// log(1 + f) = f - f^2/2 + s * (f^2/2 + s^2 P(s^2)).
BULKHEAD_DEVICE double logParts(double f, int exponent, double correction) {
    const double s = __ddiv_rn(f, __dadd_rn(2.0, f)), z = __dmul_rn(s, s);
    const double p = polynomial(z, 0x1.5555555555592p-1, 0x1.999999997fd84p-2, 0x1.24924941f43bbp-2,
                                0x1.c71c5206adedcp-3, 0x1.74663f7e21244p-3, 0x1.39a1aac8e0eccp-3, 0x1.2f060c3bdcfc4p-3);
    const double half = __dmul_rn(__dmul_rn(0.5, f), f);
    const double k = (double)exponent;
    double tail = __fma_rn(k, 0x1.9ef35793c7673p-41, correction);
    tail = __fma_rn(s, __fma_rn(z, p, half), tail);
    return __fma_rn(k, 0x1.62e42fefa2p-1, __dadd_rn(f, __dadd_rn(-half, tail)));
}

/// log2 of a positive finite number to about 100 bits: 2/ln(2) * artanh((m - 1) / (m + 1)), its first terms in pairs.
BULKHEAD_DEVICE_LARGE Pair<double> log2Pair(double x) {
    const DoubleSplit split = splitForLog(x);
    const Pair<double> ratio = logRatio(split.m);
    const Pair<double> square = product(ratio, ratio);
    const double p =
        polynomial(square.high, 0x1.a61762a7adeccp-2, 0x1.484b13d7c2209p-2, 0x1.0c9a849769d0dp-2, 0x1.c68f586577d9bp-3,
                   0x1.89f324fde1683p-3, 0x1.5bb448c409a64p-3, 0x1.343e5d1de38adp-3, 0x1.4376977c1573fp-3);
    Pair<double> q = quickSum(0x1.2776c50ef9bfep-1, __dmul_rn(square.high, p));
    q.low += 0x1.e4b29ccc535d4p-55;
    q = quickSum(Pair<double>{0x1.ec709dc3a03fdp-1, 0x1.d27f05548af0cp-55}, product(square, q));
    q = quickSum(Pair<double>{0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55}, product(square, q));
    const Pair<double> fraction = product(ratio, q);
    const Pair<double> total = sum((double)split.exponent, fraction.high);
    return quickSum(total.high, total.low + fraction.low);
}

/// 2^(e.high + e.low).
BULKHEAD_DEVICE double exp2Pair(Pair<double> e) {
    if (!(__builtin_fabs(e.high) < 1100)) return e.high > 0 ? infinity<double>() : 0.0;
    const double n = __builtin_rint(e.high);
    const Pair<double> rest = quickSum(__dsub_rn(e.high, n), e.low);
    const Pair<double> r = product(rest, Pair<double>{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56});
    return scaledNearOne(expNearZero(r.high, r.low), (int)n);
}

/// x - k * pi/2 as high + low, and k modulo 4.
BULKHEAD_DEVICE int reduceArgument(double x, double& high, double& low) {
    if (__builtin_fabs(x) < 0x1p20) {
        const double k = __builtin_rint(__dmul_rn(x, 0x1.45f306dc9c883p-1));
        const double first = __fma_rn(k, -0x1.921fb54442d18p+0, x);
        high = __fma_rn(k, -0x1.1a62633145c07p-54, first);
        low = __fma_rn(k, -0x1.1a62633145c07p-54, __dsub_rn(first, high));
        low = __fma_rn(k, 0x1.f1976b7ed8fbcp-110, low);
        return (int)k & 3;
    }
    if (!(__builtin_fabs(x) < infinity<double>())) {
        high = low = notANumber<double>();
        return 0;
    }
    return reduceLargeArgument(x, high, low);
}

// On |r| <= pi/4, of r + low. The sum with 0 makes a product of -0 into +0, so that sin(-0) stays -0.
BULKHEAD_DEVICE double sinNearZero(double r, double low) {
    const double z = __dmul_rn(r, r);
    const double p = polynomial(z, -0x1.5555555555549p-3, 0x1.111111110f842p-7, -0x1.a01a019c0a29dp-13,
                                0x1.71de3570fe4c2p-19, -0x1.ae5e60c53ebe3p-26, 0x1.5d915e44cad3ap-33);
    const double tail = __fma_rn(__dmul_rn(z, -0.5), low, low);
    return __dadd_rn(r, __fma_rn(__fma_rn(p, z, 0.0), r, tail));
}
BULKHEAD_DEVICE double cosNearZero(double r, double low) {
    const double z = __dmul_rn(r, r);
    const double p = polynomial(z, 0x1.555555555554cp-5, -0x1.6c16c16c1514p-10, 0x1.a01a019cab74ep-16,
                                -0x1.27e4f805344cp-22, 0x1.1ee9e8912467ap-29, -0x1.8facd194ced88p-37);
    const double half = __dmul_rn(z, 0.5), coarse = __dsub_rn(1.0, half);
    const double lost = __dsub_rn(__dsub_rn(1.0, coarse), half);
    return __dadd_rn(coarse, __dadd_rn(lost, __fma_rn(__dmul_rn(z, z), p, __dmul_rn(-r, low))));
}
BULKHEAD_DEVICE double sineOfQuadrant(double r, double low, int quadrant) {
    const double value = quadrant & 1 ? cosNearZero(r, low) : sinNearZero(r, low);
    return quadrant & 2 ? -value : value;
}

/// x - k/2 as an angle in units of pi, exactly, and k modulo 4.
BULKHEAD_DEVICE int reduceHalfTurns(double x, double& high, double& low) {
    const double part = __builtin_fabs(x) < 0x1p53 ? x : x - x;  // beyond, every number is even
    const double k = __builtin_rint(part * 2.0);
    const Pair<double> r =
        product(Pair<double>{__fma_rn(k, -0.5, part), 0.0}, Pair<double>{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53});
    high = r.high;
    low = r.low;
    return (int)((long long)k & 3);
}

/// On [0, 1].
BULKHEAD_DEVICE double atanOfFraction(double x) {
    const double z = __dmul_rn(x, x);
    const double p =
        polynomial(z, -0x1.5555555555463p-2, 0x1.9999999985b83p-3, -0x1.2492491ff82c5p-3, 0x1.c71c70afe27a2p-4,
                   -0x1.745d034ab1362p-4, 0x1.3b12be5f40841p-4, -0x1.1108f04ce95b1p-4, 0x1.e17b8514f85afp-5,
                   -0x1.ad402f6f2ea1ep-5, 0x1.7f0bfaf5165f3p-5, -0x1.4fa03e4c38c85p-5, 0x1.17b553e9c34eap-5,
                   -0x1.a8d2f19e3dd1dp-6, 0x1.17e17131bce8p-6, -0x1.2f919ed0ef8ep-7, 0x1.ff27bb3f68e9cp-9,
                   -0x1.357849ed04a1dp-10, 0x1.dba08321ed65ap-13, -0x1.5a90e072e912dp-16);
    return __fma_rn(__fma_rn(p, z, 0.0), x, x);
}

/// (asin(x) - x) / x for x = sqrt(z), on [0, 1/4].
BULKHEAD_DEVICE double asinTail(double z) {
    return __dmul_rn(
        z, polynomial(z, 0x1.555555555538p-3, 0x1.333333337054p-4, 0x1.6db6db414c754p-5, 0x1.f1c72c9a2c1fep-6,
                      0x1.6e89eb2a9335ep-6, 0x1.1c6c6a3d135c5p-6, 0x1.c6f3405c75cc2p-7, 0x1.8f07b9d193a9dp-7,
                      0x1.a97ebef642b78p-8, 0x1.4188dca577ec9p-6, -0x1.0c4ba86f958d9p-6, 0x1.0645a8ac1bc8ap-5));
}

/// (1 + 2x) e^(x^2) erfc(x) for t = (x - 4) / (x + 4).
BULKHEAD_DEVICE double erfcPolynomial(double t) {
    return polynomial(t, 0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28dp-3, 0x1.f7f5df66fdbcp-7, 0x1.16ecefcfa520dp-4,
                      -0x1.9ddb23c3eb64cp-4, 0x1.7fee004e171c6p-4, -0x1.0fb06dfe05b8fp-4, 0x1.3079edf59fdb9p-5,
                      -0x1.0962389481f58p-6, 0x1.49c672e4b667fp-8, -0x1.8d4a89bd61716p-11, -0x1.a1df85770a5acp-13,
                      0x1.3bdef5136b7bfp-13, -0x1.9949dd1cbca3dp-16, -0x1.7844e8215ad2dp-17, 0x1.7e5ff4b5695c2p-18,
                      0x1.2af76e7571fe3p-22, -0x1.ae71d944f8e29p-21, 0x1.80682977de34fp-24, 0x1.6530f2efa47fep-24,
                      -0x1.815be625a79fep-26);
}

/// erfc for x in [0.8, 28]: e^(-x^2) / (1 + 2x) * P((x - 4) / (x + 4)).
BULKHEAD_DEVICE_LARGE double erfcTail(double x) {
    const double t = __ddiv_rn(__dsub_rn(x, 4.0), __dadd_rn(x, 4.0));
    const Pair<double> square = product(-x, x);
    const ExpParts e = reduceExp(square.high);
    const Pair<double> r = quickSum(e.r, e.low + square.low);
    const double near = expNearZero(r.high, r.low);
    return scaledNearOne(__ddiv_rn(__dmul_rn(near, erfcPolynomial(t)), __fma_rn(2.0, x, 1.0)), e.n);
}

/// On [-1, 1].
BULKHEAD_DEVICE double erfNearZero(double x) {
    const double z = __dmul_rn(x, x);
    const double p =
        polynomial(z, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bdep-4, -0x1.b82ce312889c2p-6, 0x1.565bcd0e65192p-8,
                   -0x1.c02db3fef016fp-11, 0x1.f9a326c2d8c07p-14, -0x1.f4d2562a0bf34p-17, 0x1.b9e6518d96e5cp-20,
                   -0x1.5f6d9cba97d98p-23, 0x1.fc43f00dc3a9fp-27, -0x1.4e6359fe55277p-30, 0x1.7f1719c0a0bcfp-34,
                   -0x1.29e13f491bb3cp-38);
    return __fma_rn(x, 0x1.20dd750429b6dp+0, __dmul_rn(x, __fma_rn(p, z, 0x1.1ae3a914fed8p-56)));
}

}  // namespace bulkhead_sdk

BULKHEAD_DEVICE_LARGE double exp(double x) {
    const bulkhead_sdk::ExpParts e = bulkhead_sdk::reduceExp(bulkhead_sdk::heldWithin(x, -746.0, 710.0));
    return bulkhead_sdk::scaledNearOne(bulkhead_sdk::expNearZero(e.r, e.low), e.n);
}
BULKHEAD_DEVICE_LARGE double exp2(double x) {
    return bulkhead_sdk::isNan(x) ? x : bulkhead_sdk::exp2Pair({x, 0.0});
}
BULKHEAD_DEVICE_LARGE double exp10(double x) {
    if (bulkhead_sdk::isNan(x)) return x;
    const double held = bulkhead_sdk::heldWithin(x, -350.0, 330.0);
    return bulkhead_sdk::exp2Pair(
        bulkhead_sdk::product(bulkhead_sdk::Pair<double>{held, 0.0},
                              bulkhead_sdk::Pair<double>{0x1.a934f0979a371p+1, 0x1.7f2495fb7fa6dp-53}));
}
BULKHEAD_DEVICE_LARGE double expm1(double x) {
    if (x == 0) return x;
    const bulkhead_sdk::ExpParts e = bulkhead_sdk::reduceExp(bulkhead_sdk::heldWithin(x, -50.0, 710.0));
    if (e.n > 60) return exp(x);
    const double r = e.r;
    const double q = bulkhead_sdk::polynomial(r, 0x1.5555555555559p-3, 0x1.5555555555559p-5, 0x1.111111110f6acp-7,
                                              0x1.6c16c16c14a45p-10, 0x1.a01a01afeb6c3p-13, 0x1.a01a01af783efp-16,
                                              0x1.71ddf83978c0bp-19, 0x1.27e4c797d2a6cp-22, 0x1.af5efba8fac5bp-26,
                                              0x1.1f930550c8d46p-29);
    const double z = __dmul_rn(r, r);
    const double tail = __fma_rn(__dmul_rn(q, r), z, __fma_rn(0.5, z, __fma_rn(e.low, r, e.low)));
    if (e.n == 0) return __dadd_rn(r, tail);
    // 2^n (1 + r + tail) - 1, the exact parts first.
    const double scale = bulkhead_sdk::powerOfTwo<double>(e.n);
    const bulkhead_sdk::Pair<double> head = bulkhead_sdk::sum(scale - 1.0, scale * r);
    return __dadd_rn(head.high, __fma_rn(scale, tail, head.low));
}

BULKHEAD_DEVICE_LARGE double log(double x) {
    if (!bulkhead_sdk::positiveFinite(x)) return bulkhead_sdk::logOfOther(x);
    const bulkhead_sdk::DoubleSplit s = bulkhead_sdk::splitForLog(x);
    return bulkhead_sdk::logParts(s.m - 1.0, s.exponent, 0.0);
}
BULKHEAD_DEVICE_LARGE double log1p(double x) {
    if (x <= -1 || !(x < bulkhead_sdk::infinity<double>()))
        return x == -1 ? -bulkhead_sdk::infinity<double>() : x < -1 ? bulkhead_sdk::notANumber<double>() : x;
    if (fabs(x) < 0x1p-54) return x;
    const bulkhead_sdk::Pair<double> one = bulkhead_sdk::sum(1.0, x);
    const bulkhead_sdk::DoubleSplit s = bulkhead_sdk::splitForLog(one.high);
    const double f = s.exponent == 0 ? x : s.m - 1.0;
    // What 1 + x lost, as a share of it.
    const double lost = s.exponent == 0 ? 0.0 : __ddiv_rn(one.low, one.high);
    return bulkhead_sdk::logParts(f, s.exponent, lost);
}
BULKHEAD_DEVICE_LARGE double log2(double x) {
    if (!bulkhead_sdk::positiveFinite(x)) return bulkhead_sdk::logOfOther(x);
    return bulkhead_sdk::log2Pair(x).high;
}
BULKHEAD_DEVICE_LARGE double log10(double x) {
    if (!bulkhead_sdk::positiveFinite(x)) return bulkhead_sdk::logOfOther(x);
    return bulkhead_sdk::product(bulkhead_sdk::log2Pair(x),
                                 bulkhead_sdk::Pair<double>{0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59})
        .high;
}

BULKHEAD_DEVICE_LARGE double pow(double x, double y) {
    if (x == 1 || y == 0) return 1.0;
    if (bulkhead_sdk::isNan(x) || bulkhead_sdk::isNan(y)) return x + y;
    const double size = fabs(x);
    if (bulkhead_sdk::isInfinite(y)) {
        if (size == 1) return 1.0;
        return (size > 1) == (y > 0) ? bulkhead_sdk::infinity<double>() : 0.0;
    }
    const bool whole = trunc(y) == y;
    const bool odd = whole && fabs(y) < 0x1p53 && ((long long)y & 1) != 0;
    double result;
    if (size == 0 || bulkhead_sdk::isInfinite(x)) {
        result = (size == 0) == (y > 0) ? 0.0 : bulkhead_sdk::infinity<double>();
    } else if (x < 0 && !whole) {
        return bulkhead_sdk::notANumber<double>();
    } else {
        const bulkhead_sdk::Pair<double> log = bulkhead_sdk::log2Pair(size);
        bulkhead_sdk::Pair<double> e = bulkhead_sdk::product(log.high, y);
        e.low = __fma_rn(log.low, y, e.low);
        result = bulkhead_sdk::exp2Pair(e);
    }
    return odd ? copysign(result, x) : result;
}

BULKHEAD_DEVICE_LARGE double sin(double x) {
    double r, low;
    const int quadrant = bulkhead_sdk::reduceArgument(x, r, low);
    return x == 0 ? x : bulkhead_sdk::sineOfQuadrant(r, low, quadrant);
}
BULKHEAD_DEVICE_LARGE double cos(double x) {
    double r, low;
    const int quadrant = bulkhead_sdk::reduceArgument(x, r, low);
    return bulkhead_sdk::sineOfQuadrant(r, low, quadrant + 1);
}
BULKHEAD_DEVICE_LARGE void sincos(double x, double* sine, double* cosine) {
    double r, low;
    const int quadrant = bulkhead_sdk::reduceArgument(x, r, low);
    *sine = x == 0 ? x : bulkhead_sdk::sineOfQuadrant(r, low, quadrant);
    *cosine = bulkhead_sdk::sineOfQuadrant(r, low, quadrant + 1);
}
BULKHEAD_DEVICE_LARGE double tan(double x) {
    double r, low;
    const int quadrant = bulkhead_sdk::reduceArgument(x, r, low);
    const double sine = bulkhead_sdk::sinNearZero(r, low), cosine = bulkhead_sdk::cosNearZero(r, low);
    return x == 0 ? x : quadrant & 1 ? __ddiv_rn(-cosine, sine) : __ddiv_rn(sine, cosine);
}
BULKHEAD_DEVICE_LARGE double sinpi(double x) {
    double r, low;
    const int quadrant = bulkhead_sdk::reduceHalfTurns(x, r, low);
    const double value = bulkhead_sdk::sineOfQuadrant(r, low, quadrant);
    return value == 0 ? copysign(0.0, x) : value;
}
BULKHEAD_DEVICE_LARGE double cospi(double x) {
    double r, low;
    const int quadrant = bulkhead_sdk::reduceHalfTurns(x, r, low);
    const double value = bulkhead_sdk::sineOfQuadrant(r, low, quadrant + 1);
    return value == 0 ? 0.0 : value;
}
BULKHEAD_DEVICE_LARGE void sincospi(double x, double* sine, double* cosine) {
    *sine = sinpi(x);
    *cosine = cospi(x);
}

BULKHEAD_DEVICE_LARGE double atan(double x) {
    const double size = fabs(x);
    double a = bulkhead_sdk::atanOfFraction(size > 1 ? __drcp_rn(size) : size);
    if (size > 1) a = __dadd_rn(0x1.921fb54442d18p+0, __dsub_rn(0x1.1a62633145c07p-54, a));
    return bulkhead_sdk::isNan(x) ? x : copysign(a, x);
}
BULKHEAD_DEVICE_LARGE double atan2(double y, double x) {
    if (bulkhead_sdk::isNan(x) || bulkhead_sdk::isNan(y)) return x + y;
    const double sizeX = fabs(x), sizeY = fabs(y);
    const double larger = fmax(sizeX, sizeY), smaller = fmin(sizeX, sizeY);
    const double ratio = larger == 0 ? 0.0 : smaller == larger ? 1.0 : __ddiv_rn(smaller, larger);
    double a = bulkhead_sdk::atanOfFraction(ratio);
    if (sizeY > sizeX) a = __dadd_rn(0x1.921fb54442d18p+0, __dsub_rn(0x1.1a62633145c07p-54, a));
    if (__double_as_longlong(x) < 0) a = __dadd_rn(0x1.921fb54442d18p+1, __dsub_rn(0x1.1a62633145c07p-53, a));
    return copysign(a, y);
}
BULKHEAD_DEVICE_LARGE double asin(double x) {
    const double size = fabs(x);
    if (size <= 0.5) return __fma_rn(bulkhead_sdk::asinTail(__dmul_rn(x, x)), x, x);
    const double z = __dmul_rn(__dsub_rn(1.0, size), 0.5);  // negative beyond 1: its root is NaN
    const double s = sqrt(z);
    // pi/2 - 2 (s + tail), the large parts first.
    const double tail = __fma_rn(__dmul_rn(bulkhead_sdk::asinTail(z), s), -2.0, 0x1.1a62633145c07p-54);
    return copysign(__dadd_rn(__fma_rn(s, -2.0, 0x1.921fb54442d18p+0), tail), x);
}
BULKHEAD_DEVICE_LARGE double acos(double x) {
    const double size = fabs(x);
    if (size <= 0.5) {
        const double a = __fma_rn(bulkhead_sdk::asinTail(__dmul_rn(x, x)), x, x);
        return __dadd_rn(0x1.921fb54442d18p+0, __dsub_rn(0x1.1a62633145c07p-54, a));
    }
    const double z = __dmul_rn(__dsub_rn(1.0, size), 0.5);
    const double s = sqrt(z);
    const double half = __fma_rn(bulkhead_sdk::asinTail(z), s, s);
    return x > 0 ? half * 2.0 : __dadd_rn(0x1.921fb54442d18p+1, __fma_rn(half, -2.0, 0x1.1a62633145c07p-53));
}

BULKHEAD_DEVICE_LARGE double sinh(double x) {
    const double size = fabs(x);
    if (size < 1) {
        const double z = __dmul_rn(x, x);
        const double p = bulkhead_sdk::polynomial(z, 0x1.5555555555556p-3, 0x1.11111111110a1p-7, 0x1.a01a01a0291fcp-13,
                                                  0x1.71de3a45f72p-19, 0x1.ae6467668c31dp-26, 0x1.611a3a1fc8583p-33,
                                                  0x1.b4cf78c7e1cf2p-41);
        return __fma_rn(__dmul_rn(p, z), x, x);
    }
    if (size > 700) {  // e^x may not be a number where half of it is
        const double root = exp(size * 0.5);
        return copysign(root * 0.5 * root, x);
    }
    const double e = exp(size);
    return bulkhead_sdk::isNan(x) ? x : copysign(__fma_rn(0.5, e, __ddiv_rn(-0.5, e)), x);
}
BULKHEAD_DEVICE_LARGE double cosh(double x) {
    const double size = fabs(x);
    if (size > 700) {
        const double root = exp(size * 0.5);
        return root * 0.5 * root;
    }
    const double e = exp(size);
    return __fma_rn(0.5, e, __ddiv_rn(0.5, e));
}
BULKHEAD_DEVICE_LARGE double tanh(double x) {
    const double size = fabs(x);
    if (size < 0.55) {
        const double z = __dmul_rn(x, x);
        const double p = bulkhead_sdk::polynomial(z, -0x1.555555555554fp-2, 0x1.11111111107ebp-3, -0x1.ba1ba1b981b06p-5,
                                                  0x1.664f485a55474p-6, -0x1.226e2f30b8efp-7, 0x1.d6d29fe79385ep-9,
                                                  -0x1.7d90099eca8dp-10, 0x1.34855e70b6211p-11, -0x1.e980832c95422p-13,
                                                  0x1.5da3376fe16ccp-14, -0x1.47823c5f1a8ap-16);
        return __fma_rn(__fma_rn(p, z, 0.0), x, x);
    }
    const double t = __ddiv_rn(2.0, __dadd_rn(exp(2.0 * size), 1.0));
    return bulkhead_sdk::isNan(x) ? x : copysign(__dsub_rn(1.0, t), x);
}
BULKHEAD_DEVICE_LARGE double asinh(double x) {
    const double size = fabs(x);
    if (size > 0x1p28) return bulkhead_sdk::isNan(x) ? x : copysign(log(size) + 0x1.62e42fefa39efp-1, x);
    const double square = size * size;
    return copysign(log1p(size + square / (1.0 + sqrt(1.0 + square))), x);
}
BULKHEAD_DEVICE_LARGE double acosh(double x) {
    if (x > 0x1p28) return log(x) + 0x1.62e42fefa39efp-1;
    if (x < 1) return bulkhead_sdk::notANumber<double>();
    const double t = x - 1.0;
    return log1p(t + sqrt(__fma_rn(t, t, 2.0 * t)));
}
BULKHEAD_DEVICE_LARGE double atanh(double x) {
    const double size = fabs(x);
    const double t = size < 0.5 ? 2.0 * size + 2.0 * size * size / (1.0 - size) : 2.0 * size / (1.0 - size);
    return size > 1 ? bulkhead_sdk::notANumber<double>() : bulkhead_sdk::isNan(x) ? x : copysign(0.5 * log1p(t), x);
}

BULKHEAD_DEVICE_LARGE double cbrt(double x) {
    if (x == 0 || bulkhead_sdk::isNan(x) || bulkhead_sdk::isInfinite(x)) return x;
    int exponent;
    double m = fabs(bulkhead_sdk::splitExponent(x, &exponent));
    const int third = (exponent + 3000) / 3 - 1000;
    m = bulkhead_sdk::scaled(m, exponent - 3 * third);  // in [1/2, 4)
    double y = __nvvm_ex2_approx_f(__nvvm_lg2_approx_f((float)m) * 0x1.555556p-2f);
    for (int i = 0; i < 2; ++i) {  // Newton: 21 bits, 42, all of them
        const bulkhead_sdk::Pair<double> square = bulkhead_sdk::product(y, y);
        const double cube = __dmul_rn(square.high, y);
        const double rest = __fma_rn(square.high, y, -cube) + square.low * y;
        y = __fma_rn(__ddiv_rn(__dadd_rn(__dsub_rn(m, cube), -rest), square.high), 0x1.5555555555555p-2, y);
    }
    return copysign(bulkhead_sdk::scaled(y, third), x);
}
BULKHEAD_DEVICE_LARGE double rcbrt(double x) {
    return __drcp_rn(cbrt(x));
}

BULKHEAD_DEVICE_LARGE double hypot(double x, double y) {
    if (bulkhead_sdk::isInfinite(x) || bulkhead_sdk::isInfinite(y)) return bulkhead_sdk::infinity<double>();
    const double larger = fmax(fabs(x), fabs(y)), smaller = fmin(fabs(x), fabs(y));
    if (bulkhead_sdk::isNan(x) || bulkhead_sdk::isNan(y) || larger == 0) return x + y == 0 ? 0.0 : x + y;
    int exponent;
    const double a = bulkhead_sdk::splitExponent(larger, &exponent), b = bulkhead_sdk::scaled(smaller, -exponent);
    return bulkhead_sdk::scaled(sqrt(__fma_rn(a, a, __dmul_rn(b, b))), exponent);
}
BULKHEAD_DEVICE_LARGE double rhypot(double x, double y) {
    return __drcp_rn(hypot(x, y));
}
BULKHEAD_DEVICE double rsqrt(double x) {
    return __drcp_rn(sqrt(x));
}

BULKHEAD_DEVICE_LARGE double erf(double x) {
    const double size = fabs(x);
    if (size < 1) return bulkhead_sdk::erfNearZero(x);
    if (bulkhead_sdk::isNan(x)) return x;
    return copysign(size > 6 ? 1.0 : 1.0 - bulkhead_sdk::erfcTail(size), x);
}
BULKHEAD_DEVICE_LARGE double erfc(double x) {
    if (bulkhead_sdk::isNan(x)) return x;
    if (x < 0.8) return x < -6 ? 2.0 : x < -1 ? 2.0 - bulkhead_sdk::erfcTail(-x) : 1.0 - bulkhead_sdk::erfNearZero(x);
    return x > 27.5 ? 0.0 : bulkhead_sdk::erfcTail(x);
}
BULKHEAD_DEVICE_LARGE double normcdf(double x) {
    if (!(fabs(x) < 50)) return x > 0 ? 1.0 : x < 0 ? 0.0 : x;
    const bulkhead_sdk::Pair<double> scaled = bulkhead_sdk::product(
        bulkhead_sdk::Pair<double>{-x, 0.0}, bulkhead_sdk::Pair<double>{0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55});
    const double value = erfc(scaled.high);
    // The derivative of erfc makes up for what the product lost.
    return 0.5 * (scaled.high > 1 ? __fma_rn(-2.0 * scaled.high * scaled.low, value, value) : value);
}
