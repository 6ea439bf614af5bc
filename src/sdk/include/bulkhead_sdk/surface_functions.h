#pragma once

#include "../surface_types.h"
#include "../vector_types.h"
#include "device.h"

// surf1Dread, surf2Dwrite and so on, for surface objects. x counts bytes. What moves are the bytes of a texel, so a
// texel type is known by its size alone.

namespace bulkhead_sdk {

/// Bits of so many bytes, as registers hold them.
template <unsigned bytes>
struct SurfaceBits;
template <>
struct SurfaceBits<1> {
    typedef unsigned short Raw;
};
template <>
struct SurfaceBits<2> {
    typedef unsigned short Raw;
};
template <>
struct SurfaceBits<4> {
    typedef unsigned int Raw;
};
template <>
struct SurfaceBits<8> {
    typedef unsigned long long Raw;
};
template <>
struct SurfaceBits<16> {
    typedef ulonglong2 Raw;
};
template <unsigned n>
struct SurfaceBytes {};

}  // namespace bulkhead_sdk

#define BULKHEAD_UNPACK(...) __VA_ARGS__
#define BULKHEAD_SURFACE_SIZE(name, geometry, outside, bytes, type, constraint, place1, parameters, ...)              \
    BULKHEAD_DEVICE void name##_##outside(SurfaceBytes<bytes>, SurfaceBits<bytes>::Raw& r,                            \
                                          cudaSurfaceObject_t surface, BULKHEAD_UNPACK parameters) {                  \
        asm volatile("suld.b." geometry "." type "." #outside " %0, [%1, " place1 "];"                                \
                     : "=" constraint(r)                                                                              \
                     : "l"(surface), __VA_ARGS__                                                                      \
                     : "memory");                                                                                     \
    }                                                                                                                 \
    BULKHEAD_DEVICE void name##Store_##outside(SurfaceBytes<bytes>, SurfaceBits<bytes>::Raw r,                        \
                                               cudaSurfaceObject_t surface, BULKHEAD_UNPACK parameters) {             \
        asm volatile("sust.b." geometry "." type "." #outside " [%1, " place1 "], %0;" ::constraint(r), "l"(surface), \
                     __VA_ARGS__                                                                                      \
                     : "memory");                                                                                     \
    }
#define BULKHEAD_SURFACE_OUTSIDE(name, geometry, outside, place1, place2, parameters, ...)                       \
    BULKHEAD_SURFACE_SIZE(name, geometry, outside, 1, "b8", "h", place1, parameters, __VA_ARGS__)                \
    BULKHEAD_SURFACE_SIZE(name, geometry, outside, 2, "b16", "h", place1, parameters, __VA_ARGS__)               \
    BULKHEAD_SURFACE_SIZE(name, geometry, outside, 4, "b32", "r", place1, parameters, __VA_ARGS__)               \
    BULKHEAD_SURFACE_SIZE(name, geometry, outside, 8, "b64", "l", place1, parameters, __VA_ARGS__)               \
    BULKHEAD_DEVICE void name##_##outside(SurfaceBytes<16>, ulonglong2& r, cudaSurfaceObject_t surface,          \
                                          BULKHEAD_UNPACK parameters) {                                          \
        asm volatile("suld.b." geometry ".v2.b64." #outside " {%0, %1}, [%2, " place2 "];"                       \
                     : "=l"(r.x), "=l"(r.y)                                                                      \
                     : "l"(surface), __VA_ARGS__                                                                 \
                     : "memory");                                                                                \
    }                                                                                                            \
    BULKHEAD_DEVICE void name##Store_##outside(SurfaceBytes<16>, ulonglong2 r, cudaSurfaceObject_t surface,      \
                                               BULKHEAD_UNPACK parameters) {                                     \
        asm volatile("sust.b." geometry ".v2.b64." #outside " [%2, " place2 "], {%0, %1};" ::"l"(r.x), "l"(r.y), \
                     "l"(surface), __VA_ARGS__                                                                   \
                     : "memory");                                                                                \
    }

// BULKHEAD_SURFACE(read, write, geometry, place, the same one operand further, (parameters), (arguments), inputs...)
#define BULKHEAD_SURFACE(read, write, geometry, place1, place2, parameters, arguments, ...)       \
    namespace bulkhead_sdk {                                                                      \
    BULKHEAD_SURFACE_OUTSIDE(read, geometry, trap, place1, place2, parameters, __VA_ARGS__)       \
    BULKHEAD_SURFACE_OUTSIDE(read, geometry, clamp, place1, place2, parameters, __VA_ARGS__)      \
    BULKHEAD_SURFACE_OUTSIDE(read, geometry, zero, place1, place2, parameters, __VA_ARGS__)       \
    }                                                                                             \
    template <class T_>                                                                           \
    BULKHEAD_DEVICE T_ read(cudaSurfaceObject_t surface, BULKHEAD_UNPACK parameters,              \
                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                \
        typename bulkhead_sdk::SurfaceBits<sizeof(T_)>::Raw r;                                    \
        const bulkhead_sdk::SurfaceBytes<sizeof(T_)> size;                                        \
        if (mode == cudaBoundaryModeTrap)                                                         \
            bulkhead_sdk::read##_trap(size, r, surface, BULKHEAD_UNPACK arguments);               \
        else if (mode == cudaBoundaryModeClamp)                                                   \
            bulkhead_sdk::read##_clamp(size, r, surface, BULKHEAD_UNPACK arguments);              \
        else                                                                                      \
            bulkhead_sdk::read##_zero(size, r, surface, BULKHEAD_UNPACK arguments);               \
        T_ value;                                                                                 \
        __builtin_memcpy(&value, &r, sizeof value);                                               \
        return value;                                                                             \
    }                                                                                             \
    template <class T_>                                                                           \
    BULKHEAD_DEVICE void read(T_* to, cudaSurfaceObject_t surface, BULKHEAD_UNPACK parameters,    \
                              cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {              \
        *to = read<T_>(surface, BULKHEAD_UNPACK arguments, mode);                                 \
    }                                                                                             \
    template <class T_>                                                                           \
    BULKHEAD_DEVICE void write(T_ value, cudaSurfaceObject_t surface, BULKHEAD_UNPACK parameters, \
                               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {             \
        typename bulkhead_sdk::SurfaceBits<sizeof(T_)>::Raw r = {};                               \
        const bulkhead_sdk::SurfaceBytes<sizeof(T_)> size;                                        \
        __builtin_memcpy(&r, &value, sizeof value);                                               \
        if (mode == cudaBoundaryModeTrap)                                                         \
            bulkhead_sdk::read##Store_trap(size, r, surface, BULKHEAD_UNPACK arguments);          \
        else if (mode == cudaBoundaryModeClamp)                                                   \
            bulkhead_sdk::read##Store_clamp(size, r, surface, BULKHEAD_UNPACK arguments);         \
        else                                                                                      \
            bulkhead_sdk::read##Store_zero(size, r, surface, BULKHEAD_UNPACK arguments);          \
    }

BULKHEAD_SURFACE(surf1Dread, surf1Dwrite, "1d", "{%2}", "{%3}", (int x), (x), "r"(x))
BULKHEAD_SURFACE(surf2Dread, surf2Dwrite, "2d", "{%2, %3}", "{%3, %4}", (int x, int y), (x, y), "r"(x), "r"(y))
BULKHEAD_SURFACE(surf3Dread, surf3Dwrite, "3d", "{%2, %3, %4, %4}", "{%3, %4, %5, %5}", (int x, int y, int z),
                 (x, y, z), "r"(x), "r"(y), "r"(z))
BULKHEAD_SURFACE(surf1DLayeredread, surf1DLayeredwrite, "a1d", "{%2, %3}", "{%3, %4}", (int x, int layer), (x, layer),
                 "r"(layer), "r"(x))
BULKHEAD_SURFACE(surf2DLayeredread, surf2DLayeredwrite, "a2d", "{%2, %3, %4, %4}", "{%3, %4, %5, %5}",
                 (int x, int y, int layer), (x, y, layer), "r"(layer), "r"(x), "r"(y))
// A cube is an array of six layers for each of its own.
BULKHEAD_SURFACE(surfCubemapread, surfCubemapwrite, "a2d", "{%2, %3, %4, %4}", "{%3, %4, %5, %5}",
                 (int x, int y, int face), (x, y, face), "r"(face), "r"(x), "r"(y))
BULKHEAD_SURFACE(surfCubemapLayeredread, surfCubemapLayeredwrite, "a2d", "{%2, %3, %4, %4}", "{%3, %4, %5, %5}",
                 (int x, int y, int layerFace), (x, y, layerFace), "r"(layerFace), "r"(x), "r"(y))

#undef BULKHEAD_SURFACE
#undef BULKHEAD_SURFACE_OUTSIDE
#undef BULKHEAD_SURFACE_SIZE
#undef BULKHEAD_UNPACK
