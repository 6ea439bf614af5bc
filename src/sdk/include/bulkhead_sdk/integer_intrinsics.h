#pragma once

#include "../vector_types.h"
#include "device.h"

BULKHEAD_DEVICE int __mul24(int a, int b) {
    return __nvvm_mul24_i(a, b);
}
BULKHEAD_DEVICE unsigned int __umul24(unsigned int a, unsigned int b) {
    return __nvvm_mul24_ui(a, b);
}
BULKHEAD_DEVICE int __mulhi(int a, int b) {
    return __nvvm_mulhi_i(a, b);
}
BULKHEAD_DEVICE unsigned int __umulhi(unsigned int a, unsigned int b) {
    return __nvvm_mulhi_ui(a, b);
}
BULKHEAD_DEVICE long long __mul64hi(long long a, long long b) {
    return __nvvm_mulhi_ll(a, b);
}
BULKHEAD_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return __nvvm_mulhi_ull(a, b);
}

BULKHEAD_DEVICE int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz((unsigned int)x);
}
BULKHEAD_DEVICE int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
BULKHEAD_DEVICE int __popc(unsigned int x) {
    return __builtin_popcount(x);
}
BULKHEAD_DEVICE int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
BULKHEAD_DEVICE int __ffs(int x) {
    return __builtin_ffs(x);
}
BULKHEAD_DEVICE int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
BULKHEAD_DEVICE unsigned int __brev(unsigned int x) {
    return __builtin_bitreverse32(x);
}
BULKHEAD_DEVICE unsigned long long __brevll(unsigned long long x) {
    return __builtin_bitreverse64(x);
}
BULKHEAD_DEVICE unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
    return __nvvm_prmt(a, b, selector);
}
BULKHEAD_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
    unsigned int position;
    asm("fns.b32 %0, %1, %2, %3;" : "=r"(position) : "r"(mask), "r"(base), "r"(offset));
    return position;
}

BULKHEAD_DEVICE unsigned int __sad(int a, int b, unsigned int c) {
    return __nvvm_sad_i(a, b, (int)c);
}
BULKHEAD_DEVICE unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) {
    return __nvvm_sad_ui(a, b, c);
}

// Averages that cannot overflow: what the operands share, and half of what they do not.
BULKHEAD_DEVICE int __hadd(int a, int b) {
    return (a & b) + ((a ^ b) >> 1);
}
BULKHEAD_DEVICE int __rhadd(int a, int b) {
    return (a | b) - ((a ^ b) >> 1);
}
BULKHEAD_DEVICE unsigned int __uhadd(unsigned int a, unsigned int b) {
    return (a & b) + ((a ^ b) >> 1);
}
BULKHEAD_DEVICE unsigned int __urhadd(unsigned int a, unsigned int b) {
    return (a | b) - ((a ^ b) >> 1);
}

#define BULKHEAD_FUNNEL(name, form)                                                               \
    BULKHEAD_DEVICE unsigned int name(unsigned int low, unsigned int high, unsigned int shift) {  \
        unsigned int result;                                                                      \
        asm("shf." form ".b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(shift)); \
        return result;                                                                            \
    }
BULKHEAD_FUNNEL(__funnelshift_l, "l.wrap")
BULKHEAD_FUNNEL(__funnelshift_lc, "l.clamp")
BULKHEAD_FUNNEL(__funnelshift_r, "r.wrap")
BULKHEAD_FUNNEL(__funnelshift_rc, "r.clamp")
#undef BULKHEAD_FUNNEL

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 610
#define BULKHEAD_DOT(name, form, type)                                          \
    BULKHEAD_DEVICE type name(type a, type b, type sum) {                       \
        type result;                                                            \
        asm(form " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum)); \
        return result;                                                          \
    }
BULKHEAD_DOT(__dp4a, "dp4a.s32.s32", int)
BULKHEAD_DOT(__dp4a, "dp4a.u32.u32", unsigned int)
BULKHEAD_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int)
BULKHEAD_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int)
BULKHEAD_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int)
BULKHEAD_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int)
#undef BULKHEAD_DOT

// The same with the bytes and halfwords as vectors.
#define BULKHEAD_DOT(name, word, A_, B_)                                            \
    BULKHEAD_DEVICE word name(A_ a, B_ b, word sum) {                               \
        return name(__builtin_bit_cast(word, a), __builtin_bit_cast(word, b), sum); \
    }
BULKHEAD_DOT(__dp4a, int, char4, char4)
BULKHEAD_DOT(__dp4a, unsigned int, uchar4, uchar4)
BULKHEAD_DOT(__dp2a_lo, int, short2, char4)
BULKHEAD_DOT(__dp2a_lo, unsigned int, ushort2, uchar4)
BULKHEAD_DOT(__dp2a_hi, int, short2, char4)
BULKHEAD_DOT(__dp2a_hi, unsigned int, ushort2, uchar4)
#undef BULKHEAD_DOT
#endif

BULKHEAD_BOTH unsigned short __nv_bswap16(unsigned short x) {
    return __builtin_bswap16(x);
}
BULKHEAD_BOTH unsigned int __nv_bswap32(unsigned int x) {
    return __builtin_bswap32(x);
}
BULKHEAD_BOTH unsigned long long __nv_bswap64(unsigned long long x) {
    return __builtin_bswap64(x);
}
