#pragma once

#include "../vector_types.h"
#include "device.h"

// Loads and stores that name a cache: __ldg goes through the read-only one.

namespace bulkhead_sdk {
/// The compiler's own vectors, which its builtins take.
template <class T_, int n>
struct Raw {
    typedef T_ Vector __attribute__((ext_vector_type(n)));
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
BULKHEAD_DEVICE char2 __ldg(const char2* p) {
    return __builtin_bit_cast(char2, __ldg((const uchar2*)p));
}
BULKHEAD_DEVICE char4 __ldg(const char4* p) {
    return __builtin_bit_cast(char4, __ldg((const uchar4*)p));
}

// The others go by size: 1, 2, 4, 8 or 16 bytes, whatever they mean.
namespace bulkhead_sdk {
template <int bytes>
struct Bytes;

#define BULKHEAD_MOVE(bytes, Raw, type, constraint)                                \
    template <>                                                                    \
    struct Bytes<bytes> {                                                          \
        BULKHEAD_MOVES(BULKHEAD_LOAD_AS, BULKHEAD_STORE_AS, Raw, type, constraint) \
    };
#define BULKHEAD_LOAD_AS(name, operation, Raw, type, constraint)                                                \
    static __device__ __forceinline__ Raw name(const void* p) {                                                 \
        Raw value;                                                                                              \
        asm volatile("ld.global." operation "." type " %0, [%1];" : "=" constraint(value) : "l"(p) : "memory"); \
        return value;                                                                                           \
    }
#define BULKHEAD_STORE_AS(name, operation, Raw, type, constraint)                                          \
    static __device__ __forceinline__ void name(void* p, Raw value) {                                      \
        asm volatile("st.global." operation "." type " [%0], %1;" ::"l"(p), constraint(value) : "memory"); \
    }
#define BULKHEAD_MOVES(load, store, ...)                                                           \
    load(ldca, "ca", __VA_ARGS__) load(ldcg, "cg", __VA_ARGS__) load(ldcs, "cs", __VA_ARGS__)      \
        load(ldlu, "lu", __VA_ARGS__) load(ldcv, "cv", __VA_ARGS__) store(stwb, "wb", __VA_ARGS__) \
            store(stcg, "cg", __VA_ARGS__) store(stcs, "cs", __VA_ARGS__) store(stwt, "wt", __VA_ARGS__)
BULKHEAD_MOVE(1, unsigned short, "u8", "h")
BULKHEAD_MOVE(2, unsigned short, "u16", "h")
BULKHEAD_MOVE(4, unsigned int, "u32", "r")
BULKHEAD_MOVE(8, unsigned long long, "u64", "l")
#undef BULKHEAD_LOAD_AS
#undef BULKHEAD_STORE_AS

/// The compiler has no register of 16 bytes: two of 8.
#define BULKHEAD_LOAD_AS(name, operation, ...)                                                                     \
    static __device__ __forceinline__ ulonglong2 name(const void* p) {                                             \
        ulonglong2 v;                                                                                              \
        asm volatile("ld.global." operation ".v2.u64 {%0, %1}, [%2];" : "=l"(v.x), "=l"(v.y) : "l"(p) : "memory"); \
        return v;                                                                                                  \
    }
#define BULKHEAD_STORE_AS(name, operation, ...)                                                                 \
    static __device__ __forceinline__ void name(void* p, ulonglong2 v) {                                        \
        asm volatile("st.global." operation ".v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(v.x), "l"(v.y) : "memory"); \
    }
template <>
struct Bytes<16> {
    BULKHEAD_MOVES(BULKHEAD_LOAD_AS, BULKHEAD_STORE_AS, )
};
#undef BULKHEAD_LOAD_AS
#undef BULKHEAD_STORE_AS
#undef BULKHEAD_MOVES
#undef BULKHEAD_MOVE
}  // namespace bulkhead_sdk

#define BULKHEAD_LOAD(name, type)                                         \
    BULKHEAD_DEVICE type __##name(const type* p) {                        \
        const auto raw = bulkhead_sdk::Bytes<(int)sizeof(type)>::name(p); \
        type value;                                                       \
        __builtin_memcpy(&value, &raw, sizeof value);                     \
        return value;                                                     \
    }
#define BULKHEAD_STORE(name, type)                                          \
    BULKHEAD_DEVICE void __##name(type* p, type value) {                    \
        decltype(bulkhead_sdk::Bytes<(int)sizeof(type)>::ldca(p)) raw = {}; \
        __builtin_memcpy(&raw, &value, sizeof value);                       \
        bulkhead_sdk::Bytes<(int)sizeof(type)>::name(p, raw);               \
    }
#define BULKHEAD_CACHED(type)  \
    BULKHEAD_LOAD(ldca, type)  \
    BULKHEAD_LOAD(ldcg, type)  \
    BULKHEAD_LOAD(ldcs, type)  \
    BULKHEAD_LOAD(ldlu, type)  \
    BULKHEAD_LOAD(ldcv, type)  \
    BULKHEAD_STORE(stwb, type) \
    BULKHEAD_STORE(stcg, type) \
    BULKHEAD_STORE(stcs, type) \
    BULKHEAD_STORE(stwt, type)
BULKHEAD_CACHED(char)
BULKHEAD_CACHED(signed char)
BULKHEAD_CACHED(unsigned char)
BULKHEAD_CACHED(short)
BULKHEAD_CACHED(unsigned short)
BULKHEAD_CACHED(int)
BULKHEAD_CACHED(unsigned int)
BULKHEAD_CACHED(long)
BULKHEAD_CACHED(unsigned long)
BULKHEAD_CACHED(long long)
BULKHEAD_CACHED(unsigned long long)
BULKHEAD_CACHED(float)
BULKHEAD_CACHED(double)
BULKHEAD_CACHED(char2)
BULKHEAD_CACHED(char4)
BULKHEAD_CACHED(uchar2)
BULKHEAD_CACHED(uchar4)
BULKHEAD_CACHED(short2)
BULKHEAD_CACHED(short4)
BULKHEAD_CACHED(ushort2)
BULKHEAD_CACHED(ushort4)
BULKHEAD_CACHED(int2)
BULKHEAD_CACHED(int4)
BULKHEAD_CACHED(uint2)
BULKHEAD_CACHED(uint4)
BULKHEAD_CACHED(longlong2)
BULKHEAD_CACHED(ulonglong2)
BULKHEAD_CACHED(float2)
BULKHEAD_CACHED(float4)
BULKHEAD_CACHED(double2)
#undef BULKHEAD_CACHED
#undef BULKHEAD_LOAD
#undef BULKHEAD_STORE
