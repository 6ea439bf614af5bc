#pragma once

#include "device.h"

// Two halfwords or four bytes of a word at once: PTX's SIMD video instructions. A function's name ends with the number
// of lanes; before it, s or u says whether lanes are signed, and ss or us that results saturate.

#define BULKHEAD_SIMD(name, lanes, form)                                       \
    BULKHEAD_DEVICE unsigned int name##lanes(unsigned int a, unsigned int b) { \
        unsigned int result;                                                   \
        asm(form " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(0));  \
        return result;                                                         \
    }
#define BULKHEAD_SIMD_PLAIN(lanes)                                                                 \
    BULKHEAD_SIMD(__vadd, lanes, "vadd" #lanes ".u32.u32.u32")                                     \
    BULKHEAD_SIMD(__vaddss, lanes, "vadd" #lanes ".s32.s32.s32.sat")                               \
    BULKHEAD_SIMD(__vaddus, lanes, "vadd" #lanes ".u32.u32.u32.sat")                               \
    BULKHEAD_SIMD(__vsub, lanes, "vsub" #lanes ".u32.u32.u32")                                     \
    BULKHEAD_SIMD(__vsubss, lanes, "vsub" #lanes ".s32.s32.s32.sat")                               \
    BULKHEAD_SIMD(__vsubus, lanes, "vsub" #lanes ".u32.u32.u32.sat")                               \
    BULKHEAD_SIMD(__vavgs, lanes, "vavrg" #lanes ".s32.s32.s32")                                   \
    BULKHEAD_SIMD(__vavgu, lanes, "vavrg" #lanes ".u32.u32.u32")                                   \
    BULKHEAD_SIMD(__vabsdiffs, lanes, "vabsdiff" #lanes ".s32.s32.s32")                            \
    BULKHEAD_SIMD(__vabsdiffu, lanes, "vabsdiff" #lanes ".u32.u32.u32")                            \
    BULKHEAD_SIMD(__vmaxs, lanes, "vmax" #lanes ".s32.s32.s32")                                    \
    BULKHEAD_SIMD(__vmaxu, lanes, "vmax" #lanes ".u32.u32.u32")                                    \
    BULKHEAD_SIMD(__vmins, lanes, "vmin" #lanes ".s32.s32.s32")                                    \
    BULKHEAD_SIMD(__vminu, lanes, "vmin" #lanes ".u32.u32.u32")                                    \
    BULKHEAD_SIMD(__vsads, lanes, "vabsdiff" #lanes ".s32.s32.s32.add")                            \
    BULKHEAD_SIMD(__vsadu, lanes, "vabsdiff" #lanes ".u32.u32.u32.add")                            \
    BULKHEAD_DEVICE unsigned int __vneg##lanes(unsigned int a) {                                   \
        return __vsub##lanes(0, a);                                                                \
    }                                                                                              \
    BULKHEAD_DEVICE unsigned int __vnegss##lanes(unsigned int a) {                                 \
        return __vsubss##lanes(0, a);                                                              \
    }                                                                                              \
    BULKHEAD_DEVICE unsigned int __vabs##lanes(unsigned int a) {                                   \
        return __vabsdiffs##lanes(a, 0);                                                           \
    }                                                                                              \
    BULKHEAD_DEVICE unsigned int __vabsss##lanes(unsigned int a) {                                 \
        unsigned int result;                                                                       \
        asm("vabsdiff" #lanes ".s32.s32.s32.sat %0, %1, %2, %2;" : "=r"(result) : "r"(a), "r"(0)); \
        return result;                                                                             \
    }
BULKHEAD_SIMD_PLAIN(2)
BULKHEAD_SIMD_PLAIN(4)
#undef BULKHEAD_SIMD_PLAIN

// __vset: 1 in each lane where it holds; __vcmp: all bits of the lane.
#define BULKHEAD_SIMD_COMPARE(name, lanes, kind, comparison)                           \
    BULKHEAD_SIMD(__vset##name, lanes, "vset" #lanes "." kind "." kind "." comparison) \
    BULKHEAD_DEVICE unsigned int __vcmp##name##lanes(unsigned int a, unsigned int b) { \
        return __vset##name##lanes(a, b) * (lanes == 2 ? 0xffffu : 0xffu);             \
    }
#define BULKHEAD_SIMD_COMPARISONS(lanes)           \
    BULKHEAD_SIMD_COMPARE(eq, lanes, "u32", "eq")  \
    BULKHEAD_SIMD_COMPARE(ne, lanes, "u32", "ne")  \
    BULKHEAD_SIMD_COMPARE(ges, lanes, "s32", "ge") \
    BULKHEAD_SIMD_COMPARE(geu, lanes, "u32", "ge") \
    BULKHEAD_SIMD_COMPARE(gts, lanes, "s32", "gt") \
    BULKHEAD_SIMD_COMPARE(gtu, lanes, "u32", "gt") \
    BULKHEAD_SIMD_COMPARE(les, lanes, "s32", "le") \
    BULKHEAD_SIMD_COMPARE(leu, lanes, "u32", "le") \
    BULKHEAD_SIMD_COMPARE(lts, lanes, "s32", "lt") \
    BULKHEAD_SIMD_COMPARE(ltu, lanes, "u32", "lt")
BULKHEAD_SIMD_COMPARISONS(2)
BULKHEAD_SIMD_COMPARISONS(4)
#undef BULKHEAD_SIMD_COMPARISONS
#undef BULKHEAD_SIMD_COMPARE
#undef BULKHEAD_SIMD

// Averages rounded down: what the operands share, and half of what they do not, kept out of the neighbouring lane.
BULKHEAD_DEVICE unsigned int __vhaddu2(unsigned int a, unsigned int b) {
    return (a & b) + (((a ^ b) & 0xfffefffeu) >> 1);
}
BULKHEAD_DEVICE unsigned int __vhaddu4(unsigned int a, unsigned int b) {
    return (a & b) + (((a ^ b) & 0xfefefefeu) >> 1);
}

// Minima and maxima in chains, for dynamic programming; on both sides.
namespace bulkhead_sdk {
template <class T_>
struct Least {
    static __host__ __device__ __forceinline__ T_ of(T_ a, T_ b) { return b < a ? b : a; }
    static __host__ __device__ __forceinline__ bool takesFirst(T_ a, T_ b) { return a <= b; }
};
template <class T_>
struct Most {
    static __host__ __device__ __forceinline__ T_ of(T_ a, T_ b) { return a < b ? b : a; }
    static __host__ __device__ __forceinline__ bool takesFirst(T_ a, T_ b) { return a >= b; }
};
template <class T_>
__host__ __device__ __forceinline__ T_ wrappedSum(T_ a, T_ b) {
    return (T_)((unsigned int)a + (unsigned int)b);
}
template <class T_>
__host__ __device__ __forceinline__ T_ low(unsigned int word) {
    return (T_)(word & 0xffffu);
}
template <class T_>
__host__ __device__ __forceinline__ T_ high(unsigned int word) {
    return (T_)(word >> 16);
}
template <class T_>
__host__ __device__ __forceinline__ unsigned int joined(T_ low, T_ high) {
    return (unsigned int)(unsigned short)low | (unsigned int)(unsigned short)high << 16;
}
}  // namespace bulkhead_sdk

#define BULKHEAD_CHAINS(which, Which, suffix, Word, T_)                            \
    BULKHEAD_BOTH Word __vi##which##3_##suffix(Word a, Word b, Word c) {           \
        return bulkhead_sdk::Which<T_>::of(bulkhead_sdk::Which<T_>::of(a, b), c);  \
    }                                                                              \
    BULKHEAD_BOTH Word __viadd##which##_##suffix(Word a, Word b, Word c) {         \
        return bulkhead_sdk::Which<T_>::of(bulkhead_sdk::wrappedSum<T_>(a, b), c); \
    }                                                                              \
    BULKHEAD_BOTH Word __vib##which##_##suffix(Word a, Word b, bool* first) {      \
        *first = bulkhead_sdk::Which<T_>::takesFirst(a, b);                        \
        return bulkhead_sdk::Which<T_>::of(a, b);                                  \
    }
#define BULKHEAD_CHAINS_OF_PAIRS(which, Which, suffix, T_)                                                 \
    BULKHEAD_BOTH unsigned int __vi##which##3_##suffix(unsigned int a, unsigned int b, unsigned int c) {   \
        using namespace bulkhead_sdk;                                                                      \
        return joined<T_>(Which<T_>::of(Which<T_>::of(low<T_>(a), low<T_>(b)), low<T_>(c)),                \
                          Which<T_>::of(Which<T_>::of(high<T_>(a), high<T_>(b)), high<T_>(c)));            \
    }                                                                                                      \
    BULKHEAD_BOTH unsigned int __viadd##which##_##suffix(unsigned int a, unsigned int b, unsigned int c) { \
        using namespace bulkhead_sdk;                                                                      \
        return joined<T_>(Which<T_>::of(wrappedSum<T_>(low<T_>(a), low<T_>(b)), low<T_>(c)),               \
                          Which<T_>::of(wrappedSum<T_>(high<T_>(a), high<T_>(b)), high<T_>(c)));           \
    }                                                                                                      \
    BULKHEAD_BOTH unsigned int __vib##which##_##suffix(unsigned int a, unsigned int b, bool* firstHigh,    \
                                                       bool* firstLow) {                                   \
        using namespace bulkhead_sdk;                                                                      \
        *firstHigh = Which<T_>::takesFirst(high<T_>(a), high<T_>(b));                                      \
        *firstLow = Which<T_>::takesFirst(low<T_>(a), low<T_>(b));                                         \
        return joined<T_>(Which<T_>::of(low<T_>(a), low<T_>(b)), Which<T_>::of(high<T_>(a), high<T_>(b))); \
    }
// A result that is negative becomes 0.
#define BULKHEAD_CHAINS_ABOVE_ZERO(which)                                                                    \
    BULKHEAD_BOTH int __vi##which##_s32_relu(int a, int b) {                                                 \
        return __vimax3_s32(__vi##which##3_s32(a, a, b), 0, 0);                                              \
    }                                                                                                        \
    BULKHEAD_BOTH int __vi##which##3_s32_relu(int a, int b, int c) {                                         \
        return __vimax3_s32(__vi##which##3_s32(a, b, c), 0, 0);                                              \
    }                                                                                                        \
    BULKHEAD_BOTH int __viadd##which##_s32_relu(int a, int b, int c) {                                       \
        return __vimax3_s32(__viadd##which##_s32(a, b, c), 0, 0);                                            \
    }                                                                                                        \
    BULKHEAD_BOTH unsigned int __vi##which##_s16x2_relu(unsigned int a, unsigned int b) {                    \
        return __vimax3_s16x2(__vi##which##3_s16x2(a, a, b), 0, 0);                                          \
    }                                                                                                        \
    BULKHEAD_BOTH unsigned int __vi##which##3_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) {   \
        return __vimax3_s16x2(__vi##which##3_s16x2(a, b, c), 0, 0);                                          \
    }                                                                                                        \
    BULKHEAD_BOTH unsigned int __viadd##which##_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) { \
        return __vimax3_s16x2(__viadd##which##_s16x2(a, b, c), 0, 0);                                        \
    }
BULKHEAD_CHAINS(max, Most, s32, int, int)
BULKHEAD_CHAINS(max, Most, u32, unsigned int, unsigned int)
BULKHEAD_CHAINS(min, Least, s32, int, int)
BULKHEAD_CHAINS(min, Least, u32, unsigned int, unsigned int)
BULKHEAD_CHAINS_OF_PAIRS(max, Most, s16x2, short)
BULKHEAD_CHAINS_OF_PAIRS(max, Most, u16x2, unsigned short)
BULKHEAD_CHAINS_OF_PAIRS(min, Least, s16x2, short)
BULKHEAD_CHAINS_OF_PAIRS(min, Least, u16x2, unsigned short)
BULKHEAD_CHAINS_ABOVE_ZERO(max)
BULKHEAD_CHAINS_ABOVE_ZERO(min)
#undef BULKHEAD_CHAINS
#undef BULKHEAD_CHAINS_OF_PAIRS
#undef BULKHEAD_CHAINS_ABOVE_ZERO
