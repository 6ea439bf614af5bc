#pragma once

#include "../vector_types.h"
#include "device.h"

// Read-modify-write of one place in memory, among the threads of the device; the suffix _block or _system narrows or
// widens that. Each returns the old value.

#define BULKHEAD_ATOMIC(name, operation, type, builtin, raw)                                 \
    BULKHEAD_DEVICE type name(type* address, type value) {                                   \
        return (type)__nvvm_atom_##operation##_gen_##builtin((raw*)address, (raw)value);     \
    }                                                                                        \
    BULKHEAD_DEVICE type name##_block(type* address, type value) {                           \
        return (type)__nvvm_atom_cta_##operation##_gen_##builtin((raw*)address, (raw)value); \
    }                                                                                        \
    BULKHEAD_DEVICE type name##_system(type* address, type value) {                          \
        return (type)__nvvm_atom_sys_##operation##_gen_##builtin((raw*)address, (raw)value); \
    }

BULKHEAD_ATOMIC(atomicAdd, add, int, i, int)
BULKHEAD_ATOMIC(atomicAdd, add, unsigned int, i, int)
BULKHEAD_ATOMIC(atomicAdd, add, unsigned long long, ll, long long)
BULKHEAD_ATOMIC(atomicAdd, add, float, f, float)
BULKHEAD_ATOMIC(atomicAdd, add, double, d, double)

BULKHEAD_ATOMIC(atomicExch, xchg, int, i, int)
BULKHEAD_ATOMIC(atomicExch, xchg, unsigned int, i, int)
BULKHEAD_ATOMIC(atomicExch, xchg, unsigned long long, ll, long long)

BULKHEAD_ATOMIC(atomicMin, min, int, i, int)
BULKHEAD_ATOMIC(atomicMin, min, unsigned int, ui, unsigned int)
BULKHEAD_ATOMIC(atomicMin, min, long long, ll, long long)
BULKHEAD_ATOMIC(atomicMin, min, unsigned long long, ull, unsigned long long)
BULKHEAD_ATOMIC(atomicMax, max, int, i, int)
BULKHEAD_ATOMIC(atomicMax, max, unsigned int, ui, unsigned int)
BULKHEAD_ATOMIC(atomicMax, max, long long, ll, long long)
BULKHEAD_ATOMIC(atomicMax, max, unsigned long long, ull, unsigned long long)

BULKHEAD_ATOMIC(atomicAnd, and, int, i, int)
BULKHEAD_ATOMIC(atomicAnd, and, unsigned int, i, int)
BULKHEAD_ATOMIC(atomicAnd, and, unsigned long long, ll, long long)
BULKHEAD_ATOMIC(atomicOr, or, int, i, int)
BULKHEAD_ATOMIC(atomicOr, or, unsigned int, i, int)
BULKHEAD_ATOMIC(atomicOr, or, unsigned long long, ll, long long)
BULKHEAD_ATOMIC(atomicXor, xor, int, i, int)
BULKHEAD_ATOMIC(atomicXor, xor, unsigned int, i, int)
BULKHEAD_ATOMIC(atomicXor, xor, unsigned long long, ll, long long)

BULKHEAD_ATOMIC(atomicInc, inc, unsigned int, ui, unsigned int)
BULKHEAD_ATOMIC(atomicDec, dec, unsigned int, ui, unsigned int)

#undef BULKHEAD_ATOMIC

#define BULKHEAD_ATOMIC_SUFFIXES(X_) X_() X_(_block) X_(_system)

#define BULKHEAD_ATOMIC_SUB(suffix)                                                              \
    BULKHEAD_DEVICE int atomicSub##suffix(int* address, int value) {                             \
        return (int)atomicAdd##suffix((unsigned int*)address, 0u - (unsigned int)value);         \
    }                                                                                            \
    BULKHEAD_DEVICE unsigned int atomicSub##suffix(unsigned int* address, unsigned int value) {  \
        return atomicAdd##suffix(address, 0u - value);                                           \
    }                                                                                            \
    BULKHEAD_DEVICE float atomicExch##suffix(float* address, float value) {                      \
        return __nvvm_bitcast_i2f(atomicExch##suffix((int*)address, __nvvm_bitcast_f2i(value))); \
    }
BULKHEAD_ATOMIC_SUFFIXES(BULKHEAD_ATOMIC_SUB)
#undef BULKHEAD_ATOMIC_SUB
#undef BULKHEAD_ATOMIC_SUFFIXES

#define BULKHEAD_ATOMIC_CAS(type, builtin, raw)                                                  \
    BULKHEAD_DEVICE type atomicCAS(type* address, type compare, type value) {                    \
        return (type)__nvvm_atom_cas_gen_##builtin((raw*)address, (raw)compare, (raw)value);     \
    }                                                                                            \
    BULKHEAD_DEVICE type atomicCAS_block(type* address, type compare, type value) {              \
        return (type)__nvvm_atom_cta_cas_gen_##builtin((raw*)address, (raw)compare, (raw)value); \
    }                                                                                            \
    BULKHEAD_DEVICE type atomicCAS_system(type* address, type compare, type value) {             \
        return (type)__nvvm_atom_sys_cas_gen_##builtin((raw*)address, (raw)compare, (raw)value); \
    }
BULKHEAD_ATOMIC_CAS(int, i, int)
BULKHEAD_ATOMIC_CAS(unsigned int, i, int)
BULKHEAD_ATOMIC_CAS(long long, ll, long long)
BULKHEAD_ATOMIC_CAS(unsigned long long, ll, long long)
#undef BULKHEAD_ATOMIC_CAS

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
BULKHEAD_DEVICE unsigned short atomicCAS(unsigned short* address, unsigned short compare, unsigned short value) {
    unsigned short old;
    asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "l"(address), "h"(compare), "h"(value) : "memory");
    return old;
}
#endif

// Of vectors each component is atomic, the whole is not: CUDA promises no more.
BULKHEAD_DEVICE float2 atomicAdd(float2* address, float2 value) {
    return float2{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
BULKHEAD_DEVICE float4 atomicAdd(float4* address, float4 value) {
    return float4{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y), atomicAdd(&address->z, value.z),
                  atomicAdd(&address->w, value.w)};
}
