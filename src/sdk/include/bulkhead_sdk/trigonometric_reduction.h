#pragma once

#include "float_intrinsics.h"
#include "integer_intrinsics.h"

// x - k * pi/2 for arguments too large to subtract from (Payne and Hanek): only those bits of 2/pi are multiplied by
// the mantissa that decide the quadrant and the remainder.

namespace bulkhead_sdk {

/// A zero word, then 2/pi after its binary point.
static __device__ const unsigned long long kTwoOverPi[] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull,
    0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull,
    0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull,
    0xf0cfbc209af4361dull, 0xa9e391615ee61b08ull};

BULKHEAD_DEVICE unsigned long long twoOverPiAt(int bit) {
    const int word = bit >> 6, shift = bit & 63;
    const unsigned long long high = kTwoOverPi[word];
    return shift == 0 ? high : high << shift | kTwoOverPi[word + 1] >> (64 - shift);
}

/// The remainder as high + low, in [-pi/4, pi/4], and k modulo 4. For finite |x| of 2^-10 and more.
BULKHEAD_DEVICE_LARGE int reduceLargeArgument(double x, double& high, double& low) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x);
    const unsigned long long mantissa = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1075;

    // x / (pi/2) / 4 is mantissa * 0.b0b1b2... * 2^(exponent - 2): bits before that place make whole turns. The zero
    // word in front stands for the places that a small exponent asks for.
    const int bit = exponent - 2 + 64;
    const unsigned long long w0 = twoOverPiAt(bit), w1 = twoOverPiAt(bit + 64), w2 = twoOverPiAt(bit + 128);
    unsigned long long second = w1 * mantissa;
    unsigned long long first = w0 * mantissa + __umul64hi(w1, mantissa);
    const unsigned long long carry = __umul64hi(w2, mantissa);
    second += carry;
    first += second < carry;

    int quadrant = (int)(first >> 62);
    first = first << 2 | second >> 62;
    second <<= 2;
    const bool below = (long long)first < 0;  // more than half a quadrant: count from the next one
    if (below) {
        ++quadrant;
        second = 0 - second;
        first = ~first + (second == 0);
    }
    const int zeros = first != 0 ? __clzll((long long)first) : 64 + __clzll((long long)second);
    if (zeros >= 64) {
        first = second << (zeros - 64);
        second = 0;
    } else if (zeros > 0) {
        first = first << zeros | second >> (64 - zeros);
        second <<= zeros;
    }
    // 53 bits each: both conversions are exact.
    const double scale = __longlong_as_double((long long)(1023 - zeros) << 52);
    const double head = (double)(first >> 11) * 0x1p-53 * scale;
    const double tail = (double)(first << 53 >> 11 | second >> 22) * 0x1p-106 * scale;
    const double halfPi = 0x1.921fb54442d18p+0, halfPiLow = 0x1.1a62633145c07p-54;
    high = __dmul_rn(head, halfPi);
    low = __fma_rn(head, halfPi, -high) + (head * halfPiLow + tail * halfPi);
    if (below != (x < 0)) {
        high = -high;
        low = -low;
    }
    return (x < 0 ? -quadrant : quadrant) & 3;
}

}  // namespace bulkhead_sdk
