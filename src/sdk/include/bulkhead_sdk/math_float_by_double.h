#pragma once

#include "math_double.h"
#include "math_special.h"

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
BULKHEAD_BY_DOUBLE1(tgamma)
BULKHEAD_BY_DOUBLE1(lgamma)
BULKHEAD_BY_DOUBLE1(erfcx)
BULKHEAD_BY_DOUBLE1(erfinv)
BULKHEAD_BY_DOUBLE1(erfcinv)
BULKHEAD_BY_DOUBLE1(normcdfinv)
BULKHEAD_BY_DOUBLE1(j0)
BULKHEAD_BY_DOUBLE1(j1)
BULKHEAD_BY_DOUBLE1(y0)
BULKHEAD_BY_DOUBLE1(y1)
BULKHEAD_BY_DOUBLE1(cyl_bessel_i0)
BULKHEAD_BY_DOUBLE1(cyl_bessel_i1)
BULKHEAD_DEVICE float jnf(int n, float x) {
    return (float)jn(n, (double)x);
}
BULKHEAD_DEVICE float ynf(int n, float x) {
    return (float)yn(n, (double)x);
}

// Squares of floats are exact in double and cannot overflow there.
BULKHEAD_DEVICE float hypotf(float x, float y) {
    if (bulkhead_sdk::isInfinite(x) || bulkhead_sdk::isInfinite(y)) return bulkhead_sdk::infinity<float>();
    return (float)sqrt((double)x * x + (double)y * y);
}
BULKHEAD_BY_DOUBLE2(rhypot)
namespace bulkhead_sdk {
BULKHEAD_DEVICE double lengthOf(int count, const float* p) {
    double total = 0.0;
    bool infinite = false;
    for (int i = 0; i < count; ++i) {
        infinite = infinite || isInfinite(p[i]);
        total += (double)p[i] * p[i];
    }
    return infinite ? infinity<double>() : sqrt(total);
}
}  // namespace bulkhead_sdk
BULKHEAD_DEVICE float normf(int count, const float* p) {
    return (float)bulkhead_sdk::lengthOf(count, p);
}
BULKHEAD_DEVICE float rnormf(int count, const float* p) {
    return (float)__drcp_rn(bulkhead_sdk::lengthOf(count, p));
}
BULKHEAD_DEVICE float norm3df(float x, float y, float z) {
    const float p[3] = {x, y, z};
    return normf(3, p);
}
BULKHEAD_DEVICE float norm4df(float x, float y, float z, float w) {
    const float p[4] = {x, y, z, w};
    return normf(4, p);
}
BULKHEAD_DEVICE float rnorm3df(float x, float y, float z) {
    const float p[3] = {x, y, z};
    return rnormf(3, p);
}
BULKHEAD_DEVICE float rnorm4df(float x, float y, float z, float w) {
    const float p[4] = {x, y, z, w};
    return rnormf(4, p);
}
BULKHEAD_DEVICE void sincospif(float x, float* sine, float* cosine) {
    *sine = sinpif(x);
    *cosine = cospif(x);
}

#undef BULKHEAD_BY_DOUBLE1
#undef BULKHEAD_BY_DOUBLE2
