#pragma once

#include "device.h"

// min and max of numbers, on both sides. Mixed signs count as unsigned.

#define BULKHEAD_MIN_MAX(A, B, R)         \
    BULKHEAD_BOTH R min(A a, B b) {       \
        return (R)a < (R)b ? (R)a : (R)b; \
    }                                     \
    BULKHEAD_BOTH R max(A a, B b) {       \
        return (R)a > (R)b ? (R)a : (R)b; \
    }
#define BULKHEAD_MIN_MAX_WHOLE(S)                        \
    BULKHEAD_MIN_MAX(S, S, S)                            \
    BULKHEAD_MIN_MAX(unsigned S, unsigned S, unsigned S) \
    BULKHEAD_MIN_MAX(S, unsigned S, unsigned S)          \
    BULKHEAD_MIN_MAX(unsigned S, S, unsigned S)
BULKHEAD_MIN_MAX_WHOLE(int)
BULKHEAD_MIN_MAX_WHOLE(long)
BULKHEAD_MIN_MAX_WHOLE(long long)
#undef BULKHEAD_MIN_MAX_WHOLE
#undef BULKHEAD_MIN_MAX

// A number wins over NaN, as in fmin and fmax.
#define BULKHEAD_MIN_MAX_REAL(A, B, R, s)     \
    BULKHEAD_BOTH R min(A a, B b) {           \
        return __builtin_fmin##s((R)a, (R)b); \
    }                                         \
    BULKHEAD_BOTH R max(A a, B b) {           \
        return __builtin_fmax##s((R)a, (R)b); \
    }
BULKHEAD_MIN_MAX_REAL(float, float, float, f)
BULKHEAD_MIN_MAX_REAL(double, double, double, )
BULKHEAD_MIN_MAX_REAL(float, double, double, )
BULKHEAD_MIN_MAX_REAL(double, float, double, )
#undef BULKHEAD_MIN_MAX_REAL

BULKHEAD_BOTH unsigned int umin(unsigned int a, unsigned int b) {
    return min(a, b);
}
BULKHEAD_BOTH unsigned int umax(unsigned int a, unsigned int b) {
    return max(a, b);
}
BULKHEAD_BOTH long long llmin(long long a, long long b) {
    return min(a, b);
}
BULKHEAD_BOTH long long llmax(long long a, long long b) {
    return max(a, b);
}
BULKHEAD_BOTH unsigned long long ullmin(unsigned long long a, unsigned long long b) {
    return min(a, b);
}
BULKHEAD_BOTH unsigned long long ullmax(unsigned long long a, unsigned long long b) {
    return max(a, b);
}
