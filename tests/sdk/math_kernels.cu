// A kernel for each function of the device's mathematics: out[i] = f(x[i]) or f(x[i], y[i]).

#include <cuda_runtime.h>

#define ONE(T, name, expression)                                            \
    extern "C" __global__ void name(const T* in, const T*, T* out, int n) { \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                \
        if (i >= n) return;                                                 \
        const T x = in[i];                                                  \
        out[i] = expression;                                                \
    }
#define TWO(T, name, expression)                                                \
    extern "C" __global__ void name(const T* in, const T* in2, T* out, int n) { \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                    \
        if (i >= n) return;                                                     \
        const T x = in[i], y = in2[i];                                          \
        out[i] = expression;                                                    \
    }
#define BOTH_ONE(name)                   \
    ONE(float, name##_float, name##f(x)) \
    ONE(double, name##_double, name(x))
#define BOTH_TWO(name)                      \
    TWO(float, name##_float, name##f(x, y)) \
    TWO(double, name##_double, name(x, y))

BOTH_ONE(exp)
BOTH_ONE(exp2)
BOTH_ONE(exp10)
BOTH_ONE(expm1)
BOTH_ONE(log)
BOTH_ONE(log2)
BOTH_ONE(log10)
BOTH_ONE(log1p)
BOTH_ONE(sin)
BOTH_ONE(cos)
BOTH_ONE(tan)
BOTH_ONE(sinpi)
BOTH_ONE(cospi)
BOTH_ONE(asin)
BOTH_ONE(acos)
BOTH_ONE(atan)
BOTH_ONE(sinh)
BOTH_ONE(cosh)
BOTH_ONE(tanh)
BOTH_ONE(asinh)
BOTH_ONE(acosh)
BOTH_ONE(atanh)
BOTH_ONE(sqrt)
BOTH_ONE(rsqrt)
BOTH_ONE(cbrt)
BOTH_ONE(rcbrt)
BOTH_ONE(erf)
BOTH_ONE(erfc)
BOTH_ONE(normcdf)
BOTH_ONE(tgamma)
BOTH_ONE(lgamma)
BOTH_ONE(erfcx)
BOTH_ONE(erfinv)
BOTH_ONE(erfcinv)
BOTH_ONE(normcdfinv)
BOTH_ONE(cyl_bessel_i0)
BOTH_ONE(cyl_bessel_i1)
BOTH_ONE(j0)
BOTH_ONE(j1)
BOTH_ONE(y0)
BOTH_ONE(y1)
ONE(float, j3_float, jn(3, x))
ONE(double, j3_double, jn(3, x))
ONE(float, j50_float, jnf(50, x))
ONE(double, j50_double, jn(50, x))
ONE(float, y3_float, ynf(3, x))
ONE(double, y3_double, yn(3, x))
TWO(float, norm4d_float, norm4df(x, y, y, x))
TWO(double, norm4d_double, norm4d(x, y, y, x))
TWO(float, rnorm3d_float, rnorm3df(x, 0, y))
TWO(double, rnorm3d_double, rnorm3d(x, 0, y))
BOTH_ONE(floor)
BOTH_ONE(ceil)
BOTH_ONE(trunc)
BOTH_ONE(round)
BOTH_ONE(rint)
BOTH_ONE(logb)
BOTH_ONE(fabs)
BOTH_TWO(pow)
BOTH_TWO(atan2)
BOTH_TWO(hypot)
BOTH_TWO(fmod)
BOTH_TWO(remainder)
BOTH_TWO(fmin)
BOTH_TWO(fmax)
BOTH_TWO(fdim)
BOTH_TWO(copysign)

/// A number as an exponent; math_test.cpp has the same.
template <class T>
__device__ int exponentOf(T y) {
    return y > 5000 ? 5000 : y > -5000 ? (int)y : -5000;
}
TWO(float, ldexp_float, ldexpf(x, exponentOf(y)))
TWO(double, ldexp_double, ldexp(x, exponentOf(y)))
