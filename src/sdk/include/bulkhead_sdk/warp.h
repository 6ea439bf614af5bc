#pragma once

#include "device.h"

// Exchange and votes among the threads of a warp.

BULKHEAD_DEVICE unsigned int __activemask() {
    unsigned int mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}

// In assembly: clang's own functions for these ask for a PTX version that it does not set without NVIDIA's toolkit.
#define BULKHEAD_VOTE(name, mode)                                               \
    BULKHEAD_DEVICE int name(unsigned int mask, int predicate) {                \
        int result;                                                             \
        asm volatile("{ .reg .pred p, q; setp.ne.b32 p, %1, 0; vote.sync." mode \
                     ".pred q, p, %2;"                                          \
                     " selp.b32 %0, 1, 0, q; }"                                 \
                     : "=r"(result)                                             \
                     : "r"(predicate), "r"(mask));                              \
        return result;                                                          \
    }
BULKHEAD_VOTE(__all_sync, "all")
BULKHEAD_VOTE(__any_sync, "any")
BULKHEAD_VOTE(__uni_sync, "uni")
#undef BULKHEAD_VOTE
BULKHEAD_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate) {
    unsigned int result;
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(result)
                 : "r"(predicate), "r"(mask));
    return result;
}

// A segment of `width` lanes is the instruction's mask of lane bits that must agree, and its highest (for up: lowest)
// lane.
#define BULKHEAD_SHUFFLE(name, mode, Lane, clamp)                                                                     \
    BULKHEAD_DEVICE int name(unsigned int mask, int value, Lane lane, int width = 32) {                               \
        int result;                                                                                                   \
        asm volatile("shfl.sync." mode ".b32 %0, %1, %2, %3, %4;"                                                     \
                     : "=r"(result)                                                                                   \
                     : "r"(value), "r"((int)lane), "r"(((32 - width) << 8) | clamp), "r"(mask));                      \
        return result;                                                                                                \
    }                                                                                                                 \
    BULKHEAD_DEVICE unsigned int name(unsigned int mask, unsigned int value, Lane lane, int width = 32) {             \
        return (unsigned int)name(mask, (int)value, lane, width);                                                     \
    }                                                                                                                 \
    BULKHEAD_DEVICE float name(unsigned int mask, float value, Lane lane, int width = 32) {                           \
        return __nvvm_bitcast_i2f(name(mask, __nvvm_bitcast_f2i(value), lane, width));                                \
    }                                                                                                                 \
    BULKHEAD_DEVICE unsigned long long name(unsigned int mask, unsigned long long value, Lane lane, int width = 32) { \
        const unsigned int low = name(mask, (unsigned int)value, lane, width);                                        \
        const unsigned int high = name(mask, (unsigned int)(value >> 32), lane, width);                               \
        return (unsigned long long)high << 32 | low;                                                                  \
    }                                                                                                                 \
    BULKHEAD_DEVICE long long name(unsigned int mask, long long value, Lane lane, int width = 32) {                   \
        return (long long)name(mask, (unsigned long long)value, lane, width);                                         \
    }                                                                                                                 \
    BULKHEAD_DEVICE unsigned long name(unsigned int mask, unsigned long value, Lane lane, int width = 32) {           \
        return (unsigned long)name(mask, (unsigned long long)value, lane, width);                                     \
    }                                                                                                                 \
    BULKHEAD_DEVICE long name(unsigned int mask, long value, Lane lane, int width = 32) {                             \
        return (long)name(mask, (unsigned long long)value, lane, width);                                              \
    }                                                                                                                 \
    BULKHEAD_DEVICE double name(unsigned int mask, double value, Lane lane, int width = 32) {                         \
        return __nvvm_bitcast_ll2d(name(mask, __nvvm_bitcast_d2ll(value), lane, width));                              \
    }

BULKHEAD_SHUFFLE(__shfl_sync, "idx", int, 31)
BULKHEAD_SHUFFLE(__shfl_up_sync, "up", unsigned int, 0)
BULKHEAD_SHUFFLE(__shfl_down_sync, "down", unsigned int, 31)
BULKHEAD_SHUFFLE(__shfl_xor_sync, "bfly", int, 31)
#undef BULKHEAD_SHUFFLE

// Lanes with the same value. A device before sm_70 has no instruction for it: a round for each distinct value.
BULKHEAD_DEVICE unsigned int __match_any_sync(unsigned int mask, unsigned int value) {
    unsigned int same = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(same) : "r"(value), "r"(mask));
#else
    for (unsigned int left = mask; left != 0;) {
        const unsigned int first = __shfl_sync(mask, value, __builtin_ctz(left));
        const unsigned int equal = __ballot_sync(mask, value == first);
        if (value == first) same = equal;
        left &= ~equal;
    }
#endif
    return same;
}
BULKHEAD_DEVICE unsigned int __match_any_sync(unsigned int mask, unsigned long long value) {
    unsigned int same = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(same) : "l"(value), "r"(mask));
#else
    for (unsigned int left = mask; left != 0;) {
        const unsigned long long first = __shfl_sync(mask, value, __builtin_ctz(left));
        const unsigned int equal = __ballot_sync(mask, value == first);
        if (value == first) same = equal;
        left &= ~equal;
    }
#endif
    return same;
}

#define BULKHEAD_MATCH(type, raw, toRaw)                                           \
    BULKHEAD_DEVICE unsigned int __match_any_sync(unsigned int mask, type value) { \
        return __match_any_sync(mask, (raw)toRaw(value));                          \
    }
#define BULKHEAD_MATCH_ALL(type)                                                                   \
    BULKHEAD_DEVICE unsigned int __match_all_sync(unsigned int mask, type value, int* predicate) { \
        const bool all = __match_any_sync(mask, value) == mask;                                    \
        *predicate = all;                                                                          \
        return all ? mask : 0;                                                                     \
    }
BULKHEAD_MATCH(int, unsigned int, )
BULKHEAD_MATCH(long, unsigned long long, )
BULKHEAD_MATCH(unsigned long, unsigned long long, )
BULKHEAD_MATCH(long long, unsigned long long, )
BULKHEAD_MATCH(float, unsigned int, __nvvm_bitcast_f2i)
BULKHEAD_MATCH(double, unsigned long long, __nvvm_bitcast_d2ll)
BULKHEAD_MATCH_ALL(int)
BULKHEAD_MATCH_ALL(unsigned int)
BULKHEAD_MATCH_ALL(long)
BULKHEAD_MATCH_ALL(unsigned long)
BULKHEAD_MATCH_ALL(long long)
BULKHEAD_MATCH_ALL(unsigned long long)
BULKHEAD_MATCH_ALL(float)
BULKHEAD_MATCH_ALL(double)
#undef BULKHEAD_MATCH
#undef BULKHEAD_MATCH_ALL

// A mask may name any lanes, so a tree of halves will not do: each lane of the mask gives its value in turn.
#define BULKHEAD_REDUCE(name, type, combine)                                       \
    BULKHEAD_DEVICE type name(unsigned int mask, type value) {                     \
        type result = __shfl_sync(mask, value, __builtin_ctz(mask));               \
        for (unsigned int left = mask & (mask - 1); left != 0; left &= left - 1) { \
            const type other = __shfl_sync(mask, value, __builtin_ctz(left));      \
            result = combine;                                                      \
        }                                                                          \
        return result;                                                             \
    }
BULKHEAD_REDUCE(__reduce_add_sync, unsigned int, result + other)
BULKHEAD_REDUCE(__reduce_add_sync, int, result + other)
BULKHEAD_REDUCE(__reduce_min_sync, unsigned int, result < other ? result : other)
BULKHEAD_REDUCE(__reduce_min_sync, int, result < other ? result : other)
BULKHEAD_REDUCE(__reduce_max_sync, unsigned int, result > other ? result : other)
BULKHEAD_REDUCE(__reduce_max_sync, int, result > other ? result : other)
BULKHEAD_REDUCE(__reduce_and_sync, unsigned int, result& other)
BULKHEAD_REDUCE(__reduce_or_sync, unsigned int, result | other)
BULKHEAD_REDUCE(__reduce_xor_sync, unsigned int, result ^ other)
#undef BULKHEAD_REDUCE
