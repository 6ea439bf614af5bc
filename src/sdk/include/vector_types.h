#pragma once

#define __VECTOR_TYPES_H__

#include "host_defines.h"

// The short vectors of CUDA, with its alignment: two and four components align as one load of them does, up to 16
// bytes.

#define BULKHEAD_VECTORS(type, name, align2, align4) \
    struct name##1 {                                 \
        type x;                                      \
    };                                               \
    struct __align__(align2) name##2 {               \
        type x, y;                                   \
    };                                               \
    struct name##3 {                                 \
        type x, y, z;                                \
    };                                               \
    struct __align__(align4) name##4 {               \
        type x, y, z, w;                             \
    };

BULKHEAD_VECTORS(signed char, char, 2, 4)
BULKHEAD_VECTORS(unsigned char, uchar, 2, 4)
BULKHEAD_VECTORS(short, short, 4, 8)
BULKHEAD_VECTORS(unsigned short, ushort, 4, 8)
BULKHEAD_VECTORS(int, int, 8, 16)
BULKHEAD_VECTORS(unsigned int, uint, 8, 16)
BULKHEAD_VECTORS(long int, long, 16, 16)
BULKHEAD_VECTORS(unsigned long int, ulong, 16, 16)
BULKHEAD_VECTORS(long long int, longlong, 16, 16)
BULKHEAD_VECTORS(unsigned long long int, ulonglong, 16, 16)
BULKHEAD_VECTORS(float, float, 8, 16)
BULKHEAD_VECTORS(double, double, 16, 16)

#undef BULKHEAD_VECTORS

// CUDA 13's names for four components of 8 bytes, which say their alignment.
#define BULKHEAD_WIDE_VECTORS(type, name) \
    struct __align__(16) name##4_16a {    \
        type x, y, z, w;                  \
    };                                    \
    struct __align__(32) name##4_32a {    \
        type x, y, z, w;                  \
    };
BULKHEAD_WIDE_VECTORS(long int, long)
BULKHEAD_WIDE_VECTORS(unsigned long int, ulong)
BULKHEAD_WIDE_VECTORS(long long int, longlong)
BULKHEAD_WIDE_VECTORS(unsigned long long int, ulonglong)
BULKHEAD_WIDE_VECTORS(double, double)
#undef BULKHEAD_WIDE_VECTORS

#ifdef __cplusplus

struct dim3 {
    unsigned int x, y, z;
    constexpr __host__ __device__ dim3(unsigned int countX = 1, unsigned int countY = 1, unsigned int countZ = 1)
        : x(countX), y(countY), z(countZ) {}
    constexpr __host__ __device__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr __host__ __device__ operator uint3() const { return uint3{x, y, z}; }
};

#else

#define BULKHEAD_NAMED(name)        \
    typedef struct name##1 name##1; \
    typedef struct name##2 name##2; \
    typedef struct name##3 name##3; \
    typedef struct name##4 name##4;
BULKHEAD_NAMED(char)
BULKHEAD_NAMED(uchar)
BULKHEAD_NAMED(short)
BULKHEAD_NAMED(ushort)
BULKHEAD_NAMED(int)
BULKHEAD_NAMED(uint)
BULKHEAD_NAMED(long)
BULKHEAD_NAMED(ulong)
BULKHEAD_NAMED(longlong)
BULKHEAD_NAMED(ulonglong)
BULKHEAD_NAMED(float)
BULKHEAD_NAMED(double)
#undef BULKHEAD_NAMED
#define BULKHEAD_NAMED(name)                \
    typedef struct name##4_16a name##4_16a; \
    typedef struct name##4_32a name##4_32a;
BULKHEAD_NAMED(long)
BULKHEAD_NAMED(ulong)
BULKHEAD_NAMED(longlong)
BULKHEAD_NAMED(ulonglong)
BULKHEAD_NAMED(double)
#undef BULKHEAD_NAMED

typedef struct dim3 {
    unsigned int x, y, z;
} dim3;

#endif
