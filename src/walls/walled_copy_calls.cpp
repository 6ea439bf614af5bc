// Copies and fills, to whatever end of them is inside.

#include "driver/pointer_attributes.h"
#include "walls/walled_calls.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

WalledContext::End onDevice(CUdeviceptr address, std::size_t pitch = 0) {
    return {address, nullptr, pitch};
}
WalledContext::End onHost(const void* address, std::size_t pitch = 0) {
    return {0, const_cast<void*>(address), pitch};
}
/// An end that may be either.
WalledContext::End anywhere(const WalledContext& walled, CUdeviceptr address, std::size_t pitch = 0) {
    if (walled.isTranslated(address)) return onDevice(address, pitch);
    unsigned type = 0;
    const CUresult result = walled.inner().cuPointerGetAttribute(
        &type, static_cast<CUpointer_attribute>(PointerAttribute::memoryType), address);
    return result == CUDA_SUCCESS && type == kDeviceMemory ? onDevice(address, pitch)
                                                           : onHost(reinterpret_cast<const void*>(address), pitch);
}

CUresult copy(const WalledContext::End& to, const WalledContext::End& from, std::size_t bytes, CUstream stream) {
    return inside([&](WalledContext& walled) { walled.copy(to, from, bytes, 1, walled.enter(stream)); });
}
/// Calls without a stream end with the copy.
CUresult finished(CUresult begun) {
    if (begun != CUDA_SUCCESS) return begun;
    return waitingInside([](WalledContext& walled) { walled.synchronize(nullptr); });
}

CUresult memcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    return copy(onDevice(to), onHost(from), bytes, stream);
}
CUresult memcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return copy(onHost(to), onDevice(from), bytes, stream);
}
CUresult memcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return copy(onDevice(to), onDevice(from), bytes, stream);
}
CUresult memcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return inside([&](WalledContext& walled) {
        walled.copy(anywhere(walled, to), anywhere(walled, from), bytes, 1, walled.enter(stream));
    });
}
CUresult memcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
    return finished(memcpyHtoDAsync(to, from, bytes, nullptr));
}
CUresult memcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
    return finished(memcpyDtoHAsync(to, from, bytes, nullptr));
}
CUresult memcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    return finished(memcpyDtoDAsync(to, from, bytes, nullptr));
}
CUresult memcpyAny(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    return finished(memcpyAsync(to, from, bytes, nullptr));
}
/// There is one device, so a peer is the context itself.
CUresult memcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext,
                         std::size_t bytes, CUstream stream) {
    return inside([&](WalledContext& walled) {
        behind(walled, toContext);
        behind(walled, fromContext);
        walled.copy(onDevice(to), onDevice(from), bytes, 1, walled.enter(stream));
    });
}
CUresult memcpyPeer(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, std::size_t bytes) {
    return finished(memcpyPeerAsync(to, toContext, from, fromContext, bytes, nullptr));
}

WalledContext::End endOf(const WalledContext& walled, CUmemorytype type, const void* host, CUdeviceptr device,
                         std::size_t offset, std::size_t pitch) {
    if (type == kHostMemory) return onHost(static_cast<const char*>(host) + offset, pitch);
    if (type == kDeviceMemory) return onDevice(device + offset, pitch);
    if (type == kUnifiedMemory) return anywhere(walled, device + offset, pitch);
    throw Failure{CUDA_ERROR_NOT_SUPPORTED, "no CUDA arrays inside walls"};
}

/// A rectangle of a copy of rectangles or of boxes, from these rows on.
template <class Copy>
void copyRectangle(WalledContext& walled, const Copy& c, std::size_t toRow, std::size_t fromRow, CUstream stream) {
    walled.copy(
        endOf(walled, c.dstMemoryType, c.dstHost, c.dstDevice, toRow * c.dstPitch + c.dstXInBytes, c.dstPitch),
        endOf(walled, c.srcMemoryType, c.srcHost, c.srcDevice, fromRow * c.srcPitch + c.srcXInBytes, c.srcPitch),
        c.WidthInBytes, c.Height, stream);
}

CUresult memcpy2DAsync(const CUDA_MEMCPY2D* c, CUstream stream) {
    return inside([&](WalledContext& walled) {
        requireOutput(c);
        copyRectangle(walled, *c, c->dstY, c->srcY, walled.enter(stream));
    });
}
CUresult memcpy2D(const CUDA_MEMCPY2D* c) {
    return finished(memcpy2DAsync(c, nullptr));
}
CUresult memcpy3DAsync(const CUDA_MEMCPY3D* c, CUstream stream) {
    return inside([&](WalledContext& walled) {
        requireOutput(c);
        copyBox(walled, *c, walled.enter(stream));
    });
}
CUresult memcpy3D(const CUDA_MEMCPY3D* c) {
    return finished(memcpy3DAsync(c, nullptr));
}

// Fills. Those without a stream do not wait either.

CUresult fill(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned bytes, std::size_t width, std::size_t height,
              CUstream stream) {
    return inside([&](WalledContext& walled) {
        const std::size_t row = height > 1 ? pitch : width * bytes;
        walled.fill(to, row, value, bytes, width, height, walled.enter(stream));
    });
}
template <class T>
CUresult memsetAsync(CUdeviceptr to, T value, std::size_t count, CUstream stream) {
    return fill(to, 0, value, sizeof(T), count, 1, stream);
}
/// Memory that the host has as well is filled when the call returns.
CUresult filled(CUdeviceptr to, CUresult begun) {
    if (begun != CUDA_SUCCESS) return begun;
    bool seenByHost = false;
    const CUresult asked = inside([&](WalledContext& walled) { seenByHost = anywhere(walled, to).host != nullptr; });
    return asked == CUDA_SUCCESS && seenByHost ? finished(begun) : asked;
}
template <class T>
CUresult memset1D(CUdeviceptr to, T value, std::size_t count) {
    return filled(to, fill(to, 0, value, sizeof(T), count, 1, nullptr));
}
template <class T>
CUresult memset2DAsync(CUdeviceptr to, std::size_t pitch, T value, std::size_t width, std::size_t height,
                       CUstream stream) {
    return fill(to, pitch, value, sizeof(T), width, height, stream);
}
template <class T>
CUresult memset2D(CUdeviceptr to, std::size_t pitch, T value, std::size_t width, std::size_t height) {
    return filled(to, fill(to, pitch, value, sizeof(T), width, height, nullptr));
}

}  // namespace

void copyBox(WalledContext& walled, const CUDA_MEMCPY3D& c, CUstream stream) {
    for (std::size_t z = 0; z < c.Depth; ++z)
        copyRectangle(walled, c, c.dstY + (c.dstZ + z) * c.dstHeight, c.srcY + (c.srcZ + z) * c.srcHeight, stream);
}

void enterCopyCalls(DriverApi& api) {
    api.cuMemcpy = memcpyAny;
    api.cuMemcpyAsync = memcpyAsync;
    api.cuMemcpyHtoD = memcpyHtoD;
    api.cuMemcpyDtoH = memcpyDtoH;
    api.cuMemcpyDtoD = memcpyDtoD;
    api.cuMemcpyHtoDAsync = memcpyHtoDAsync;
    api.cuMemcpyDtoHAsync = memcpyDtoHAsync;
    api.cuMemcpyDtoDAsync = memcpyDtoDAsync;
    api.cuMemcpyPeer = memcpyPeer;
    api.cuMemcpyPeerAsync = memcpyPeerAsync;
    api.cuMemcpy2D = memcpy2D;
    api.cuMemcpy2DUnaligned = memcpy2D;
    api.cuMemcpy2DAsync = memcpy2DAsync;
    api.cuMemcpy3D = memcpy3D;
    api.cuMemcpy3DAsync = memcpy3DAsync;
    api.cuMemsetD8 = memset1D<unsigned char>;
    api.cuMemsetD16 = memset1D<unsigned short>;
    api.cuMemsetD32 = memset1D<unsigned>;
    api.cuMemsetD8Async = memsetAsync<unsigned char>;
    api.cuMemsetD16Async = memsetAsync<unsigned short>;
    api.cuMemsetD32Async = memsetAsync<unsigned>;
    api.cuMemsetD2D8 = memset2D<unsigned char>;
    api.cuMemsetD2D16 = memset2D<unsigned short>;
    api.cuMemsetD2D32 = memset2D<unsigned>;
    api.cuMemsetD2D8Async = memset2DAsync<unsigned char>;
    api.cuMemsetD2D16Async = memset2DAsync<unsigned short>;
    api.cuMemsetD2D32Async = memset2DAsync<unsigned>;
}

}  // namespace bulkhead::walls
