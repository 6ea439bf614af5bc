#pragma once

#include "driver/cu_types.h"

namespace bulkhead::driver {

// CUDA arrays, textures and surfaces, as the driver's binary interface has them.

using CUmipmappedArray = struct CUmipmappedArray_st*;
using CUtexObject = unsigned long long;
using CUsurfObject = unsigned long long;

using CUarray_format = int;
using CUaddress_mode = int;
using CUfilter_mode = int;
using CUresourcetype = int;
using CUresourceViewFormat = int;

struct CUDA_ARRAY_DESCRIPTOR {
    std::size_t Width, Height;
    CUarray_format Format;
    unsigned NumChannels;
};

struct CUDA_ARRAY3D_DESCRIPTOR {
    std::size_t Width, Height, Depth;
    CUarray_format Format;
    unsigned NumChannels;
    unsigned Flags;
};

struct CUDA_RESOURCE_DESC {
    CUresourcetype resType;
    union {
        struct {
            CUarray hArray;
        } array;
        struct {
            CUmipmappedArray hMipmappedArray;
        } mipmap;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned numChannels;
            std::size_t sizeInBytes;
        } linear;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned numChannels;
            std::size_t width, height, pitchInBytes;
        } pitch2D;
        struct {
            int reserved[32];
        } reserved;
    } res;
    unsigned flags;
};

struct CUDA_TEXTURE_DESC {
    CUaddress_mode addressMode[3];
    CUfilter_mode filterMode;
    unsigned flags;
    unsigned maxAnisotropy;
    CUfilter_mode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    float borderColor[4];
    int reserved[12];
};

struct CUDA_RESOURCE_VIEW_DESC {
    CUresourceViewFormat format;
    std::size_t width, height, depth;
    unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
    unsigned reserved[16];
};

static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR) == 24 && sizeof(CUDA_ARRAY3D_DESCRIPTOR) == 40);
static_assert(sizeof(CUDA_RESOURCE_DESC) == 144 && sizeof(CUDA_TEXTURE_DESC) == 104);
static_assert(sizeof(CUDA_RESOURCE_VIEW_DESC) == 112);

/// CUarray_format.
constexpr CUarray_format kUint8 = 0x01, kUint16 = 0x02, kUint32 = 0x03, kSint8 = 0x08, kSint16 = 0x09, kSint32 = 0x0a,
                         kHalf = 0x10, kFloat = 0x20;
/// Flags of cuArray3DCreate.
constexpr unsigned kArrayLayered = 0x01, kArraySurface = 0x02, kArrayCubemap = 0x04, kArrayGather = 0x08;
/// CUresourcetype.
constexpr CUresourcetype kArrayResource = 0, kMipmappedResource = 1, kLinearResource = 2, kPitchResource = 3;
/// Flags of a texture.
constexpr unsigned kReadAsInteger = 0x01, kNormalizedCoordinates = 0x02, kFromSrgb = 0x10;

}  // namespace bulkhead::driver
