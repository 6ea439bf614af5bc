#pragma once

#include "device.h"

// Arithmetic with a named rounding, conversions, bits, and the fast approximations of the hardware.

// Sums and products that are never fused with one another. In assembly, because the compiler takes its own functions
// for these as plain operators where they round to nearest.
#define BULKHEAD_EXACT(name, instruction, T_, constraint)                                        \
    BULKHEAD_DEVICE T_ name(T_ a, T_ b) {                                                        \
        T_ result;                                                                               \
        asm(instruction " %0, %1, %2;" : "=" constraint(result) : constraint(a), constraint(b)); \
        return result;                                                                           \
    }
BULKHEAD_EXACT(__fadd_rn, "add.rn.f32", float, "f")
BULKHEAD_EXACT(__fsub_rn, "sub.rn.f32", float, "f")
BULKHEAD_EXACT(__fmul_rn, "mul.rn.f32", float, "f")
BULKHEAD_EXACT(__dadd_rn, "add.rn.f64", double, "d")
BULKHEAD_EXACT(__dsub_rn, "sub.rn.f64", double, "d")
BULKHEAD_EXACT(__dmul_rn, "mul.rn.f64", double, "d")
#undef BULKHEAD_EXACT

/// X(CUDA's suffix, PTX's) for every rounding but the one to nearest.
#define BULKHEAD_OTHER_ROUNDINGS(X_) X_(rz, rz) X_(rd, rm) X_(ru, rp)
#define BULKHEAD_ROUNDINGS(X_) X_(rn, rn) BULKHEAD_OTHER_ROUNDINGS(X_)

#define BULKHEAD_SUMS(cuda, ptx)                               \
    BULKHEAD_DEVICE float __fadd_##cuda(float a, float b) {    \
        return __nvvm_add_##ptx##_f(a, b);                     \
    }                                                          \
    BULKHEAD_DEVICE float __fsub_##cuda(float a, float b) {    \
        return __nvvm_add_##ptx##_f(a, -b);                    \
    }                                                          \
    BULKHEAD_DEVICE float __fmul_##cuda(float a, float b) {    \
        return __nvvm_mul_##ptx##_f(a, b);                     \
    }                                                          \
    BULKHEAD_DEVICE double __dadd_##cuda(double a, double b) { \
        return __nvvm_add_##ptx##_d(a, b);                     \
    }                                                          \
    BULKHEAD_DEVICE double __dsub_##cuda(double a, double b) { \
        return __nvvm_add_##ptx##_d(a, -b);                    \
    }                                                          \
    BULKHEAD_DEVICE double __dmul_##cuda(double a, double b) { \
        return __nvvm_mul_##ptx##_d(a, b);                     \
    }
BULKHEAD_OTHER_ROUNDINGS(BULKHEAD_SUMS)
#undef BULKHEAD_SUMS

#define BULKHEAD_ARITHMETIC(cuda, ptx)                                  \
    BULKHEAD_DEVICE float __fmaf_##cuda(float a, float b, float c) {    \
        return __nvvm_fma_##ptx##_f(a, b, c);                           \
    }                                                                   \
    BULKHEAD_DEVICE float __fdiv_##cuda(float a, float b) {             \
        return __nvvm_div_##ptx##_f(a, b);                              \
    }                                                                   \
    BULKHEAD_DEVICE float __frcp_##cuda(float a) {                      \
        return __nvvm_rcp_##ptx##_f(a);                                 \
    }                                                                   \
    BULKHEAD_DEVICE float __fsqrt_##cuda(float a) {                     \
        return __nvvm_sqrt_##ptx##_f(a);                                \
    }                                                                   \
    BULKHEAD_DEVICE double __fma_##cuda(double a, double b, double c) { \
        return __nvvm_fma_##ptx##_d(a, b, c);                           \
    }                                                                   \
    BULKHEAD_DEVICE double __ddiv_##cuda(double a, double b) {          \
        return __nvvm_div_##ptx##_d(a, b);                              \
    }                                                                   \
    BULKHEAD_DEVICE double __drcp_##cuda(double a) {                    \
        return __nvvm_rcp_##ptx##_d(a);                                 \
    }                                                                   \
    BULKHEAD_DEVICE double __dsqrt_##cuda(double a) {                   \
        return __nvvm_sqrt_##ptx##_d(a);                                \
    }
BULKHEAD_ROUNDINGS(BULKHEAD_ARITHMETIC)
#undef BULKHEAD_ARITHMETIC

#define BULKHEAD_CONVERSIONS(cuda, ptx)                                \
    BULKHEAD_DEVICE int __float2int_##cuda(float x) {                  \
        return __nvvm_f2i_##ptx(x);                                    \
    }                                                                  \
    BULKHEAD_DEVICE unsigned int __float2uint_##cuda(float x) {        \
        return __nvvm_f2ui_##ptx(x);                                   \
    }                                                                  \
    BULKHEAD_DEVICE long long __float2ll_##cuda(float x) {             \
        return __nvvm_f2ll_##ptx(x);                                   \
    }                                                                  \
    BULKHEAD_DEVICE unsigned long long __float2ull_##cuda(float x) {   \
        return __nvvm_f2ull_##ptx(x);                                  \
    }                                                                  \
    BULKHEAD_DEVICE float __int2float_##cuda(int x) {                  \
        return __nvvm_i2f_##ptx(x);                                    \
    }                                                                  \
    BULKHEAD_DEVICE float __uint2float_##cuda(unsigned int x) {        \
        return __nvvm_ui2f_##ptx(x);                                   \
    }                                                                  \
    BULKHEAD_DEVICE float __ll2float_##cuda(long long x) {             \
        return __nvvm_ll2f_##ptx(x);                                   \
    }                                                                  \
    BULKHEAD_DEVICE float __ull2float_##cuda(unsigned long long x) {   \
        return __nvvm_ull2f_##ptx(x);                                  \
    }                                                                  \
    BULKHEAD_DEVICE int __double2int_##cuda(double x) {                \
        return __nvvm_d2i_##ptx(x);                                    \
    }                                                                  \
    BULKHEAD_DEVICE unsigned int __double2uint_##cuda(double x) {      \
        return __nvvm_d2ui_##ptx(x);                                   \
    }                                                                  \
    BULKHEAD_DEVICE long long __double2ll_##cuda(double x) {           \
        return __nvvm_d2ll_##ptx(x);                                   \
    }                                                                  \
    BULKHEAD_DEVICE unsigned long long __double2ull_##cuda(double x) { \
        return __nvvm_d2ull_##ptx(x);                                  \
    }                                                                  \
    BULKHEAD_DEVICE float __double2float_##cuda(double x) {            \
        return __nvvm_d2f_##ptx(x);                                    \
    }                                                                  \
    BULKHEAD_DEVICE double __ll2double_##cuda(long long x) {           \
        return __nvvm_ll2d_##ptx(x);                                   \
    }                                                                  \
    BULKHEAD_DEVICE double __ull2double_##cuda(unsigned long long x) { \
        return __nvvm_ull2d_##ptx(x);                                  \
    }
BULKHEAD_ROUNDINGS(BULKHEAD_CONVERSIONS)
#undef BULKHEAD_CONVERSIONS
#undef BULKHEAD_ROUNDINGS
#undef BULKHEAD_OTHER_ROUNDINGS

BULKHEAD_DEVICE double __int2double_rn(int x) {
    return __nvvm_i2d_rn(x);
}
BULKHEAD_DEVICE double __uint2double_rn(unsigned int x) {
    return __nvvm_ui2d_rn(x);
}

BULKHEAD_DEVICE int __float_as_int(float x) {
    return __nvvm_bitcast_f2i(x);
}
BULKHEAD_DEVICE unsigned int __float_as_uint(float x) {
    return (unsigned int)__nvvm_bitcast_f2i(x);
}
BULKHEAD_DEVICE float __int_as_float(int x) {
    return __nvvm_bitcast_i2f(x);
}
BULKHEAD_DEVICE float __uint_as_float(unsigned int x) {
    return __nvvm_bitcast_i2f((int)x);
}
BULKHEAD_DEVICE long long __double_as_longlong(double x) {
    return __nvvm_bitcast_d2ll(x);
}
BULKHEAD_DEVICE double __longlong_as_double(long long x) {
    return __nvvm_bitcast_ll2d(x);
}
BULKHEAD_DEVICE int __double2hiint(double x) {
    return __nvvm_d2i_hi(x);
}
BULKHEAD_DEVICE int __double2loint(double x) {
    return __nvvm_d2i_lo(x);
}
BULKHEAD_DEVICE double __hiloint2double(int high, int low) {
    return __nvvm_lohi_i2d(low, high);
}

BULKHEAD_DEVICE float __saturatef(float x) {
    return __nvvm_saturate_f(x);
}
BULKHEAD_DEVICE float __frsqrt_rn(float x) {
    return __nvvm_d2f_rn(1.0 / __nvvm_sqrt_rn_d((double)x));
}
BULKHEAD_DEVICE float __fdividef(float a, float b) {
    return __nvvm_div_approx_f(a, b);
}

BULKHEAD_DEVICE float __log2f(float x) {
    return __nvvm_lg2_approx_f(x);
}
BULKHEAD_DEVICE float __logf(float x) {
    return __nvvm_lg2_approx_f(x) * 0x1.62e43p-1f;
}
BULKHEAD_DEVICE float __log10f(float x) {
    return __nvvm_lg2_approx_f(x) * 0x1.344136p-2f;
}
BULKHEAD_DEVICE float __exp2f(float x) {
    return __nvvm_ex2_approx_f(x);
}
BULKHEAD_DEVICE float __expf(float x) {
    return __nvvm_ex2_approx_f(x * 0x1.715476p+0f);
}
BULKHEAD_DEVICE float __exp10f(float x) {
    return __nvvm_ex2_approx_f(x * 0x1.a934fp+1f);
}
BULKHEAD_DEVICE float __powf(float x, float y) {
    return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x));
}
BULKHEAD_DEVICE float __sinf(float x) {
    return __nvvm_sin_approx_f(x);
}
BULKHEAD_DEVICE float __cosf(float x) {
    return __nvvm_cos_approx_f(x);
}
BULKHEAD_DEVICE float __tanf(float x) {
    return __nvvm_div_approx_f(__sinf(x), __cosf(x));
}
BULKHEAD_DEVICE void __sincosf(float x, float* sine, float* cosine) {
    *sine = __sinf(x);
    *cosine = __cosf(x);
}
/// In hardware from sm_75 on.
BULKHEAD_DEVICE float __tanhf(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
    float result;
    asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#else
    return 1.0f - __fdividef(2.0f, __expf(2.0f * x) + 1.0f);
#endif
}

// Those that keep denormals where the compiler has been told to flush them.
#define BULKHEAD_IEEE(suffix, instruction)                                           \
    BULKHEAD_DEVICE float __fmaf_ieee_##suffix(float a, float b, float c) {          \
        float result;                                                                \
        asm(instruction " %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c)); \
        return result;                                                               \
    }
BULKHEAD_IEEE(rn, "fma.rn.f32")
BULKHEAD_IEEE(rz, "fma.rz.f32")
BULKHEAD_IEEE(rd, "fma.rm.f32")
BULKHEAD_IEEE(ru, "fma.rp.f32")
#undef BULKHEAD_IEEE
