#pragma once

#include "device.h"

// min and max of numbers, on both sides. Mixed signs count as unsigned.

#define BULKHEAD_MIN_MAX(A_, B_, R_)          \
    BULKHEAD_BOTH R_ min(A_ a, B_ b) {        \
        return (R_)a < (R_)b ? (R_)a : (R_)b; \
    }                                         \
    BULKHEAD_BOTH R_ max(A_ a, B_ b) {        \
        return (R_)a > (R_)b ? (R_)a : (R_)b; \
    }
#define BULKHEAD_MIN_MAX_WHOLE(S_)                          \
    BULKHEAD_MIN_MAX(S_, S_, S_)                            \
    BULKHEAD_MIN_MAX(unsigned S_, unsigned S_, unsigned S_) \
    BULKHEAD_MIN_MAX(S_, unsigned S_, unsigned S_)          \
    BULKHEAD_MIN_MAX(unsigned S_, S_, unsigned S_)
BULKHEAD_MIN_MAX_WHOLE(int)
BULKHEAD_MIN_MAX_WHOLE(long)
BULKHEAD_MIN_MAX_WHOLE(long long)
#undef BULKHEAD_MIN_MAX_WHOLE
#undef BULKHEAD_MIN_MAX

// A number wins over NaN, as in fmin and fmax.
#define BULKHEAD_MIN_MAX_REAL(A_, B_, R_, s)    \
    BULKHEAD_BOTH R_ min(A_ a, B_ b) {          \
        return __builtin_fmin##s((R_)a, (R_)b); \
    }                                           \
    BULKHEAD_BOTH R_ max(A_ a, B_ b) {          \
        return __builtin_fmax##s((R_)a, (R_)b); \
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
