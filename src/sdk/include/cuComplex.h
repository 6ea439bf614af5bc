#pragma once

#define CU_COMPLEX_H_

#include <math.h>

#include "vector_types.h"

// Complex numbers as pairs of float or double, for C as well. Quotients and moduli scale their operands first, so that
// no part overflows where the result does not.

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define BULKHEAD_COMPLEX(T_, Complex, make, s)                                                 \
    static __inline__ __host__ __device__ T_ cuCreal##s(Complex z) {                           \
        return z.x;                                                                            \
    }                                                                                          \
    static __inline__ __host__ __device__ T_ cuCimag##s(Complex z) {                           \
        return z.y;                                                                            \
    }                                                                                          \
    static __inline__ __host__ __device__ Complex make(T_ real, T_ imaginary) {                \
        Complex z;                                                                             \
        z.x = real;                                                                            \
        z.y = imaginary;                                                                       \
        return z;                                                                              \
    }                                                                                          \
    static __inline__ __host__ __device__ Complex cuConj##s(Complex z) {                       \
        return make(z.x, -z.y);                                                                \
    }                                                                                          \
    static __inline__ __host__ __device__ Complex cuCadd##s(Complex a, Complex b) {            \
        return make(a.x + b.x, a.y + b.y);                                                     \
    }                                                                                          \
    static __inline__ __host__ __device__ Complex cuCsub##s(Complex a, Complex b) {            \
        return make(a.x - b.x, a.y - b.y);                                                     \
    }                                                                                          \
    static __inline__ __host__ __device__ Complex cuCmul##s(Complex a, Complex b) {            \
        return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                             \
    }                                                                                          \
    static __inline__ __host__ __device__ Complex cuCdiv##s(Complex a, Complex b) {            \
        const T_ scale = (T_)1 / (fabs##s(b.x) + fabs##s(b.y));                                \
        const T_ ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;       \
        const T_ square = (T_)1 / (bx * bx + by * by);                                         \
        return make((ax * bx + ay * by) * square, (ay * bx - ax * by) * square);               \
    }                                                                                          \
    static __inline__ __host__ __device__ T_ cuCabs##s(Complex z) {                            \
        return hypot##s(z.x, z.y);                                                             \
    }                                                                                          \
    static __inline__ __host__ __device__ Complex cuCfma##s(Complex a, Complex b, Complex c) { \
        const T_ real = a.x * b.x + c.x, imaginary = a.x * b.y + c.y;                          \
        return make(real - a.y * b.y, imaginary + a.y * b.x);                                  \
    }
BULKHEAD_COMPLEX(float, cuFloatComplex, make_cuFloatComplex, f)
BULKHEAD_COMPLEX(double, cuDoubleComplex, make_cuDoubleComplex, )
#undef BULKHEAD_COMPLEX

static __inline__ __host__ __device__ cuComplex make_cuComplex(float real, float imaginary) {
    return make_cuFloatComplex(real, imaginary);
}
static __inline__ __host__ __device__ cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) {
    return make_cuDoubleComplex((double)z.x, (double)z.y);
}
static __inline__ __host__ __device__ cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
    return make_cuFloatComplex((float)z.x, (float)z.y);
}
