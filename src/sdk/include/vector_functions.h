#pragma once

#define __VECTOR_FUNCTIONS_H__

#include "vector_types.h"

#define BULKHEAD_MAKE static __inline__ __host__ __device__
#define BULKHEAD_MAKE_VECTORS(type, name)                                  \
    BULKHEAD_MAKE name##1 make_##name##1(type x) {                         \
        return name##1 {x};                                                \
    }                                                                      \
    BULKHEAD_MAKE name##2 make_##name##2(type x, type y) {                 \
        return name##2 {x, y};                                             \
    }                                                                      \
    BULKHEAD_MAKE name##3 make_##name##3(type x, type y, type z) {         \
        return name##3 {x, y, z};                                          \
    }                                                                      \
    BULKHEAD_MAKE name##4 make_##name##4(type x, type y, type z, type w) { \
        return name##4 {x, y, z, w};                                       \
    }

BULKHEAD_MAKE_VECTORS(signed char, char)
BULKHEAD_MAKE_VECTORS(unsigned char, uchar)
BULKHEAD_MAKE_VECTORS(short, short)
BULKHEAD_MAKE_VECTORS(unsigned short, ushort)
BULKHEAD_MAKE_VECTORS(int, int)
BULKHEAD_MAKE_VECTORS(unsigned int, uint)
BULKHEAD_MAKE_VECTORS(long int, long)
BULKHEAD_MAKE_VECTORS(unsigned long int, ulong)
BULKHEAD_MAKE_VECTORS(long long int, longlong)
BULKHEAD_MAKE_VECTORS(unsigned long long int, ulonglong)
BULKHEAD_MAKE_VECTORS(float, float)
BULKHEAD_MAKE_VECTORS(double, double)

#undef BULKHEAD_MAKE_VECTORS

#define BULKHEAD_MAKE_WIDE_VECTORS(type, name)                                     \
    BULKHEAD_MAKE name##4_16a make_##name##4_16a(type x, type y, type z, type w) { \
        return name##4_16a {x, y, z, w};                                           \
    }                                                                              \
    BULKHEAD_MAKE name##4_32a make_##name##4_32a(type x, type y, type z, type w) { \
        return name##4_32a {x, y, z, w};                                           \
    }
BULKHEAD_MAKE_WIDE_VECTORS(long int, long)
BULKHEAD_MAKE_WIDE_VECTORS(unsigned long int, ulong)
BULKHEAD_MAKE_WIDE_VECTORS(long long int, longlong)
BULKHEAD_MAKE_WIDE_VECTORS(unsigned long long int, ulonglong)
BULKHEAD_MAKE_WIDE_VECTORS(double, double)
#undef BULKHEAD_MAKE_WIDE_VECTORS
#undef BULKHEAD_MAKE
