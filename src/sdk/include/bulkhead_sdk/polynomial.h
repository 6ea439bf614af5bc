#pragma once

#include "float_intrinsics.h"

namespace bulkhead_sdk {

// Operations that the compiler may neither contract nor reorder, by one name for both types.
BULKHEAD_DEVICE float exactAdd(float a, float b) {
    return __fadd_rn(a, b);
}
BULKHEAD_DEVICE double exactAdd(double a, double b) {
    return __dadd_rn(a, b);
}
BULKHEAD_DEVICE float exactMultiply(float a, float b) {
    return __fmul_rn(a, b);
}
BULKHEAD_DEVICE double exactMultiply(double a, double b) {
    return __dmul_rn(a, b);
}
BULKHEAD_DEVICE float fused(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
BULKHEAD_DEVICE double fused(double a, double b, double c) {
    return __fma_rn(a, b, c);
}
BULKHEAD_DEVICE float exactDivide(float a, float b) {
    return __fdiv_rn(a, b);
}
BULKHEAD_DEVICE double exactDivide(double a, double b) {
    return __ddiv_rn(a, b);
}

/// c0 + c1 x + c2 x^2 + ...
template <class T_>
__device__ __forceinline__ T_ polynomial(T_, T_ last) {
    return last;
}
template <class T_, class... Rest>
__device__ __forceinline__ T_ polynomial(T_ x, T_ first, Rest... rest) {
    return fused(polynomial(x, rest...), x, first);
}

/// A number of twice the precision: high has the leading bits, low what they leave out.
template <class T_>
struct Pair {
    T_ high, low;
};
template <class T_>
__device__ __forceinline__ Pair<T_> sum(T_ a, T_ b) {
    const T_ s = exactAdd(a, b), part = exactAdd(s, -a);
    return {s, exactAdd(exactAdd(a, -exactAdd(s, -part)), exactAdd(b, -part))};
}
/// For |a| >= |b|.
template <class T_>
__device__ __forceinline__ Pair<T_> quickSum(T_ a, T_ b) {
    const T_ s = exactAdd(a, b);
    return {s, exactAdd(b, -exactAdd(s, -a))};
}
template <class T_>
__device__ __forceinline__ Pair<T_> product(T_ a, T_ b) {
    const T_ p = exactMultiply(a, b);
    return {p, fused(a, b, -p)};
}
template <class T_>
__device__ __forceinline__ Pair<T_> product(Pair<T_> a, Pair<T_> b) {
    const Pair<T_> p = product(a.high, b.high);
    return quickSum(p.high, fused(a.high, b.low, fused(a.low, b.high, p.low)));
}
/// For |a| >= |b|.
template <class T_>
__device__ __forceinline__ Pair<T_> quickSum(Pair<T_> a, Pair<T_> b) {
    const Pair<T_> s = quickSum(a.high, b.high);
    return quickSum(s.high, exactAdd(s.low, exactAdd(a.low, b.low)));
}

/// (m - 1) / (m + 1). The numerator is exact for m in [1/2, 2]; the denominator's rounding is made up for in the
/// remainder of the division.
template <class T_>
__device__ __forceinline__ Pair<T_> logRatio(T_ m) {
    const T_ numerator = exactAdd(m, (T_)-1);
    const Pair<T_> denominator = sum(m, (T_)1);
    const T_ s = exactDivide(numerator, denominator.high);
    T_ rest = fused(-s, denominator.high, numerator);
    rest = fused(-s, denominator.low, rest);
    return quickSum(s, exactDivide(rest, denominator.high));
}

}  // namespace bulkhead_sdk
