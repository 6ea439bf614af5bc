#pragma once

#include "math_double.h"

// Functions of float that programs use rarely: those of double, rounded.

#define BULKHEAD_BY_DOUBLE1(name)            \
    BULKHEAD_DEVICE float name##f(float x) { \
        return (float)name((double)x);       \
    }
#define BULKHEAD_BY_DOUBLE2(name)                     \
    BULKHEAD_DEVICE float name##f(float x, float y) { \
        return (float)name((double)x, (double)y);     \
    }

BULKHEAD_BY_DOUBLE1(expm1)
BULKHEAD_BY_DOUBLE1(log1p)
BULKHEAD_BY_DOUBLE1(sinh)
BULKHEAD_BY_DOUBLE1(cosh)
BULKHEAD_BY_DOUBLE1(asinh)
BULKHEAD_BY_DOUBLE1(acosh)
BULKHEAD_BY_DOUBLE1(atanh)
BULKHEAD_BY_DOUBLE1(sinpi)
BULKHEAD_BY_DOUBLE1(cospi)
BULKHEAD_BY_DOUBLE1(cbrt)
BULKHEAD_BY_DOUBLE1(rcbrt)
BULKHEAD_BY_DOUBLE1(erfc)
BULKHEAD_BY_DOUBLE1(normcdf)

// Squares of floats are exact in double and cannot overflow there.
BULKHEAD_DEVICE float hypotf(float x, float y) {
    if (bulkhead_sdk::isInfinite(x) || bulkhead_sdk::isInfinite(y)) return bulkhead_sdk::infinity<float>();
    return (float)sqrt((double)x * x + (double)y * y);
}
BULKHEAD_BY_DOUBLE2(rhypot)
BULKHEAD_DEVICE float norm3df(float x, float y, float z) {
    return (float)sqrt((double)x * x + (double)y * y + (double)z * z);
}
BULKHEAD_DEVICE void sincospif(float x, float* sine, float* cosine) {
    *sine = sinpif(x);
    *cosine = cospif(x);
}

#undef BULKHEAD_BY_DOUBLE1
#undef BULKHEAD_BY_DOUBLE2
