#pragma once

#include "../texture_types.h"
#include "../vector_types.h"
#include "device.h"

// tex1D, tex2D and so on, for texture objects: each fetch is one PTX instruction that gives four channels, of which a
// texel type takes what it has.

namespace bulkhead_sdk {

/// How a texel type is fetched, and made of what was fetched.
template <class T_>
struct Texel;

#define BULKHEAD_TEXEL(type, raw, ...)                                    \
    template <>                                                           \
    struct Texel<type> {                                                  \
        typedef raw Raw;                                                  \
        static __device__ type from(const raw& r) { return __VA_ARGS__; } \
    };
#define BULKHEAD_TEXELS(scalar, name, raw)                           \
    BULKHEAD_TEXEL(scalar, raw, (scalar)r.x)                         \
    BULKHEAD_TEXEL(name##1, raw, name##1 {(scalar)r.x})              \
    BULKHEAD_TEXEL(name##2, raw, name##2 {(scalar)r.x, (scalar)r.y}) \
    BULKHEAD_TEXEL(name##4, raw, name##4 {(scalar)r.x, (scalar)r.y, (scalar)r.z, (scalar)r.w})
BULKHEAD_TEXEL(char, int4, (char)r.x)
BULKHEAD_TEXELS(signed char, char, int4)
BULKHEAD_TEXELS(unsigned char, uchar, uint4)
BULKHEAD_TEXELS(short, short, int4)
BULKHEAD_TEXELS(unsigned short, ushort, uint4)
BULKHEAD_TEXELS(int, int, int4)
BULKHEAD_TEXELS(unsigned int, uint, uint4)
BULKHEAD_TEXELS(float, float, float4)
#undef BULKHEAD_TEXELS
#undef BULKHEAD_TEXEL

}  // namespace bulkhead_sdk

// BULKHEAD_TEXTURE(name, opcode, coordinates, place, (parameters), (arguments), inputs...): the function, and the one
// that writes to a pointer. In `place`, %4 is the texture and %5 the first of the inputs.
#define BULKHEAD_FETCH(name, opcode, coordinates, place, raw, type, constraint, parameters, ...)          \
    BULKHEAD_DEVICE void name(raw& r, cudaTextureObject_t texture, BULKHEAD_UNPACK parameters) {          \
        asm volatile(opcode ".v4." type "." coordinates " {%0, %1, %2, %3}, [%4, " place ";"              \
                     : "=" constraint(r.x), "=" constraint(r.y), "=" constraint(r.z), "=" constraint(r.w) \
                     : "l"(texture), __VA_ARGS__);                                                        \
    }
#define BULKHEAD_UNPACK(...) __VA_ARGS__
#define BULKHEAD_TEXTURE(name, opcode, coordinates, place, parameters, arguments, ...)            \
    namespace bulkhead_sdk {                                                                      \
    BULKHEAD_FETCH(name, opcode, coordinates, place, float4, "f32", "f", parameters, __VA_ARGS__) \
    BULKHEAD_FETCH(name, opcode, coordinates, place, int4, "s32", "r", parameters, __VA_ARGS__)   \
    BULKHEAD_FETCH(name, opcode, coordinates, place, uint4, "u32", "r", parameters, __VA_ARGS__)  \
    }                                                                                             \
    template <class T_>                                                                           \
    BULKHEAD_DEVICE T_ name(cudaTextureObject_t texture, BULKHEAD_UNPACK parameters) {            \
        typename bulkhead_sdk::Texel<T_>::Raw r;                                                  \
        bulkhead_sdk::name(r, texture, BULKHEAD_UNPACK arguments);                                \
        return bulkhead_sdk::Texel<T_>::from(r);                                                  \
    }                                                                                             \
    template <class T_>                                                                           \
    BULKHEAD_DEVICE void name(T_* to, cudaTextureObject_t texture, BULKHEAD_UNPACK parameters) {  \
        *to = name<T_>(texture, BULKHEAD_UNPACK arguments);                                       \
    }

BULKHEAD_TEXTURE(tex1Dfetch, "tex.1d", "s32", "{%5}]", (int x), (x), "r"(x))
BULKHEAD_TEXTURE(tex1D, "tex.1d", "f32", "{%5}]", (float x), (x), "f"(x))
BULKHEAD_TEXTURE(tex2D, "tex.2d", "f32", "{%5, %6}]", (float x, float y), (x, y), "f"(x), "f"(y))
BULKHEAD_TEXTURE(tex3D, "tex.3d", "f32", "{%5, %6, %7, %7}]", (float x, float y, float z), (x, y, z), "f"(x), "f"(y),
                 "f"(z))
BULKHEAD_TEXTURE(tex1DLayered, "tex.a1d", "f32", "{%5, %6}]", (float x, int layer), (x, layer), "r"(layer), "f"(x))
BULKHEAD_TEXTURE(tex2DLayered, "tex.a2d", "f32", "{%5, %6, %7, %7}]", (float x, float y, int layer), (x, y, layer),
                 "r"(layer), "f"(x), "f"(y))
BULKHEAD_TEXTURE(texCubemap, "tex.cube", "f32", "{%5, %6, %7, %7}]", (float x, float y, float z), (x, y, z), "f"(x),
                 "f"(y), "f"(z))
BULKHEAD_TEXTURE(texCubemapLayered, "tex.acube", "f32", "{%5, %6, %7, %8}]", (float x, float y, float z, int layer),
                 (x, y, z, layer), "r"(layer), "f"(x), "f"(y), "f"(z))

BULKHEAD_TEXTURE(tex1DLod, "tex.level.1d", "f32", "{%5}], %6", (float x, float level), (x, level), "f"(x), "f"(level))
BULKHEAD_TEXTURE(tex2DLod, "tex.level.2d", "f32", "{%5, %6}], %7", (float x, float y, float level), (x, y, level),
                 "f"(x), "f"(y), "f"(level))
BULKHEAD_TEXTURE(tex3DLod, "tex.level.3d", "f32", "{%5, %6, %7, %7}], %8", (float x, float y, float z, float level),
                 (x, y, z, level), "f"(x), "f"(y), "f"(z), "f"(level))
BULKHEAD_TEXTURE(tex1DLayeredLod, "tex.level.a1d", "f32", "{%5, %6}], %7", (float x, int layer, float level),
                 (x, layer, level), "r"(layer), "f"(x), "f"(level))
BULKHEAD_TEXTURE(tex2DLayeredLod, "tex.level.a2d", "f32", "{%5, %6, %7, %7}], %8",
                 (float x, float y, int layer, float level), (x, y, layer, level), "r"(layer), "f"(x), "f"(y),
                 "f"(level))
BULKHEAD_TEXTURE(texCubemapLod, "tex.level.cube", "f32", "{%5, %6, %7, %7}], %8",
                 (float x, float y, float z, float level), (x, y, z, level), "f"(x), "f"(y), "f"(z), "f"(level))
BULKHEAD_TEXTURE(texCubemapLayeredLod, "tex.level.acube", "f32", "{%5, %6, %7, %8}], %9",
                 (float x, float y, float z, int layer, float level), (x, y, z, layer, level), "r"(layer), "f"(x),
                 "f"(y), "f"(z), "f"(level))

BULKHEAD_TEXTURE(tex1DGrad, "tex.grad.1d", "f32", "{%5}], {%6}, {%7}", (float x, float alongX, float alongY),
                 (x, alongX, alongY), "f"(x), "f"(alongX), "f"(alongY))
BULKHEAD_TEXTURE(tex2DGrad, "tex.grad.2d", "f32", "{%5, %6}], {%7, %8}, {%9, %10}",
                 (float x, float y, float2 alongX, float2 alongY), (x, y, alongX, alongY), "f"(x), "f"(y),
                 "f"(alongX.x), "f"(alongX.y), "f"(alongY.x), "f"(alongY.y))
BULKHEAD_TEXTURE(tex3DGrad, "tex.grad.3d", "f32", "{%5, %6, %7, %7}], {%8, %9, %10, %10}, {%11, %12, %13, %13}",
                 (float x, float y, float z, float4 alongX, float4 alongY), (x, y, z, alongX, alongY), "f"(x), "f"(y),
                 "f"(z), "f"(alongX.x), "f"(alongX.y), "f"(alongX.z), "f"(alongY.x), "f"(alongY.y), "f"(alongY.z))
BULKHEAD_TEXTURE(tex1DLayeredGrad, "tex.grad.a1d", "f32", "{%5, %6}], {%7}, {%8}",
                 (float x, int layer, float alongX, float alongY), (x, layer, alongX, alongY), "r"(layer), "f"(x),
                 "f"(alongX), "f"(alongY))
BULKHEAD_TEXTURE(tex2DLayeredGrad, "tex.grad.a2d", "f32", "{%5, %6, %7, %7}], {%8, %9}, {%10, %11}",
                 (float x, float y, int layer, float2 alongX, float2 alongY), (x, y, layer, alongX, alongY), "r"(layer),
                 "f"(x), "f"(y), "f"(alongX.x), "f"(alongX.y), "f"(alongY.x), "f"(alongY.y))
BULKHEAD_TEXTURE(texCubemapGrad, "tex.grad.cube", "f32", "{%5, %6, %7, %7}], {%8, %9, %10, %10}, {%11, %12, %13, %13}",
                 (float x, float y, float z, float4 alongX, float4 alongY), (x, y, z, alongX, alongY), "f"(x), "f"(y),
                 "f"(z), "f"(alongX.x), "f"(alongX.y), "f"(alongX.z), "f"(alongY.x), "f"(alongY.y), "f"(alongY.z))
BULKHEAD_TEXTURE(texCubemapLayeredGrad, "tex.grad.acube", "f32",
                 "{%5, %6, %7, %8}], {%9, %10, %11, %11}, {%12, %13, %14, %14}",
                 (float x, float y, float z, int layer, float4 alongX, float4 alongY), (x, y, z, layer, alongX, alongY),
                 "r"(layer), "f"(x), "f"(y), "f"(z), "f"(alongX.x), "f"(alongX.y), "f"(alongX.z), "f"(alongY.x),
                 "f"(alongY.y), "f"(alongY.z))

#define BULKHEAD_GATHER(name, channel)                                                                              \
    namespace bulkhead_sdk {                                                                                        \
    BULKHEAD_FETCH(name, "tld4." channel ".2d", "f32", "{%5, %6}]", float4, "f32", "f", (float x, float y), "f"(x), \
                   "f"(y))                                                                                          \
    BULKHEAD_FETCH(name, "tld4." channel ".2d", "f32", "{%5, %6}]", int4, "s32", "r", (float x, float y), "f"(x),   \
                   "f"(y))                                                                                          \
    BULKHEAD_FETCH(name, "tld4." channel ".2d", "f32", "{%5, %6}]", uint4, "u32", "r", (float x, float y), "f"(x),  \
                   "f"(y))                                                                                          \
    }
BULKHEAD_GATHER(gatherRed, "r")
BULKHEAD_GATHER(gatherGreen, "g")
BULKHEAD_GATHER(gatherBlue, "b")
BULKHEAD_GATHER(gatherAlpha, "a")
#undef BULKHEAD_GATHER

template <class T_>
BULKHEAD_DEVICE T_ tex2Dgather(cudaTextureObject_t texture, float x, float y, int channel = 0) {
    typename bulkhead_sdk::Texel<T_>::Raw r;
    if (channel == 1)
        bulkhead_sdk::gatherGreen(r, texture, x, y);
    else if (channel == 2)
        bulkhead_sdk::gatherBlue(r, texture, x, y);
    else if (channel == 3)
        bulkhead_sdk::gatherAlpha(r, texture, x, y);
    else
        bulkhead_sdk::gatherRed(r, texture, x, y);
    return bulkhead_sdk::Texel<T_>::from(r);
}
template <class T_>
BULKHEAD_DEVICE void tex2Dgather(T_* to, cudaTextureObject_t texture, float x, float y, int channel = 0) {
    *to = tex2Dgather<T_>(texture, x, y, channel);
}

#undef BULKHEAD_TEXTURE
#undef BULKHEAD_FETCH
#undef BULKHEAD_UNPACK
