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
template <class T>
__device__ __forceinline__ T polynomial(T, T last) {
    return last;
}
template <class T, class... Rest>
__device__ __forceinline__ T polynomial(T x, T first, Rest... rest) {
    return fused(polynomial(x, rest...), x, first);
}

/// A number of twice the precision: high has the leading bits, low what they leave out.
template <class T>
struct Pair {
    T high, low;
};
template <class T>
__device__ __forceinline__ Pair<T> sum(T a, T b) {
    const T s = exactAdd(a, b), part = exactAdd(s, -a);
    return {s, exactAdd(exactAdd(a, -exactAdd(s, -part)), exactAdd(b, -part))};
}
/// For |a| >= |b|.
template <class T>
__device__ __forceinline__ Pair<T> quickSum(T a, T b) {
    const T s = exactAdd(a, b);
    return {s, exactAdd(b, -exactAdd(s, -a))};
}
template <class T>
__device__ __forceinline__ Pair<T> product(T a, T b) {
    const T p = exactMultiply(a, b);
    return {p, fused(a, b, -p)};
}
template <class T>
__device__ __forceinline__ Pair<T> product(Pair<T> a, Pair<T> b) {
    const Pair<T> p = product(a.high, b.high);
    return quickSum(p.high, fused(a.high, b.low, fused(a.low, b.high, p.low)));
}
/// For |a| >= |b|.
template <class T>
__device__ __forceinline__ Pair<T> quickSum(Pair<T> a, Pair<T> b) {
    const Pair<T> s = quickSum(a.high, b.high);
    return quickSum(s.high, exactAdd(s.low, exactAdd(a.low, b.low)));
}

/// (m - 1) / (m + 1). The numerator is exact for m in [1/2, 2]; the denominator's rounding is made up for in the
/// remainder of the division.
template <class T>
__device__ __forceinline__ Pair<T> logRatio(T m) {
    const T numerator = exactAdd(m, (T)-1);
    const Pair<T> denominator = sum(m, (T)1);
    const T s = exactDivide(numerator, denominator.high);
    T rest = fused(-s, denominator.high, numerator);
    rest = fused(-s, denominator.low, rest);
    return quickSum(s, exactDivide(rest, denominator.high));
}

}  // namespace bulkhead_sdk
