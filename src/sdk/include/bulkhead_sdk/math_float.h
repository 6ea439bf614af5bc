#pragma once

#include "math_basic.h"
#include "polynomial.h"
#include "trigonometric_reduction.h"

// The functions of float that programs use in inner loops, in float arithmetic alone. Polynomials are minimax ones on
// the intervals named; docs/cc.md has the measured errors.

namespace bulkhead_sdk {

/// e^r for |r| <= ln(2)/2.
BULKHEAD_DEVICE float expNearZero(float r) {
    const float p = polynomial(r, 0x1p-1f, 0x1.55548ep-3f, 0x1.55545cp-5f, 0x1.123c02p-7f, 0x1.6db4fep-10f);
    return __fadd_rn(__fmaf_rn(__fmul_rn(p, r), r, r), 1.0f);
}

/// 2^r for |r| <= 1/2.
BULKHEAD_DEVICE float exp2NearZero(float r) {
    const float p =
        polynomial(r, 0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6aecep-5f, 0x1.3b29aap-7f, 0x1.5f4896p-10f, 0x1.44906ep-13f);
    return __fmaf_rn(p, r, 1.0f);
}

/// x held within the interval; NaN stays.
BULKHEAD_DEVICE float heldWithin(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

/// A positive finite number as m * 2^exponent with m in [2/3, 4/3).
struct FloatSplit {
    float m;
    float exponent;
};
BULKHEAD_DEVICE FloatSplit splitForLog(float x) {
    float extra = 0;
    if (x < 0x1p-126f) {
        x *= 0x1p24f;
        extra = -24;
    }
    const int bits = __float_as_int(x);
    const int exponent = (bits - 0x3f2aaaab) & (int)0xff800000;
    return {__int_as_float(bits - exponent), __fadd_rn((float)(exponent >> 23), extra)};
}
/// What a logarithm is where x is not a positive finite number.
BULKHEAD_DEVICE float logOfOther(float x) {
    return x == 0 ? -infinity<float>() : x > 0 || isNan(x) ? x : notANumber<float>();
}
BULKHEAD_DEVICE bool positiveFinite(float x) {
    return x > 0 && x < infinity<float>();
}

/// x - k * pi/2 in [-pi/4, pi/4] (a little more where rounding has it) as r + low, and k modulo 4.
BULKHEAD_DEVICE int reduceArgument(float x, float& r, float& low) {
    if (__builtin_fabsf(x) < 0x1p17f) {
        const float k = __builtin_rintf(__fmul_rn(x, 0x1.45f306p-1f));
        const float first = __fmaf_rn(k, -0x1.921fb6p+0f, x);  // exact
        const float second = __fmaf_rn(k, 0x1.777a5cp-25f, first);
        r = __fmaf_rn(k, 0x1.ee59dap-50f, second);
        low = __fadd_rn(__fmaf_rn(k, 0x1.777a5cp-25f, __fsub_rn(first, second)),
                        __fmaf_rn(k, 0x1.ee59dap-50f, __fsub_rn(second, r)));
        return (int)k & 3;
    }
    if (!(__builtin_fabsf(x) < infinity<float>())) {
        r = low = notANumber<float>();
        return 0;
    }
    double high, rest;
    const int quadrant = reduceLargeArgument(x, high, rest);
    r = (float)high;
    low = (float)(high - r);
    return quadrant;
}
/// Where the rounding of the remainder does not matter.
BULKHEAD_DEVICE int reduceArgument(float x, float& r) {
    float low;
    return reduceArgument(x, r, low);
}

// On |r| <= pi/4. The sum with 0 makes a product of -0 into +0, so that sin(-0) stays -0.
BULKHEAD_DEVICE float sinNearZero(float r) {
    const float z = __fmul_rn(r, r);
    const float p = polynomial(z, -0x1.555556p-3f, 0x1.111108p-7f, -0x1.a00f94p-13f, 0x1.6cd5ecp-19f);
    return __fmaf_rn(__fmaf_rn(p, z, 0.0f), r, r);
}
BULKHEAD_DEVICE float cosNearZero(float r) {
    const float z = __fmul_rn(r, r);
    const float p = polynomial(z, -0.5f, 0x1.55554ap-5f, -0x1.6c0c82p-10f, 0x1.99ff42p-16f);
    return __fmaf_rn(p, z, 1.0f);
}
BULKHEAD_DEVICE float sineOfQuadrant(float r, int quadrant) {
    const float value = quadrant & 1 ? cosNearZero(r) : sinNearZero(r);
    return quadrant & 2 ? -value : value;
}

/// On [0, 1].
BULKHEAD_DEVICE float atanOfFraction(float x) {
    const float z = __fmul_rn(x, x);
    const float p = polynomial(z, -0x1.55554p-2f, 0x1.999276p-3f, -0x1.2426f6p-3f, 0x1.c0d27p-4f, -0x1.58dc3cp-4f,
                               0x1.dd0e26p-5f, -0x1.01aeeep-5f, 0x1.6a8e78p-7f, -0x1.defd14p-10f);
    return __fmaf_rn(__fmaf_rn(p, z, 0.0f), x, x);
}

/// (asin(x) - x) / x for x = sqrt(z), on [0, 1/4].
BULKHEAD_DEVICE float asinTail(float z) {
    const float p = polynomial(z, 0x1.5555ccp-3f, 0x1.33011p-4f, 0x1.7492fp-5f, 0x1.8b5cd4p-6f, 0x1.5a19b6p-5f);
    return __fmul_rn(p, z);
}

/// log2 of a positive finite number to about 36 bits: 2/ln(2) * artanh((m - 1) / (m + 1)), its first two terms in
/// pairs.
BULKHEAD_DEVICE Pair<float> log2Pair(float x) {
    float m = x, extra = 0;
    if (m < 0x1p-126f) {
        m *= 0x1p24f;
        extra = -24;
    }
    const int bits = __float_as_int(m);
    const int exponent = (bits - 0x3f3504f3) & (int)0xff800000;  // m in [sqrt(1/2), sqrt(2))
    m = __int_as_float(bits - exponent);
    const float whole = __fadd_rn((float)(exponent >> 23), extra);

    const Pair<float> ratio = logRatio(m);
    const Pair<float> square = product(ratio, ratio);
    const float p = polynomial(square.high, 0x1.27771p-1f, 0x1.a5bb3ap-2f, 0x1.59fe94p-2f);
    // 2/ln2 + z * (2/(3 ln2) + z * p)
    Pair<float> tail = product(square, Pair<float>{0x1.ec709ep-1f, -0x1.e2fe02p-28f});
    tail = quickSum(tail.high, __fmaf_rn(__fmul_rn(square.high, square.high), p, tail.low));
    Pair<float> factor = quickSum(0x1.715476p+1f, tail.high);
    factor.low = __fadd_rn(factor.low, __fadd_rn(tail.low, 0x1.4ae0cp-25f));
    const Pair<float> fraction = product(ratio, factor);
    const Pair<float> total = sum(whole, fraction.high);
    return quickSum(total.high, __fadd_rn(total.low, fraction.low));
}

/// x^y for finite x > 0 and finite y.
BULKHEAD_DEVICE float powPositive(float x, float y) {
    const Pair<float> log = log2Pair(x);
    Pair<float> e = product(log.high, y);
    e.low = __fmaf_rn(log.low, y, e.low);
    if (!(__builtin_fabsf(e.high) < 160)) return e.high > 0 ? infinity<float>() : 0.0f;
    const float n = __builtin_rintf(e.high);
    const float r = __fadd_rn(__fsub_rn(e.high, n), e.low);
    return scaledNearOne(exp2NearZero(r), (int)n);
}

}  // namespace bulkhead_sdk

BULKHEAD_DEVICE_LARGE float expf(float x) {
    const float held = bulkhead_sdk::heldWithin(x, -105.0f, 89.0f);
    const float n = rintf(__fmul_rn(held, 0x1.715476p+0f));
    float r = __fmaf_rn(n, -0x1.62e4p-1f, held);  // few bits: exact
    r = __fmaf_rn(n, -0x1.7f7d1cp-20f, r);
    return bulkhead_sdk::scaledNearOne(bulkhead_sdk::expNearZero(r), (int)n);
}

BULKHEAD_DEVICE_LARGE float exp2f(float x) {
    const float held = bulkhead_sdk::heldWithin(x, -152.0f, 129.0f);
    const float n = rintf(held);
    return bulkhead_sdk::scaledNearOne(bulkhead_sdk::exp2NearZero(held - n), (int)n);
}

BULKHEAD_DEVICE_LARGE float exp10f(float x) {
    const float held = bulkhead_sdk::heldWithin(x, -46.0f, 39.0f);
    const float n = rintf(__fmul_rn(held, 0x1.a934fp+1f));
    float r = __fmaf_rn(n, -0x1.344p-2f, held);
    r = __fmaf_rn(n, -0x1.3509f8p-18f, r);
    const float e = __fmaf_rn(r, 0x1.26bb1cp+1f, __fmul_rn(r, -0x1.12aabap-25f));
    return bulkhead_sdk::scaledNearOne(bulkhead_sdk::expNearZero(e), (int)n);
}

BULKHEAD_DEVICE_LARGE float logf(float x) {
    if (!bulkhead_sdk::positiveFinite(x)) return bulkhead_sdk::logOfOther(x);
    const bulkhead_sdk::FloatSplit s = bulkhead_sdk::splitForLog(x);
    const float f = s.m - 1.0f;
    const float p = bulkhead_sdk::polynomial(f, -0.5f, 0x1.55550cp-2f, -0x1.fffe5cp-3f, 0x1.99ce4ap-3f, -0x1.55b868p-3f,
                                             0x1.1ef0dep-3f, -0x1.f02c84p-4f, 0x1.1df796p-3f, -0x1.0e4fe4p-3f);
    const float tail = __fmaf_rn(p, __fmul_rn(f, f), __fmul_rn(s.exponent, 0x1.7f7d1cp-20f));
    return __fmaf_rn(s.exponent, 0x1.62e4p-1f, __fadd_rn(f, tail));
}

BULKHEAD_DEVICE_LARGE float log2f(float x) {
    if (!bulkhead_sdk::positiveFinite(x)) return bulkhead_sdk::logOfOther(x);
    const bulkhead_sdk::FloatSplit s = bulkhead_sdk::splitForLog(x);
    const float f = s.m - 1.0f;
    const float p =
        bulkhead_sdk::polynomial(f, -0x1.715478p-1f, 0x1.ec7024p-2f, -0x1.715296p-2f, 0x1.279f8cp-2f, -0x1.ed1e48p-3f,
                                 0x1.9dabp-3f, -0x1.64d0bep-3f, 0x1.9ddd7cp-3f, -0x1.898aap-3f);
    const float tail = __fmaf_rn(p, __fmul_rn(f, f), __fmul_rn(f, 0x1.4ae0cp-26f));
    return __fadd_rn(s.exponent, __fmaf_rn(f, 0x1.715476p+0f, tail));
}

BULKHEAD_DEVICE_LARGE float log10f(float x) {
    if (!bulkhead_sdk::positiveFinite(x)) return bulkhead_sdk::logOfOther(x);
    const bulkhead_sdk::FloatSplit s = bulkhead_sdk::splitForLog(x);
    const float f = s.m - 1.0f;
    const float p =
        bulkhead_sdk::polynomial(f, -0x1.bcb7b2p-3f, 0x1.287a2ep-3f, -0x1.bcb57p-4f, 0x1.63f742p-4f, -0x1.28e304p-4f,
                                 0x1.f21b1ap-5f, -0x1.ada608p-5f, 0x1.f257e4p-5f, -0x1.d9df06p-5f);
    float tail = __fmaf_rn(p, __fmul_rn(f, f), __fmul_rn(f, -0x1.5b235ep-27f));
    tail = __fmaf_rn(s.exponent, 0x1.3509f8p-18f, tail);
    return __fmaf_rn(s.exponent, 0x1.344p-2f, __fmaf_rn(f, 0x1.bcb7b2p-2f, tail));
}

BULKHEAD_DEVICE_LARGE float powf(float x, float y) {
    if (x == 1 || y == 0) return 1.0f;
    if (bulkhead_sdk::isNan(x) || bulkhead_sdk::isNan(y)) return x + y;
    const float size = fabsf(x);
    if (bulkhead_sdk::isInfinite(y)) {
        if (size == 1) return 1.0f;
        return (size > 1) == (y > 0) ? bulkhead_sdk::infinity<float>() : 0.0f;
    }
    const bool whole = truncf(y) == y;
    const bool odd = whole && fabsf(y) < 0x1p24f && ((int)y & 1) != 0;
    float result;
    if (size == 0 || bulkhead_sdk::isInfinite(x))
        result = (size == 0) == (y > 0) ? 0.0f : bulkhead_sdk::infinity<float>();
    else if (x < 0 && !whole)
        return bulkhead_sdk::notANumber<float>();
    else
        result = bulkhead_sdk::powPositive(size, y);
    return odd ? copysignf(result, x) : result;
}

BULKHEAD_DEVICE_LARGE float sinf(float x) {
    float r;
    const int quadrant = bulkhead_sdk::reduceArgument(x, r);
    return x == 0 ? x : bulkhead_sdk::sineOfQuadrant(r, quadrant);
}
BULKHEAD_DEVICE_LARGE float cosf(float x) {
    float r;
    const int quadrant = bulkhead_sdk::reduceArgument(x, r);
    return bulkhead_sdk::sineOfQuadrant(r, quadrant + 1);
}
BULKHEAD_DEVICE_LARGE void sincosf(float x, float* sine, float* cosine) {
    float r;
    const int quadrant = bulkhead_sdk::reduceArgument(x, r);
    *sine = x == 0 ? x : bulkhead_sdk::sineOfQuadrant(r, quadrant);
    *cosine = bulkhead_sdk::sineOfQuadrant(r, quadrant + 1);
}
BULKHEAD_DEVICE_LARGE float tanf(float x) {
    float r, low;
    const int quadrant = bulkhead_sdk::reduceArgument(x, r, low);
    const float z = __fmul_rn(r, r);
    const float p = bulkhead_sdk::polynomial(z, 0x1.555562p-2f, 0x1.110d38p-3f, 0x1.baea34p-5f, 0x1.5c2302p-6f,
                                             0x1.65cd4ap-7f, -0x1.9c7b24p-17f, 0x1.21fc7cp-8f);
    float t = __fmaf_rn(__fmul_rn(p, z), r, r);
    t = __fmaf_rn(low, __fmaf_rn(t, t, 1.0f), t);
    return x == 0 ? x : quadrant & 1 ? __fdiv_rn(-1.0f, t) : t;
}

BULKHEAD_DEVICE_LARGE float atanf(float x) {
    const float size = fabsf(x);
    float a = bulkhead_sdk::atanOfFraction(size > 1 ? __frcp_rn(size) : size);
    if (size > 1) a = __fadd_rn(0x1.921fb6p+0f, __fsub_rn(-0x1.777a5cp-25f, a));
    return bulkhead_sdk::isNan(x) ? x : copysignf(a, x);
}
BULKHEAD_DEVICE_LARGE float atan2f(float y, float x) {
    if (bulkhead_sdk::isNan(x) || bulkhead_sdk::isNan(y)) return x + y;
    const float sizeX = fabsf(x), sizeY = fabsf(y);
    const float larger = fmaxf(sizeX, sizeY), smaller = fminf(sizeX, sizeY);
    const float ratio = larger == 0 ? 0.0f : smaller == larger ? 1.0f : __fdiv_rn(smaller, larger);
    float a = bulkhead_sdk::atanOfFraction(ratio);
    if (sizeY > sizeX) a = __fadd_rn(0x1.921fb6p+0f, __fsub_rn(-0x1.777a5cp-25f, a));
    if (__float_as_int(x) < 0) a = __fadd_rn(0x1.921fb6p+1f, __fsub_rn(-0x1.777a5cp-24f, a));
    return copysignf(a, y);
}
BULKHEAD_DEVICE_LARGE float asinf(float x) {
    const float size = fabsf(x);
    if (size <= 0.5f) return __fmaf_rn(bulkhead_sdk::asinTail(__fmul_rn(x, x)), x, x);
    const float z = __fmul_rn(__fsub_rn(1.0f, size), 0.5f);  // negative beyond 1: its root is NaN
    const float s = sqrtf(z);
    // pi/2 - 2 (s + tail), the large parts first.
    const float tail = __fmaf_rn(__fmul_rn(bulkhead_sdk::asinTail(z), s), -2.0f, -0x1.777a5cp-25f);
    return copysignf(__fadd_rn(__fmaf_rn(s, -2.0f, 0x1.921fb6p+0f), tail), x);
}
BULKHEAD_DEVICE_LARGE float acosf(float x) {
    const float size = fabsf(x);
    if (size <= 0.5f) {
        const float a = __fmaf_rn(bulkhead_sdk::asinTail(__fmul_rn(x, x)), x, x);
        return __fadd_rn(0x1.921fb6p+0f, __fsub_rn(-0x1.777a5cp-25f, a));
    }
    const float z = __fmul_rn(__fsub_rn(1.0f, size), 0.5f);
    const float s = sqrtf(z);
    const float half = __fmaf_rn(bulkhead_sdk::asinTail(z), s, s);
    return x > 0 ? half * 2.0f : __fadd_rn(0x1.921fb6p+1f, __fmaf_rn(half, -2.0f, -0x1.777a5cp-24f));
}

BULKHEAD_DEVICE_LARGE float tanhf(float x) {
    const float size = fabsf(x);
    if (size < 0.55f) {
        const float z = __fmul_rn(x, x);
        const float p = bulkhead_sdk::polynomial(z, -0x1.55554cp-2f, 0x1.110d3cp-3f, -0x1.b92bbap-5f, 0x1.59568cp-6f,
                                                 -0x1.9bba82p-8f);
        return __fmaf_rn(__fmaf_rn(p, z, 0.0f), x, x);
    }
    const float t = __fdiv_rn(2.0f, __fadd_rn(expf(2.0f * size), 1.0f));
    return bulkhead_sdk::isNan(x) ? x : copysignf(__fsub_rn(1.0f, t), x);
}

BULKHEAD_DEVICE_LARGE float erff(float x) {
    const float size = fabsf(x);
    if (size < 1.0f) {
        const float z = __fmul_rn(x, x);
        const float p = bulkhead_sdk::polynomial(z, 0x1.0429b6p-24f, -0x1.81273ep-2f, 0x1.ce2d2p-4f, -0x1.b7fbb4p-6f,
                                                 0x1.5419f4p-8f, -0x1.a485e6p-11f, 0x1.4ae4c2p-14f);
        return __fmaf_rn(x, 0x1.20dd74p+0f, __fmul_rn(p, x));
    }
    // 1 - e^-g, with g = -log(erfc) on [1, 4]; beyond, the result rounds to 1.
    const float y = fminf(size, 4.0f);
    const float g = bulkhead_sdk::polynomial(y, -0x1.8a5668p-13f, 0x1.212c0cp+0f, 0x1.443568p-1f, 0x1.bc1512p-4f,
                                             -0x1.9d02fap-6f, 0x1.138cacp-8f, -0x1.cec5cep-12f, 0x1.6bd7a2p-16f);
    return bulkhead_sdk::isNan(x) ? x : copysignf(__fsub_rn(1.0f, expf(-g)), x);
}

BULKHEAD_DEVICE float rsqrtf(float x) {
    return __nvvm_rsqrt_approx_f(x);
}
