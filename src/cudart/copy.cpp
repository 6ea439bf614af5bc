#include "cudart/copy.h"

#include <cstring>

#include "driver/pointer_attributes.h"
#include "sdk/include/cuda_runtime_api.h"

namespace bulkhead::cudart {
namespace {

using driver::CUDA_MEMCPY2D;
using driver::CUDA_MEMCPY3D;
using driver::kArrayMemory;
using driver::kDeviceMemory;
using driver::kHostMemory;

/// Whether the driver takes memory for the host's. Of a pointer that CUDA has never heard of, the caller's claim is all
/// there is: the driver refuses one that is wrongly taken for the device's.
bool isHost(const void* pointer, bool claimed) {
    constexpr int memoryType = static_cast<int>(driver::PointerAttribute::memoryType);
    int type = 0;
    const CUresult result = api().cuPointerGetAttribute(&type, memoryType, addressOf(pointer));
    return result == cudaSuccess ? type == kHostMemory : claimed;
}

/// A synchronous call on the thread's own default stream is one that is put there and waited for.
bool waitsInStream(Completion completion) {
    return completion == Completion::done && perThreadDefault();
}

template <class Synchronous, class Asynchronous>
void carryOut(cudaStream_t stream, Completion completion, Synchronous&& synchronous, Asynchronous&& asynchronous) {
    if (completion == Completion::done && !waitsInStream(completion)) {
        check(synchronous());
        return;
    }
    check(asynchronous(streamOf(stream)));
    if (completion == Completion::done) check(api().cuStreamSynchronize(streamOf(stream)));
}

void checkPitches(std::size_t width, std::size_t toPitch, std::size_t fromPitch, std::size_t rows) {
    require(rows <= 1 || (width <= toPitch && width <= fromPitch), cudaErrorInvalidPitchValue);
}

void copyRows(void* to, std::size_t toPitch, const void* from, std::size_t fromPitch, std::size_t width,
              std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream, Completion completion) {
    ready();
    checkPitches(width, toPitch, fromPitch, rows);
    if (width == 0 || rows == 0) return;
    const Route route = routeOf(kind, to, from);
    CUDA_MEMCPY2D copy;
    std::memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = route.fromHost ? kHostMemory : kDeviceMemory;
    copy.srcHost = from;
    copy.srcDevice = addressOf(from);
    copy.srcPitch = fromPitch;
    copy.dstMemoryType = route.toHost ? kHostMemory : kDeviceMemory;
    copy.dstHost = to;
    copy.dstDevice = addressOf(to);
    copy.dstPitch = toPitch;
    copy.WidthInBytes = width;
    copy.Height = rows;
    carryOut(
        stream, completion, [&] { return api().cuMemcpy2DUnaligned(&copy); },
        [&](cudaStream_t in) { return api().cuMemcpy2DAsync(&copy, in); });
}

std::size_t texelBytesOf(cudaArray_t array) {
    driver::CUDA_ARRAY3D_DESCRIPTOR shape;
    check(api().cuArray3DGetDescriptor(&shape, arrayHandle(array)));
    return texelBytes(shape);
}

void copyBox(const cudaMemcpy3DParms& box, cudaStream_t stream, Completion completion) {
    ready();
    const CUDA_MEMCPY3D copy = driverCopy(box);
    if (copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0) return;
    copyInDriver(copy, stream, completion);
}

/// Unified addresses say which device each side lies on.
cudaMemcpy3DParms withoutDevices(const cudaMemcpy3DPeerParms& p) {
    return {p.srcArray, p.srcPos, p.srcPtr, p.dstArray, p.dstPos, p.dstPtr, p.extent, cudaMemcpyDeviceToDevice};
}

void fillBytes(void* to, int value, std::size_t bytes, cudaStream_t stream, Completion completion) {
    ready();
    if (bytes == 0) return;
    const auto byte = static_cast<unsigned char>(value);
    carryOut(
        stream, completion, [&] { return api().cuMemsetD8(addressOf(to), byte, bytes); },
        [&](cudaStream_t in) { return api().cuMemsetD8Async(addressOf(to), byte, bytes, in); });
}

void fillRows(void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows, cudaStream_t stream,
              Completion completion) {
    ready();
    require(rows <= 1 || width <= pitch, cudaErrorInvalidPitchValue);
    if (width == 0 || rows == 0) return;
    const auto byte = static_cast<unsigned char>(value);
    carryOut(
        stream, completion, [&] { return api().cuMemsetD2D8(addressOf(to), pitch, byte, width, rows); },
        [&](cudaStream_t in) { return api().cuMemsetD2D8Async(addressOf(to), pitch, byte, width, rows, in); });
}

void fillBox(const cudaPitchedPtr& to, int value, const cudaExtent& extent, cudaStream_t stream,
             Completion completion) {
    for (std::size_t z = 0; z < extent.depth; ++z)
        fillRows(static_cast<char*>(to.ptr) + z * to.pitch * to.ysize, to.pitch, value, extent.width, extent.height,
                 stream, completion);
}

}  // namespace

void copyInDriver(const CUDA_MEMCPY3D& copy, cudaStream_t stream, Completion completion) {
    carryOut(
        stream, completion, [&] { return api().cuMemcpy3D(&copy); },
        [&](cudaStream_t in) { return api().cuMemcpy3DAsync(&copy, in); });
}

Route routeOf(cudaMemcpyKind kind, const void* to, const void* from) {
    require(kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault, cudaErrorInvalidMemcpyDirection);
    const bool fromDevice = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool toDevice = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    return {isHost(from, !fromDevice), isHost(to, !toDevice)};
}

driver::CUDA_MEMCPY3D driverCopy(const cudaMemcpy3DParms& box) {
    // With an array on a side, the extent counts its elements; positions count the elements of their own side, which of
    // plain memory are bytes.
    const bool hasArray = box.srcArray || box.dstArray;
    const std::size_t fromTexel = box.srcArray ? texelBytesOf(box.srcArray) : 1;
    const std::size_t toTexel = box.dstArray ? texelBytesOf(box.dstArray) : 1;
    require(!box.srcArray || !box.dstArray || fromTexel == toTexel);
    if (!hasArray)
        checkPitches(box.extent.width, box.dstPtr.pitch, box.srcPtr.pitch, box.extent.height * box.extent.depth);
    const Route route = routeOf(box.kind, box.dstPtr.ptr, box.srcPtr.ptr);
    CUDA_MEMCPY3D copy;
    std::memset(&copy, 0, sizeof copy);
    copy.srcXInBytes = box.srcPos.x * fromTexel;
    copy.srcY = box.srcPos.y;
    copy.srcZ = box.srcPos.z;
    copy.srcMemoryType = box.srcArray ? kArrayMemory : route.fromHost ? kHostMemory : kDeviceMemory;
    copy.srcArray = arrayHandle(box.srcArray);
    copy.srcHost = box.srcPtr.ptr;
    copy.srcDevice = addressOf(box.srcPtr.ptr);
    copy.srcPitch = box.srcPtr.pitch;
    copy.srcHeight = box.srcPtr.ysize;
    copy.dstXInBytes = box.dstPos.x * toTexel;
    copy.dstY = box.dstPos.y;
    copy.dstZ = box.dstPos.z;
    copy.dstMemoryType = box.dstArray ? kArrayMemory : route.toHost ? kHostMemory : kDeviceMemory;
    copy.dstArray = arrayHandle(box.dstArray);
    copy.dstHost = box.dstPtr.ptr;
    copy.dstDevice = addressOf(box.dstPtr.ptr);
    copy.dstPitch = box.dstPtr.pitch;
    copy.dstHeight = box.dstPtr.ysize;
    copy.WidthInBytes = box.extent.width * (box.srcArray ? fromTexel : toTexel);
    copy.Height = box.extent.height;
    copy.Depth = box.extent.depth;
    return copy;
}

void copyBytes(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
               Completion completion) {
    const driver::DriverApi& d = ready();
    if (bytes == 0) return;
    const Route route = routeOf(kind, to, from);
    const CUdeviceptr toAddress = addressOf(to), fromAddress = addressOf(from);
    if (route.fromHost && route.toHost) {
        carryOut(
            stream, completion, [&] { return d.cuMemcpy(toAddress, fromAddress, bytes); },
            [&](cudaStream_t in) { return d.cuMemcpyAsync(toAddress, fromAddress, bytes, in); });
    } else if (route.fromHost) {
        carryOut(
            stream, completion, [&] { return d.cuMemcpyHtoD(toAddress, from, bytes); },
            [&](cudaStream_t in) { return d.cuMemcpyHtoDAsync(toAddress, from, bytes, in); });
    } else if (route.toHost) {
        carryOut(
            stream, completion, [&] { return d.cuMemcpyDtoH(to, fromAddress, bytes); },
            [&](cudaStream_t in) { return d.cuMemcpyDtoHAsync(to, fromAddress, bytes, in); });
    } else {
        carryOut(
            stream, completion, [&] { return d.cuMemcpyDtoD(toAddress, fromAddress, bytes); },
            [&](cudaStream_t in) { return d.cuMemcpyDtoDAsync(toAddress, fromAddress, bytes, in); });
    }
}

}  // namespace bulkhead::cudart

using namespace bulkhead::cudart;

BULKHEAD_EXPORT cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return call([&] { copyBytes(to, from, bytes, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                            cudaStream_t stream) {
    return call([&] { copyBytes(to, from, bytes, kind, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyPeer(void* to, int toDevice, const void* from, int fromDevice,
                                           std::size_t bytes) {
    return call([&] {
        check(ready().cuMemcpyPeer(addressOf(to), primaryContext(toDevice), addressOf(from), primaryContext(fromDevice),
                                   bytes));
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice,
                                                std::size_t bytes, cudaStream_t stream) {
    return call([&] {
        check(ready().cuMemcpyPeerAsync(addressOf(to), primaryContext(toDevice), addressOf(from),
                                        primaryContext(fromDevice), bytes, streamOf(stream)));
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy2D(void* to, std::size_t toPitch, const void* from, std::size_t fromPitch,
                                         std::size_t width, std::size_t rows, cudaMemcpyKind kind) {
    return call([&] { copyRows(to, toPitch, from, fromPitch, width, rows, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy2DAsync(void* to, std::size_t toPitch, const void* from, std::size_t fromPitch,
                                              std::size_t width, std::size_t rows, cudaMemcpyKind kind,
                                              cudaStream_t stream) {
    return call([&] { copyRows(to, toPitch, from, fromPitch, width, rows, kind, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* box) {
    return call([&] {
        require(box != nullptr);
        copyBox(*box, nullptr, Completion::done);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* box, cudaStream_t stream) {
    return call([&] {
        require(box != nullptr);
        copyBox(*box, stream, Completion::enqueued);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* box) {
    return call([&] {
        require(box != nullptr);
        copyBox(withoutDevices(*box), nullptr, Completion::done);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* box, cudaStream_t stream) {
    return call([&] {
        require(box != nullptr);
        copyBox(withoutDevices(*box), stream, Completion::enqueued);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
    return call([&] { fillBytes(to, value, bytes, nullptr, Completion::done); });
}

BULKHEAD_EXPORT cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
    return call([&] { fillBytes(to, value, bytes, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows) {
    return call([&] { fillRows(to, pitch, value, width, rows, nullptr, Completion::done); });
}

BULKHEAD_EXPORT cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                                              std::size_t rows, cudaStream_t stream) {
    return call([&] { fillRows(to, pitch, value, width, rows, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
    return call([&] { fillBox(to, value, extent, nullptr, Completion::done); });
}

BULKHEAD_EXPORT cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
    return call([&] { fillBox(to, value, extent, stream, Completion::enqueued); });
}
