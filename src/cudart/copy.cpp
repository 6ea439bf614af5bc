#include "cudart/copy.h"

#include <cstring>

namespace bulkhead::cudart {
namespace {

using driver::CUDA_MEMCPY2D;
using driver::CUDA_MEMCPY3D;

constexpr int kHostMemory = 1, kDeviceMemory = 2;  // CUmemorytype

/// Whether the driver takes memory for the host's. Of a pointer that CUDA has never heard of, the caller's claim is all
/// there is: the driver refuses one that is wrongly taken for the device's.
bool isHost(const void* pointer, bool claimed) {
    constexpr int memoryType = 2;  // CUpointer_attribute
    int type = 0;
    const CUresult result = api().cuPointerGetAttribute(&type, memoryType, addressOf(pointer));
    return result == kSuccess ? type == kHostMemory : claimed;
}

/// A synchronous call on the thread's own default stream is one that is put there and waited for.
bool waitsInStream(Completion completion) {
    return completion == Completion::done && perThreadDefault();
}

template <class Synchronous, class Asynchronous>
void carryOut(CUstream stream, Completion completion, Synchronous&& synchronous, Asynchronous&& asynchronous) {
    if (completion == Completion::done && !waitsInStream(completion)) {
        check(synchronous());
        return;
    }
    check(asynchronous(streamOf(stream)));
    if (completion == Completion::done) check(api().cuStreamSynchronize(streamOf(stream)));
}

void checkPitches(std::size_t width, std::size_t toPitch, std::size_t fromPitch, std::size_t rows) {
    require(rows <= 1 || (width <= toPitch && width <= fromPitch), kInvalidPitchValue);
}

void copyRows(void* to, std::size_t toPitch, const void* from, std::size_t fromPitch, std::size_t width,
              std::size_t rows, CopyKind kind, CUstream stream, Completion completion) {
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
        [&](CUstream in) { return api().cuMemcpy2DAsync(&copy, in); });
}

void copyBox(const Copy3D& box, CUstream stream, Completion completion) {
    ready();
    require(!box.fromArray && !box.toArray, kNotSupported);
    checkPitches(box.extent.width, box.to.pitch, box.from.pitch, box.extent.height * box.extent.depth);
    if (box.extent.width == 0 || box.extent.height == 0 || box.extent.depth == 0) return;
    const Route route = routeOf(box.kind, box.to.pointer, box.from.pointer);
    CUDA_MEMCPY3D copy;
    std::memset(&copy, 0, sizeof copy);
    copy.srcXInBytes = box.fromPosition.x;
    copy.srcY = box.fromPosition.y;
    copy.srcZ = box.fromPosition.z;
    copy.srcMemoryType = route.fromHost ? kHostMemory : kDeviceMemory;
    copy.srcHost = box.from.pointer;
    copy.srcDevice = addressOf(box.from.pointer);
    copy.srcPitch = box.from.pitch;
    copy.srcHeight = box.from.yRows;
    copy.dstXInBytes = box.toPosition.x;
    copy.dstY = box.toPosition.y;
    copy.dstZ = box.toPosition.z;
    copy.dstMemoryType = route.toHost ? kHostMemory : kDeviceMemory;
    copy.dstHost = box.to.pointer;
    copy.dstDevice = addressOf(box.to.pointer);
    copy.dstPitch = box.to.pitch;
    copy.dstHeight = box.to.yRows;
    copy.WidthInBytes = box.extent.width;
    copy.Height = box.extent.height;
    copy.Depth = box.extent.depth;
    carryOut(
        stream, completion, [&] { return api().cuMemcpy3D(&copy); },
        [&](CUstream in) { return api().cuMemcpy3DAsync(&copy, in); });
}

/// Unified addresses say which device each side lies on.
Copy3D withoutDevices(const PeerCopy3D& p) {
    return {p.fromArray, p.fromPosition, p.from, p.toArray, p.toPosition, p.to, p.extent, CopyKind::deviceToDevice};
}

void fillBytes(void* to, int value, std::size_t bytes, CUstream stream, Completion completion) {
    ready();
    if (bytes == 0) return;
    const auto byte = static_cast<unsigned char>(value);
    carryOut(
        stream, completion, [&] { return api().cuMemsetD8(addressOf(to), byte, bytes); },
        [&](CUstream in) { return api().cuMemsetD8Async(addressOf(to), byte, bytes, in); });
}

void fillRows(void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows, CUstream stream,
              Completion completion) {
    ready();
    require(rows <= 1 || width <= pitch, kInvalidPitchValue);
    if (width == 0 || rows == 0) return;
    const auto byte = static_cast<unsigned char>(value);
    carryOut(
        stream, completion, [&] { return api().cuMemsetD2D8(addressOf(to), pitch, byte, width, rows); },
        [&](CUstream in) { return api().cuMemsetD2D8Async(addressOf(to), pitch, byte, width, rows, in); });
}

void fillBox(const PitchedPointer& to, int value, const Extent& extent, CUstream stream, Completion completion) {
    for (std::size_t z = 0; z < extent.depth; ++z)
        fillRows(static_cast<char*>(to.pointer) + z * to.pitch * to.yRows, to.pitch, value, extent.width, extent.height,
                 stream, completion);
}

}  // namespace

Route routeOf(CopyKind kind, const void* to, const void* from) {
    require(kind >= CopyKind::hostToHost && kind <= CopyKind::fromPointers, kInvalidMemcpyDirection);
    const bool fromDevice = kind == CopyKind::deviceToHost || kind == CopyKind::deviceToDevice;
    const bool toDevice = kind == CopyKind::hostToDevice || kind == CopyKind::deviceToDevice;
    return {isHost(from, !fromDevice), isHost(to, !toDevice)};
}

void copyBytes(void* to, const void* from, std::size_t bytes, CopyKind kind, CUstream stream, Completion completion) {
    const driver::DriverApi& d = ready();
    if (bytes == 0) return;
    const Route route = routeOf(kind, to, from);
    const CUdeviceptr toAddress = addressOf(to), fromAddress = addressOf(from);
    if (route.fromHost && route.toHost) {
        carryOut(
            stream, completion, [&] { return d.cuMemcpy(toAddress, fromAddress, bytes); },
            [&](CUstream in) { return d.cuMemcpyAsync(toAddress, fromAddress, bytes, in); });
    } else if (route.fromHost) {
        carryOut(
            stream, completion, [&] { return d.cuMemcpyHtoD(toAddress, from, bytes); },
            [&](CUstream in) { return d.cuMemcpyHtoDAsync(toAddress, from, bytes, in); });
    } else if (route.toHost) {
        carryOut(
            stream, completion, [&] { return d.cuMemcpyDtoH(to, fromAddress, bytes); },
            [&](CUstream in) { return d.cuMemcpyDtoHAsync(to, fromAddress, bytes, in); });
    } else {
        carryOut(
            stream, completion, [&] { return d.cuMemcpyDtoD(toAddress, fromAddress, bytes); },
            [&](CUstream in) { return d.cuMemcpyDtoDAsync(toAddress, fromAddress, bytes, in); });
    }
}

}  // namespace bulkhead::cudart

using namespace bulkhead::cudart;

BULKHEAD_EXPORT CudaError cudaMemcpy(void* to, const void* from, std::size_t bytes, CopyKind kind) {
    return call([&] { copyBytes(to, from, bytes, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT CudaError cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, CopyKind kind,
                                          CUstream stream) {
    return call([&] { copyBytes(to, from, bytes, kind, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT CudaError cudaMemcpyPeer(void* to, int toDevice, const void* from, int fromDevice, std::size_t bytes) {
    return call([&] {
        check(ready().cuMemcpyPeer(addressOf(to), primaryContext(toDevice), addressOf(from), primaryContext(fromDevice),
                                   bytes));
    });
}

BULKHEAD_EXPORT CudaError cudaMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice,
                                              std::size_t bytes, CUstream stream) {
    return call([&] {
        check(ready().cuMemcpyPeerAsync(addressOf(to), primaryContext(toDevice), addressOf(from),
                                        primaryContext(fromDevice), bytes, streamOf(stream)));
    });
}

BULKHEAD_EXPORT CudaError cudaMemcpy2D(void* to, std::size_t toPitch, const void* from, std::size_t fromPitch,
                                       std::size_t width, std::size_t rows, CopyKind kind) {
    return call([&] { copyRows(to, toPitch, from, fromPitch, width, rows, kind, nullptr, Completion::done); });
}

BULKHEAD_EXPORT CudaError cudaMemcpy2DAsync(void* to, std::size_t toPitch, const void* from, std::size_t fromPitch,
                                            std::size_t width, std::size_t rows, CopyKind kind, CUstream stream) {
    return call([&] { copyRows(to, toPitch, from, fromPitch, width, rows, kind, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT CudaError cudaMemcpy3D(const Copy3D* box) {
    return call([&] {
        require(box != nullptr);
        copyBox(*box, nullptr, Completion::done);
    });
}

BULKHEAD_EXPORT CudaError cudaMemcpy3DAsync(const Copy3D* box, CUstream stream) {
    return call([&] {
        require(box != nullptr);
        copyBox(*box, stream, Completion::enqueued);
    });
}

BULKHEAD_EXPORT CudaError cudaMemcpy3DPeer(const PeerCopy3D* box) {
    return call([&] {
        require(box != nullptr);
        copyBox(withoutDevices(*box), nullptr, Completion::done);
    });
}

BULKHEAD_EXPORT CudaError cudaMemcpy3DPeerAsync(const PeerCopy3D* box, CUstream stream) {
    return call([&] {
        require(box != nullptr);
        copyBox(withoutDevices(*box), stream, Completion::enqueued);
    });
}

BULKHEAD_EXPORT CudaError cudaMemset(void* to, int value, std::size_t bytes) {
    return call([&] { fillBytes(to, value, bytes, nullptr, Completion::done); });
}

BULKHEAD_EXPORT CudaError cudaMemsetAsync(void* to, int value, std::size_t bytes, CUstream stream) {
    return call([&] { fillBytes(to, value, bytes, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT CudaError cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows) {
    return call([&] { fillRows(to, pitch, value, width, rows, nullptr, Completion::done); });
}

BULKHEAD_EXPORT CudaError cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows,
                                            CUstream stream) {
    return call([&] { fillRows(to, pitch, value, width, rows, stream, Completion::enqueued); });
}

BULKHEAD_EXPORT CudaError cudaMemset3D(PitchedPointer to, int value, Extent extent) {
    return call([&] { fillBox(to, value, extent, nullptr, Completion::done); });
}

BULKHEAD_EXPORT CudaError cudaMemset3DAsync(PitchedPointer to, int value, Extent extent, CUstream stream) {
    return call([&] { fillBox(to, value, extent, stream, Completion::enqueued); });
}
