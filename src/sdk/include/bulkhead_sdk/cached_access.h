#pragma once

#include "../vector_types.h"
#include "device.h"

// Loads and stores that name a cache: __ldg goes through the read-only one.

namespace bulkhead_sdk {
/// The compiler's own vectors, which its builtins take.
template <class T, int n>
struct Raw {
    typedef T Vector __attribute__((ext_vector_type(n)));
};
}  // namespace bulkhead_sdk

#define BULKHEAD_LDG(type, builtin, raw)                  \
    BULKHEAD_DEVICE type __ldg(const type* p) {           \
        return (type)__nvvm_ldg_##builtin((const raw*)p); \
    }
BULKHEAD_LDG(char, c, char)
BULKHEAD_LDG(signed char, c, char)
BULKHEAD_LDG(unsigned char, uc, unsigned char)
BULKHEAD_LDG(short, s, short)
BULKHEAD_LDG(unsigned short, us, unsigned short)
BULKHEAD_LDG(int, i, int)
BULKHEAD_LDG(unsigned int, ui, unsigned int)
BULKHEAD_LDG(long, l, long)
BULKHEAD_LDG(unsigned long, ul, unsigned long)
BULKHEAD_LDG(long long, ll, long long)
BULKHEAD_LDG(unsigned long long, ull, unsigned long long)
BULKHEAD_LDG(float, f, float)
BULKHEAD_LDG(double, d, double)
#undef BULKHEAD_LDG

#define BULKHEAD_LDG2(type, builtin, scalar)                                                 \
    BULKHEAD_DEVICE type __ldg(const type* p) {                                              \
        const auto v = __nvvm_ldg_##builtin((const bulkhead_sdk::Raw<scalar, 2>::Vector*)p); \
        return type{v.x, v.y};                                                               \
    }
#define BULKHEAD_LDG4(type, builtin, scalar)                                                 \
    BULKHEAD_DEVICE type __ldg(const type* p) {                                              \
        const auto v = __nvvm_ldg_##builtin((const bulkhead_sdk::Raw<scalar, 4>::Vector*)p); \
        return type{v.x, v.y, v.z, v.w};                                                     \
    }
BULKHEAD_LDG2(short2, s2, short)
BULKHEAD_LDG4(short4, s4, short)
BULKHEAD_LDG2(ushort2, us2, unsigned short)
BULKHEAD_LDG4(ushort4, us4, unsigned short)
BULKHEAD_LDG2(uchar2, uc2, unsigned char)
BULKHEAD_LDG4(uchar4, uc4, unsigned char)
BULKHEAD_LDG2(int2, i2, int)
BULKHEAD_LDG4(int4, i4, int)
BULKHEAD_LDG2(uint2, ui2, unsigned int)
BULKHEAD_LDG4(uint4, ui4, unsigned int)
BULKHEAD_LDG2(longlong2, ll2, long long)
BULKHEAD_LDG2(ulonglong2, ull2, unsigned long long)
BULKHEAD_LDG2(float2, f2, float)
BULKHEAD_LDG4(float4, f4, float)
BULKHEAD_LDG2(double2, d2, double)
#undef BULKHEAD_LDG2
#undef BULKHEAD_LDG4

#define BULKHEAD_CACHED_SCALAR(load, store, operator, type, suffix, constraint)                                 \
    BULKHEAD_DEVICE type load(const type* p) {                                                                  \
        type value;                                                                                             \
        asm volatile("ld.global." operator"." suffix " %0, [%1];" : "=" constraint(value) : "l"(p) : "memory"); \
        return value;                                                                                           \
    }                                                                                                           \
    BULKHEAD_DEVICE void store(type* p, type value) {                                                           \
        asm volatile("st.global." operator"." suffix " [%0], %1;" ::"l"(p), constraint(value) : "memory");      \
    }
#define BULKHEAD_CACHED(load, store, operator)                                                                      \
    BULKHEAD_CACHED_SCALAR(load, store, operator, int, "s32", "r")                                                  \
    BULKHEAD_CACHED_SCALAR(load, store, operator, unsigned int, "u32", "r")                                         \
    BULKHEAD_CACHED_SCALAR(load, store, operator, long, "s64", "l")                                                 \
    BULKHEAD_CACHED_SCALAR(load, store, operator, unsigned long, "u64", "l")                                        \
    BULKHEAD_CACHED_SCALAR(load, store, operator, long long, "s64", "l")                                            \
    BULKHEAD_CACHED_SCALAR(load, store, operator, unsigned long long, "u64", "l")                                   \
    BULKHEAD_CACHED_SCALAR(load, store, operator, float, "f32", "f")                                                \
    BULKHEAD_CACHED_SCALAR(load, store, operator, double, "f64", "d")                                               \
    BULKHEAD_DEVICE float4 load(const float4* p) {                                                                  \
        float4 v;                                                                                                   \
        asm volatile("ld.global." operator".v4.f32 {%0, %1, %2, %3}, [%4];"                                         \
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)                                                   \
                     : "l"(p)                                                                                       \
                     : "memory");                                                                                   \
        return v;                                                                                                   \
    }                                                                                                               \
    BULKHEAD_DEVICE void store(float4* p, float4 v) {                                                               \
        asm volatile("st.global." operator".v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), \
                     "f"(v.w)                                                                                       \
                     : "memory");                                                                                   \
    }
BULKHEAD_CACHED(__ldcg, __stcg, "cg")
BULKHEAD_CACHED(__ldcs, __stcs, "cs")
#undef BULKHEAD_CACHED
#define BULKHEAD_LOAD_ONLY(type, suffix, constraint)                                                   \
    BULKHEAD_DEVICE type __ldca(const type* p) {                                                       \
        type value;                                                                                    \
        asm volatile("ld.global.ca." suffix " %0, [%1];" : "=" constraint(value) : "l"(p) : "memory"); \
        return value;                                                                                  \
    }                                                                                                  \
    BULKHEAD_DEVICE type __ldcv(const type* p) {                                                       \
        type value;                                                                                    \
        asm volatile("ld.global.cv." suffix " %0, [%1];" : "=" constraint(value) : "l"(p) : "memory"); \
        return value;                                                                                  \
    }                                                                                                  \
    BULKHEAD_DEVICE void __stwb(type* p, type value) {                                                 \
        asm volatile("st.global.wb." suffix " [%0], %1;" ::"l"(p), constraint(value) : "memory");      \
    }                                                                                                  \
    BULKHEAD_DEVICE void __stwt(type* p, type value) {                                                 \
        asm volatile("st.global.wt." suffix " [%0], %1;" ::"l"(p), constraint(value) : "memory");      \
    }
BULKHEAD_LOAD_ONLY(int, "s32", "r")
BULKHEAD_LOAD_ONLY(unsigned int, "u32", "r")
BULKHEAD_LOAD_ONLY(long long, "s64", "l")
BULKHEAD_LOAD_ONLY(unsigned long long, "u64", "l")
BULKHEAD_LOAD_ONLY(float, "f32", "f")
BULKHEAD_LOAD_ONLY(double, "f64", "d")
#undef BULKHEAD_LOAD_ONLY
#undef BULKHEAD_CACHED_SCALAR
