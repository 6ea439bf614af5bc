#pragma once

#include "math_basic.h"
#include "math_double.h"
#include "math_float.h"
#include "math_float_by_double.h"

// C++ calls a function of float by the name of the double one. These come before <cmath> is seen: its own overloads,
// which are constexpr and would be taken for both sides, then stay on the host's.

#define BULKHEAD_OVERLOAD1(name)          \
    BULKHEAD_DEVICE float name(float x) { \
        return name##f(x);                \
    }
#define BULKHEAD_OVERLOAD2(name)                   \
    BULKHEAD_DEVICE float name(float x, float y) { \
        return name##f(x, y);                      \
    }

/// X(name) for functions of one argument that have a version for each real type.
// It would be formatted anew each time.
// clang-format off
#define BULKHEAD_ONE_ARGUMENT(X_)                                                                                \
    X_(fabs) X_(floor) X_(ceil) X_(trunc) X_(rint) X_(nearbyint) X_(round) X_(sqrt) X_(logb) X_(exp) X_(exp2) X_(log)       \
    X_(log2) X_(log10) X_(sin) X_(cos) X_(tan) X_(asin) X_(acos) X_(atan) X_(tanh) X_(erf) X_(expm1) X_(log1p) X_(sinh)      \
    X_(cosh) X_(asinh) X_(acosh) X_(atanh) X_(cbrt) X_(erfc) X_(tgamma) X_(lgamma)
// clang-format on
#define BULKHEAD_TWO_ARGUMENTS(X_) \
    X_(fmin) X_(fmax) X_(copysign) X_(fdim) X_(nextafter) X_(fmod) X_(remainder) X_(pow) X_(atan2) X_(hypot)

BULKHEAD_ONE_ARGUMENT(BULKHEAD_OVERLOAD1)
BULKHEAD_TWO_ARGUMENTS(BULKHEAD_OVERLOAD2)
#undef BULKHEAD_OVERLOAD1
#undef BULKHEAD_OVERLOAD2

BULKHEAD_DEVICE float fma(float x, float y, float z) {
    return fmaf(x, y, z);
}
BULKHEAD_DEVICE float ldexp(float x, int n) {
    return ldexpf(x, n);
}
BULKHEAD_DEVICE float scalbn(float x, int n) {
    return scalbnf(x, n);
}
BULKHEAD_DEVICE float scalbln(float x, long n) {
    return scalblnf(x, n);
}
BULKHEAD_DEVICE float frexp(float x, int* exponent) {
    return frexpf(x, exponent);
}
BULKHEAD_DEVICE float modf(float x, float* whole) {
    return modff(x, whole);
}
BULKHEAD_DEVICE float remquo(float x, float y, int* quotient) {
    return remquof(x, y, quotient);
}
BULKHEAD_DEVICE int ilogb(float x) {
    return ilogbf(x);
}
BULKHEAD_DEVICE long lround(float x) {
    return lroundf(x);
}
BULKHEAD_DEVICE long lrint(float x) {
    return lrintf(x);
}
BULKHEAD_DEVICE long long llround(float x) {
    return llroundf(x);
}
BULKHEAD_DEVICE long long llrint(float x) {
    return llrintf(x);
}
BULKHEAD_DEVICE void sincos(float x, float* sine, float* cosine) {
    sincosf(x, sine, cosine);
}
BULKHEAD_DEVICE float rsqrt(float x) {
    return rsqrtf(x);
}
BULKHEAD_DEVICE float exp10(float x) {
    return exp10f(x);
}
BULKHEAD_DEVICE float sinpi(float x) {
    return sinpif(x);
}
BULKHEAD_DEVICE float cospi(float x) {
    return cospif(x);
}
BULKHEAD_DEVICE float normcdf(float x) {
    return normcdff(x);
}
BULKHEAD_DEVICE float rcbrt(float x) {
    return rcbrtf(x);
}
BULKHEAD_DEVICE float rhypot(float x, float y) {
    return rhypotf(x, y);
}
BULKHEAD_DEVICE void sincospi(float x, float* sine, float* cosine) {
    sincospif(x, sine, cosine);
}

#define BULKHEAD_OVERLOAD1(name)          \
    BULKHEAD_DEVICE float name(float x) { \
        return name##f(x);                \
    }
BULKHEAD_OVERLOAD1(erfcx)
BULKHEAD_OVERLOAD1(erfinv)
BULKHEAD_OVERLOAD1(erfcinv)
BULKHEAD_OVERLOAD1(normcdfinv)
BULKHEAD_OVERLOAD1(j0)
BULKHEAD_OVERLOAD1(j1)
BULKHEAD_OVERLOAD1(y0)
BULKHEAD_OVERLOAD1(y1)
BULKHEAD_OVERLOAD1(cyl_bessel_i0)
BULKHEAD_OVERLOAD1(cyl_bessel_i1)
#undef BULKHEAD_OVERLOAD1
BULKHEAD_DEVICE float jn(int n, float x) {
    return jnf(n, x);
}
BULKHEAD_DEVICE float yn(int n, float x) {
    return ynf(n, x);
}
BULKHEAD_DEVICE float norm(int count, const float* p) {
    return normf(count, p);
}
BULKHEAD_DEVICE float rnorm(int count, const float* p) {
    return rnormf(count, p);
}
BULKHEAD_DEVICE float norm3d(float x, float y, float z) {
    return norm3df(x, y, z);
}
BULKHEAD_DEVICE float norm4d(float x, float y, float z, float w) {
    return norm4df(x, y, z, w);
}
BULKHEAD_DEVICE float rnorm3d(float x, float y, float z) {
    return rnorm3df(x, y, z);
}
BULKHEAD_DEVICE float rnorm4d(float x, float y, float z, float w) {
    return rnorm4df(x, y, z, w);
}

BULKHEAD_DEVICE int abs(int x) {
    return x < 0 ? -x : x;
}
BULKHEAD_DEVICE long abs(long x) {
    return x < 0 ? -x : x;
}
BULKHEAD_DEVICE long long abs(long long x) {
    return x < 0 ? -x : x;
}
BULKHEAD_DEVICE float abs(float x) {
    return fabsf(x);
}
BULKHEAD_DEVICE double abs(double x) {
    return fabs(x);
}
BULKHEAD_DEVICE long labs(long x) {
    return abs(x);
}
BULKHEAD_DEVICE long long llabs(long long x) {
    return abs(x);
}

// Whole arguments count as double, as in <cmath>.
namespace bulkhead_sdk {
template <bool condition, class T_>
struct When {};
template <class T_>
struct When<true, T_> {
    typedef T_ type;
};
template <class A_, class B_>
inline constexpr bool kMixed = __is_arithmetic(A_) && __is_arithmetic(B_) &&
                               !(__is_same(A_, float) && __is_same(B_, float)) &&
                               !(__is_same(A_, double) && __is_same(B_, double)) && !__is_same(A_, long double) &&
                               !__is_same(B_, long double);
}  // namespace bulkhead_sdk

#define BULKHEAD_WHOLE1(name)                                                                 \
    template <class T_>                                                                       \
    BULKHEAD_DEVICE typename bulkhead_sdk::When<__is_integral(T_), double>::type name(T_ x) { \
        return name((double)x);                                                               \
    }
#define BULKHEAD_MIXED2(name)                                                                                  \
    template <class A_, class B_>                                                                              \
    BULKHEAD_DEVICE typename bulkhead_sdk::When<bulkhead_sdk::kMixed<A_, B_>, double>::type name(A_ x, B_ y) { \
        return name((double)x, (double)y);                                                                     \
    }
BULKHEAD_ONE_ARGUMENT(BULKHEAD_WHOLE1)
BULKHEAD_TWO_ARGUMENTS(BULKHEAD_MIXED2)
#undef BULKHEAD_WHOLE1
#undef BULKHEAD_MIXED2

namespace std {
#define BULKHEAD_USE(name) using ::name;
BULKHEAD_ONE_ARGUMENT(BULKHEAD_USE)
BULKHEAD_TWO_ARGUMENTS(BULKHEAD_USE)
#undef BULKHEAD_USE
using ::abs;
using ::fma;
using ::frexp;
using ::ilogb;
using ::ldexp;
using ::llrint;
using ::llround;
using ::lrint;
using ::lround;
using ::modf;
using ::remquo;
using ::scalbln;
using ::scalbn;
}  // namespace std

#undef BULKHEAD_ONE_ARGUMENT
#undef BULKHEAD_TWO_ARGUMENTS
