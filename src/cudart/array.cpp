// CUDA arrays, texture and surface objects. An array's handle is the driver's.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "cudart/copy.h"
#include "driver/pointer_attributes.h"
#include "sdk/include/cuda_runtime_api.h"

namespace bulkhead::cudart {
namespace {

using driver::CUarray;
using driver::CUDA_ARRAY3D_DESCRIPTOR;
using driver::CUDA_MEMCPY3D;
using driver::CUDA_RESOURCE_DESC;
using driver::CUDA_RESOURCE_VIEW_DESC;
using driver::CUDA_TEXTURE_DESC;
using driver::CUmipmappedArray;

CUmipmappedArray driversOf(cudaMipmappedArray_const_t array) {
    return reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray_t>(array));
}

struct ChannelFormat {
    driver::CUarray_format format;
    cudaChannelFormatKind kind;
    int bits;
};
constexpr ChannelFormat kChannelFormats[] = {
    {driver::kUint8, cudaChannelFormatKindUnsigned, 8},   {driver::kUint16, cudaChannelFormatKindUnsigned, 16},
    {driver::kUint32, cudaChannelFormatKindUnsigned, 32}, {driver::kSint8, cudaChannelFormatKindSigned, 8},
    {driver::kSint16, cudaChannelFormatKindSigned, 16},   {driver::kSint32, cudaChannelFormatKindSigned, 32},
    {driver::kHalf, cudaChannelFormatKindFloat, 16},      {driver::kFloat, cudaChannelFormatKindFloat, 32},
};

struct TexelFormat {
    driver::CUarray_format format = 0;
    unsigned channels = 0;
};

/// Channels are alike, and those that are there come first.
TexelFormat formatOf(const cudaChannelFormatDesc& d) {
    const int bits[] = {d.x, d.y, d.z, d.w};
    TexelFormat result;
    while (result.channels < 4 && bits[result.channels] != 0) ++result.channels;
    for (unsigned c = 0; c < 4; ++c)
        require(bits[c] == (c < result.channels ? d.x : 0), cudaErrorInvalidChannelDescriptor);
    require(result.channels == 1 || result.channels == 2 || result.channels == 4, cudaErrorInvalidChannelDescriptor);
    for (const ChannelFormat& f : kChannelFormats)
        if (f.kind == d.f && f.bits == d.x) result.format = f.format;
    require(result.format != 0, cudaErrorInvalidChannelDescriptor);
    return result;
}

cudaChannelFormatDesc descriptionOf(driver::CUarray_format format, unsigned channels) {
    for (const ChannelFormat& f : kChannelFormats) {
        if (f.format != format) continue;
        const auto bits = [&](unsigned channel) { return channel < channels ? f.bits : 0; };
        return {bits(0), bits(1), bits(2), bits(3), f.kind};
    }
    return {0, 0, 0, 0, cudaChannelFormatKindNone};
}

CUDA_ARRAY3D_DESCRIPTOR shapeOf(const cudaChannelFormatDesc* description, cudaExtent extent, unsigned flags) {
    require(description != nullptr);
    const TexelFormat format = formatOf(*description);
    return {extent.width, extent.height, extent.depth, format.format, format.channels, flags};
}

CUDA_ARRAY3D_DESCRIPTOR shapeOf(CUarray array) {
    CUDA_ARRAY3D_DESCRIPTOR shape;
    check(ready().cuArray3DGetDescriptor(&shape, array));
    return shape;
}

void createArray(cudaArray_t* array, const cudaChannelFormatDesc* description, cudaExtent extent, unsigned flags) {
    require(array != nullptr);
    const CUDA_ARRAY3D_DESCRIPTOR shape = shapeOf(description, extent, flags);
    CUarray made = nullptr;
    check(ready().cuArray3DCreate(&made, &shape));
    *array = reinterpret_cast<cudaArray_t>(made);
}

/// One side of a copy of rows.
struct Rows {
    cudaArray_const_t array = nullptr;
    const void* memory = nullptr;
    std::size_t x = 0, y = 0, pitch = 0;
};

void copyRowsOfArrays(const Rows& to, const Rows& from, std::size_t width, std::size_t rows, cudaMemcpyKind kind,
                      cudaStream_t stream, Completion completion) {
    ready();
    require(to.array || rows <= 1 || width <= to.pitch, cudaErrorInvalidPitchValue);
    require(from.array || rows <= 1 || width <= from.pitch, cudaErrorInvalidPitchValue);
    if (width == 0 || rows == 0) return;
    CUDA_MEMCPY3D copy;
    std::memset(&copy, 0, sizeof copy);
    const Route route = routeOf(kind, to.memory, from.memory);
    copy.srcMemoryType = from.array       ? driver::kArrayMemory
                         : route.fromHost ? driver::kHostMemory
                                          : driver::kDeviceMemory;
    copy.srcArray = arrayHandle(from.array);
    copy.srcHost = from.memory;
    copy.srcDevice = addressOf(from.memory);
    copy.srcXInBytes = from.x;
    copy.srcY = from.y;
    copy.srcPitch = from.pitch;
    copy.dstMemoryType = to.array ? driver::kArrayMemory : route.toHost ? driver::kHostMemory : driver::kDeviceMemory;
    copy.dstArray = arrayHandle(to.array);
    copy.dstHost = const_cast<void*>(to.memory);
    copy.dstDevice = addressOf(to.memory);
    copy.dstXInBytes = to.x;
    copy.dstY = to.y;
    copy.dstPitch = to.pitch;
    copy.WidthInBytes = width;
    copy.Height = rows;
    copy.Depth = 1;
    copyInDriver(copy, stream, completion);
}

/// Bytes that fill rows of an array one after the other, from a place in it: visit(x, y, bytes, rows, offset).
template <class Visit>
void eachStretch(cudaArray_const_t array, std::size_t x, std::size_t y, std::size_t bytes, Visit visit) {
    const CUDA_ARRAY3D_DESCRIPTOR shape = shapeOf(arrayHandle(array));
    const std::size_t row = shape.Width * texelBytes(shape);
    require(x < row || bytes == 0);
    std::size_t done = 0;
    while (done < bytes) {
        const std::size_t left = bytes - done;
        const std::size_t rows = x == 0 ? left / row : 0;
        if (rows > 0) {
            visit(x, y, row, rows, done);
            done += rows * row;
            y += rows;
        } else {
            const std::size_t part = std::min(left, row - x);
            visit(x, y, part, std::size_t{1}, done);
            done += part;
            x = 0;
            ++y;
        }
    }
}

void copyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t stream, Completion completion) {
    eachStretch(
        to, x, y, bytes, [&](std::size_t atX, std::size_t atY, std::size_t width, std::size_t rows, std::size_t at) {
            copyRowsOfArrays({to, nullptr, atX, atY, 0}, {nullptr, static_cast<const char*>(from) + at, 0, 0, width},
                             width, rows, kind, stream, completion);
        });
}
void copyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                   cudaMemcpyKind kind, cudaStream_t stream, Completion completion) {
    eachStretch(from, x, y, bytes,
                [&](std::size_t atX, std::size_t atY, std::size_t width, std::size_t rows, std::size_t at) {
                    copyRowsOfArrays({nullptr, static_cast<char*>(to) + at, 0, 0, width}, {from, nullptr, atX, atY, 0},
                                     width, rows, kind, stream, completion);
                });
}

/// Bytes that run on from row to row on either side.
void copyBetweenArrays(cudaArray_t to, std::size_t toX, std::size_t toY, cudaArray_const_t from, std::size_t fromX,
                       std::size_t fromY, std::size_t bytes, cudaMemcpyKind kind) {
    const auto rowOf = [](cudaArray_const_t array) {
        const CUDA_ARRAY3D_DESCRIPTOR shape = shapeOf(arrayHandle(array));
        return shape.Width * texelBytes(shape);
    };
    const std::size_t toRow = rowOf(to), fromRow = rowOf(from);
    require(bytes == 0 || (toX < toRow && fromX < fromRow));
    while (bytes > 0) {
        const std::size_t part = std::min({bytes, toRow - toX, fromRow - fromX});
        copyRowsOfArrays({to, nullptr, toX, toY, 0}, {from, nullptr, fromX, fromY, 0}, part, 1, kind, nullptr,
                         Completion::done);
        bytes -= part;
        const auto advance = [part](std::size_t& x, std::size_t& y, std::size_t row) {
            x += part;
            if (x == row) x = 0, ++y;
        };
        advance(toX, toY, toRow);
        advance(fromX, fromY, fromRow);
    }
}

CUDA_RESOURCE_DESC driversOf(const cudaResourceDesc& r) {
    CUDA_RESOURCE_DESC result;
    std::memset(&result, 0, sizeof result);
    result.resType = r.resType;
    if (r.resType == cudaResourceTypeArray) {
        result.res.array.hArray = arrayHandle(r.res.array.array);
    } else if (r.resType == cudaResourceTypeMipmappedArray) {
        result.res.mipmap.hMipmappedArray = driversOf(r.res.mipmap.mipmap);
    } else if (r.resType == cudaResourceTypeLinear) {
        const TexelFormat format = formatOf(r.res.linear.desc);
        result.res.linear = {addressOf(r.res.linear.devPtr), format.format, format.channels, r.res.linear.sizeInBytes};
    } else if (r.resType == cudaResourceTypePitch2D) {
        const auto& p = r.res.pitch2D;
        const TexelFormat format = formatOf(p.desc);
        result.res.pitch2D = {addressOf(p.devPtr), format.format, format.channels, p.width, p.height, p.pitchInBytes};
    } else {
        throw Failure{cudaErrorInvalidValue};
    }
    return result;
}

cudaResourceDesc runtimesOf(const CUDA_RESOURCE_DESC& r) {
    cudaResourceDesc result;
    std::memset(&result, 0, sizeof result);
    result.resType = static_cast<cudaResourceType>(r.resType);
    if (r.resType == driver::kArrayResource) {
        result.res.array.array = reinterpret_cast<cudaArray_t>(r.res.array.hArray);
    } else if (r.resType == driver::kMipmappedResource) {
        result.res.mipmap.mipmap = reinterpret_cast<cudaMipmappedArray_t>(r.res.mipmap.hMipmappedArray);
    } else if (r.resType == driver::kLinearResource) {
        const auto& l = r.res.linear;
        result.res.linear = {pointerTo(l.devPtr), descriptionOf(l.format, l.numChannels), l.sizeInBytes};
    } else {
        const auto& p = r.res.pitch2D;
        result.res.pitch2D = {pointerTo(p.devPtr), descriptionOf(p.format, p.numChannels), p.width, p.height,
                              p.pitchInBytes};
    }
    return result;
}

/// What programs have room for, whatever CUDA's headers have reserved behind it when they were compiled.
void give(const cudaResourceDesc& from, cudaResourceDesc* to) {
    std::memcpy(to, &from, offsetof(cudaResourceDesc, res) + sizeof from.res.pitch2D);
}

constexpr unsigned kNoTrilinearOptimization = 0x20, kSeamlessCubemap = 0x40;

CUDA_TEXTURE_DESC driversOf(const cudaTextureDesc& d) {
    CUDA_TEXTURE_DESC result;
    std::memset(&result, 0, sizeof result);
    for (int i = 0; i < 3; ++i) result.addressMode[i] = d.addressMode[i];
    result.filterMode = d.filterMode;
    if (d.readMode == cudaReadModeElementType) result.flags |= driver::kReadAsInteger;
    if (d.normalizedCoords) result.flags |= driver::kNormalizedCoordinates;
    if (d.sRGB) result.flags |= driver::kFromSrgb;
    if (d.disableTrilinearOptimization) result.flags |= kNoTrilinearOptimization;
    if (d.seamlessCubemap) result.flags |= kSeamlessCubemap;
    result.maxAnisotropy = d.maxAnisotropy;
    result.mipmapFilterMode = d.mipmapFilterMode;
    result.mipmapLevelBias = d.mipmapLevelBias;
    result.minMipmapLevelClamp = d.minMipmapLevelClamp;
    result.maxMipmapLevelClamp = d.maxMipmapLevelClamp;
    std::copy(std::begin(d.borderColor), std::end(d.borderColor), result.borderColor);
    return result;
}

cudaTextureDesc runtimesOf(const CUDA_TEXTURE_DESC& d) {
    cudaTextureDesc result;
    std::memset(&result, 0, sizeof result);
    for (int i = 0; i < 3; ++i) result.addressMode[i] = static_cast<cudaTextureAddressMode>(d.addressMode[i]);
    result.filterMode = static_cast<cudaTextureFilterMode>(d.filterMode);
    result.readMode = d.flags & driver::kReadAsInteger ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    result.normalizedCoords = (d.flags & driver::kNormalizedCoordinates) != 0;
    result.sRGB = (d.flags & driver::kFromSrgb) != 0;
    result.disableTrilinearOptimization = (d.flags & kNoTrilinearOptimization) != 0;
    result.seamlessCubemap = (d.flags & kSeamlessCubemap) != 0;
    result.maxAnisotropy = d.maxAnisotropy;
    result.mipmapFilterMode = static_cast<cudaTextureFilterMode>(d.mipmapFilterMode);
    result.mipmapLevelBias = d.mipmapLevelBias;
    result.minMipmapLevelClamp = d.minMipmapLevelClamp;
    result.maxMipmapLevelClamp = d.maxMipmapLevelClamp;
    std::copy(std::begin(d.borderColor), std::end(d.borderColor), result.borderColor);
    return result;
}

CUDA_RESOURCE_VIEW_DESC driversOf(const cudaResourceViewDesc& v) {
    CUDA_RESOURCE_VIEW_DESC result;
    std::memset(&result, 0, sizeof result);
    result.format = v.format;
    result.width = v.width, result.height = v.height, result.depth = v.depth;
    result.firstMipmapLevel = v.firstMipmapLevel, result.lastMipmapLevel = v.lastMipmapLevel;
    result.firstLayer = v.firstLayer, result.lastLayer = v.lastLayer;
    return result;
}

/// The channels that a resource has, where an array knows them.
cudaChannelFormatDesc channelsOf(const cudaResourceDesc& r) {
    if (r.resType == cudaResourceTypeLinear) return r.res.linear.desc;
    if (r.resType == cudaResourceTypePitch2D) return r.res.pitch2D.desc;
    CUarray array = nullptr;
    if (r.resType == cudaResourceTypeArray)
        array = arrayHandle(r.res.array.array);
    else
        check(ready().cuMipmappedArrayGetLevel(&array, driversOf(r.res.mipmap.mipmap), 0));
    const CUDA_ARRAY3D_DESCRIPTOR shape = shapeOf(array);
    return descriptionOf(shape.Format, shape.NumChannels);
}

/// Errors that the runtime tells apart and the driver does not.
void requireReadable(const cudaResourceDesc& r, const cudaTextureDesc& d) {
    const cudaChannelFormatDesc channels = channelsOf(r);
    const bool isInteger = channels.f != cudaChannelFormatKindFloat;
    if (isInteger && d.readMode == cudaReadModeNormalizedFloat) require(channels.x < 32, cudaErrorInvalidNormSetting);
    if (isInteger && d.filterMode == cudaFilterModeLinear && r.resType != cudaResourceTypeLinear)
        require(d.readMode == cudaReadModeNormalizedFloat, cudaErrorInvalidFilterSetting);
}

}  // namespace

driver::CUarray arrayHandle(cudaArray_const_t array) {
    return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

std::size_t texelBytes(const driver::CUDA_ARRAY3D_DESCRIPTOR& shape) {
    const cudaChannelFormatDesc d = descriptionOf(shape.Format, 1);
    return static_cast<std::size_t>(d.x / 8) * shape.NumChannels;
}

}  // namespace bulkhead::cudart

using namespace bulkhead::cudart;

BULKHEAD_EXPORT cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

BULKHEAD_EXPORT cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* description, cudaArray_const_t array) {
    return call([&] {
        require(description != nullptr);
        const CUDA_ARRAY3D_DESCRIPTOR shape = shapeOf(arrayHandle(array));
        *description = descriptionOf(shape.Format, shape.NumChannels);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* description,
                                            std::size_t width, std::size_t height, unsigned flags) {
    return call([&] { createArray(array, description, {width, height, 0}, flags); });
}

BULKHEAD_EXPORT cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* description,
                                              cudaExtent extent, unsigned flags) {
    return call([&] { createArray(array, description, extent, flags); });
}

BULKHEAD_EXPORT cudaError_t cudaFreeArray(cudaArray_t array) {
    return call([&] {
        ready();
        if (array) check(api().cuArrayDestroy(arrayHandle(array)));
    });
}

BULKHEAD_EXPORT cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* description, cudaExtent* extent, unsigned* flags,
                                             cudaArray_t array) {
    return call([&] {
        const CUDA_ARRAY3D_DESCRIPTOR shape = shapeOf(arrayHandle(array));
        if (description) *description = descriptionOf(shape.Format, shape.NumChannels);
        if (extent) *extent = {shape.Width, shape.Height, shape.Depth};
        if (flags) *flags = shape.Flags;
    });
}

BULKHEAD_EXPORT cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array,
                                                     const cudaChannelFormatDesc* description, cudaExtent extent,
                                                     unsigned levels, unsigned flags) {
    return call([&] {
        require(array != nullptr);
        const CUDA_ARRAY3D_DESCRIPTOR shape = shapeOf(description, extent, flags);
        CUmipmappedArray made = nullptr;
        check(ready().cuMipmappedArrayCreate(&made, &shape, levels));
        *array = reinterpret_cast<cudaMipmappedArray_t>(made);
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, cudaMipmappedArray_const_t array,
                                                       unsigned index) {
    return call([&] {
        require(level != nullptr);
        CUarray found = nullptr;
        check(ready().cuMipmappedArrayGetLevel(&found, driversOf(array), index));
        *level = reinterpret_cast<cudaArray_t>(found);
    });
}

BULKHEAD_EXPORT cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
    return call([&] {
        ready();
        if (array) check(api().cuMipmappedArrayDestroy(driversOf(array)));
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                                std::size_t pitch, std::size_t width, std::size_t rows,
                                                cudaMemcpyKind kind) {
    return call([&] {
        copyRowsOfArrays({to, nullptr, x, y, 0}, {nullptr, from, 0, 0, pitch}, width, rows, kind, nullptr,
                         Completion::done);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                                     std::size_t pitch, std::size_t width, std::size_t rows,
                                                     cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] {
        copyRowsOfArrays({to, nullptr, x, y, 0}, {nullptr, from, 0, 0, pitch}, width, rows, kind, stream,
                         Completion::enqueued);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x,
                                                  std::size_t y, std::size_t width, std::size_t rows,
                                                  cudaMemcpyKind kind) {
    return call([&] {
        copyRowsOfArrays({nullptr, to, 0, 0, pitch}, {from, nullptr, x, y, 0}, width, rows, kind, nullptr,
                         Completion::done);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, cudaArray_const_t from,
                                                       std::size_t x, std::size_t y, std::size_t width,
                                                       std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] {
        copyRowsOfArrays({nullptr, to, 0, 0, pitch}, {from, nullptr, x, y, 0}, width, rows, kind, stream,
                         Completion::enqueued);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, std::size_t toX, std::size_t toY,
                                                     cudaArray_const_t from, std::size_t fromX, std::size_t fromY,
                                                     std::size_t width, std::size_t rows, cudaMemcpyKind kind) {
    return call([&] {
        copyRowsOfArrays({to, nullptr, toX, toY, 0}, {from, nullptr, fromX, fromY, 0}, width, rows, kind, nullptr,
                         Completion::done);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, std::size_t toX, std::size_t toY,
                                                   cudaArray_const_t from, std::size_t fromX, std::size_t fromY,
                                                   std::size_t bytes, cudaMemcpyKind kind) {
    return call([&] { copyBetweenArrays(to, toX, toY, from, fromX, fromY, bytes, kind); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                              std::size_t bytes, cudaMemcpyKind kind) {
    return call([&] { copyToArray(to, x, y, from, bytes, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                                   std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] { copyToArray(to, x, y, from, bytes, kind, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y,
                                                std::size_t bytes, cudaMemcpyKind kind) {
    return call([&] { copyFromArray(to, from, x, y, bytes, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, std::size_t x, std::size_t y,
                                                     std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] { copyFromArray(to, from, x, y, bytes, kind, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                                    const cudaTextureDesc* description,
                                                    const cudaResourceViewDesc* view) {
    return call([&] {
        ready();
        require(texture != nullptr && resource != nullptr && description != nullptr);
        const CUDA_RESOURCE_DESC r = driversOf(*resource);
        const CUDA_TEXTURE_DESC d = driversOf(*description);
        if (!view) requireReadable(*resource, *description);
        const CUDA_RESOURCE_VIEW_DESC v = view ? driversOf(*view) : CUDA_RESOURCE_VIEW_DESC{};
        check(api().cuTexObjectCreate(texture, &r, &d, view ? &v : nullptr));
    });
}

BULKHEAD_EXPORT cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    return call([&] { check(ready().cuTexObjectDestroy(texture)); });
}

BULKHEAD_EXPORT cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture) {
    return call([&] {
        require(resource != nullptr);
        CUDA_RESOURCE_DESC r;
        check(ready().cuTexObjectGetResourceDesc(&r, texture));
        give(runtimesOf(r), resource);
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description, cudaTextureObject_t texture) {
    return call([&] {
        require(description != nullptr);
        CUDA_TEXTURE_DESC d;
        check(ready().cuTexObjectGetTextureDesc(&d, texture));
        *description = runtimesOf(d);
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view,
                                                                 cudaTextureObject_t texture) {
    return call([&] {
        require(view != nullptr);
        CUDA_RESOURCE_VIEW_DESC v;
        check(ready().cuTexObjectGetResourceViewDesc(&v, texture));
        view->format = static_cast<cudaResourceViewFormat>(v.format);
        view->width = v.width, view->height = v.height, view->depth = v.depth;
        view->firstMipmapLevel = v.firstMipmapLevel, view->lastMipmapLevel = v.lastMipmapLevel;
        view->firstLayer = v.firstLayer, view->lastLayer = v.lastLayer;
    });
}

BULKHEAD_EXPORT cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
    return call([&] {
        ready();
        require(surface != nullptr && resource != nullptr);
        const CUDA_RESOURCE_DESC r = driversOf(*resource);
        check(api().cuSurfObjectCreate(surface, &r));
    });
}

BULKHEAD_EXPORT cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
    return call([&] { check(ready().cuSurfObjectDestroy(surface)); });
}

BULKHEAD_EXPORT cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t surface) {
    return call([&] {
        require(resource != nullptr);
        CUDA_RESOURCE_DESC r;
        check(ready().cuSurfObjectGetResourceDesc(&r, surface));
        give(runtimesOf(r), resource);
    });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(std::size_t* texels,
                                                                 const cudaChannelFormatDesc* description, int device) {
    return call([&] {
        require(description != nullptr);
        const TexelFormat format = formatOf(*description);
        check(ready().cuDeviceGetTexture1DLinearMaxWidth(texels, format.format, format.channels, deviceAt(device)));
    });
}
