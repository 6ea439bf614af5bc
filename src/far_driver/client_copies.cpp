// Copies between the GPU and memory of this process: their bytes travel with the call. A box is packed row by row.

#include <vector>

#include "driver/flat_copy.h"
#include "driver/pointer_attributes.h"
#include "far_driver/client.h"

namespace bulkhead::far_driver {
namespace {

using namespace driver;

/// Device addresses begin here: no pointer of the host's is as high.
bool isDeviceAddress(CUdeviceptr address) {
    return address >> 48 != 0;
}
const void* pointerTo(CUdeviceptr address) {
    return reinterpret_cast<const void*>(address);
}

CUresult copyIn(std::uint32_t call, CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    if (!from && bytes > 0) return refuse(CUDA_ERROR_INVALID_VALUE, "a null pointer");
    Message message;
    message.put(to);
    message.put(stream);
    message.put(bytes);
    message.putBytes(from, bytes);
    return ask(call, message);
}

CUresult copyOut(std::uint32_t call, void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    if (!to && bytes > 0) return refuse(CUDA_ERROR_INVALID_VALUE, "a null pointer");
    Message message;
    message.put(from);
    message.put(stream);
    message.put(bytes);
    const CUresult result = ask(call, message);
    if (result == CUDA_SUCCESS && bytes > 0) std::memcpy(to, message.takeBytes(bytes), bytes);
    return result;
}

CUresult memcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
    return copyIn(numberOf(&DriverApi::cuMemcpyHtoD), to, from, bytes, nullptr);
}
CUresult memcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    return copyIn(numberOf(&DriverApi::cuMemcpyHtoDAsync), to, from, bytes, stream);
}
CUresult memcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
    return copyOut(numberOf(&DriverApi::cuMemcpyDtoH), to, from, bytes, nullptr);
}
CUresult memcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return copyOut(numberOf(&DriverApi::cuMemcpyDtoHAsync), to, from, bytes, stream);
}

/// What is between two pointers of the host takes its turn all the same.
CUresult memcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    if (isDeviceAddress(to) && isDeviceAddress(from))
        return FarCall<&DriverApi::cuMemcpyDtoDAsync>::call(to, from, bytes, stream);
    if (isDeviceAddress(to)) return memcpyHtoDAsync(to, pointerTo(from), bytes, stream);
    if (isDeviceAddress(from)) return memcpyDtoHAsync(const_cast<void*>(pointerTo(to)), from, bytes, stream);
    const CUresult result = FarCall<&DriverApi::cuStreamSynchronize>::call(stream);
    if (result == CUDA_SUCCESS) std::memmove(const_cast<void*>(pointerTo(to)), pointerTo(from), bytes);
    return result;
}
CUresult memcpyNow(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    if (isDeviceAddress(to) && isDeviceAddress(from)) return FarCall<&DriverApi::cuMemcpyDtoD>::call(to, from, bytes);
    if (isDeviceAddress(to)) return memcpyHtoD(to, pointerTo(from), bytes);
    if (isDeviceAddress(from)) return memcpyDtoH(const_cast<void*>(pointerTo(to)), from, bytes);
    return memcpyAsync(to, from, bytes, nullptr);
}

/// The side of a box that lies in memory of this process.
struct HostSide {
    std::uint8_t* first = nullptr;  ///< null: on the GPU
    std::size_t pitch = 0, slice = 0;
};

HostSide hostSide(CUmemorytype type, const void* host, CUdeviceptr device, std::size_t x, std::size_t y, std::size_t z,
                  std::size_t pitch, std::size_t rows, const CUDA_MEMCPY3D& box) {
    const bool unified = type == kUnifiedMemory && !isDeviceAddress(device);
    if (type != kHostMemory && !unified) return {};
    if (pitch == 0) pitch = x + box.WidthInBytes;
    if (rows == 0) rows = y + box.Height;
    const auto base = unified ? device : reinterpret_cast<CUdeviceptr>(host);
    return {reinterpret_cast<std::uint8_t*>(base + z * pitch * rows + y * pitch + x), pitch, pitch * rows};
}

template <class Body>
void forEachRow(const CUDA_MEMCPY3D& box, const HostSide& side, Body&& body) {
    for (std::size_t z = 0; z < box.Depth; ++z)
        for (std::size_t y = 0; y < box.Height; ++y) body(side.first + z * side.slice + y * side.pitch);
}

CUresult copyBox(const CUDA_MEMCPY3D* given, const CUstream* stream) {
    if (!given) return refuse(CUDA_ERROR_INVALID_VALUE, "no description of a copy");
    CUDA_MEMCPY3D box = *given;
    const HostSide from = hostSide(box.srcMemoryType, box.srcHost, box.srcDevice, box.srcXInBytes, box.srcY, box.srcZ,
                                   box.srcPitch, box.srcHeight, box);
    const HostSide to = hostSide(box.dstMemoryType, box.dstHost, box.dstDevice, box.dstXInBytes, box.dstY, box.dstZ,
                                 box.dstPitch, box.dstHeight, box);
    Message message;
    message.put(stream != nullptr);
    message.put(stream ? *stream : nullptr);
    message.put(from.first != nullptr);
    message.put(to.first != nullptr);
    message.put(box);
    if (from.first) forEachRow(box, from, [&](const std::uint8_t* row) { message.putBytes(row, box.WidthInBytes); });
    const CUresult result = ask(numberOf(&DriverApi::cuMemcpy3D), message);
    if (result == CUDA_SUCCESS && to.first)
        forEachRow(box, to,
                   [&](std::uint8_t* row) { std::memcpy(row, message.takeBytes(box.WidthInBytes), box.WidthInBytes); });
    return result;
}

CUresult copyFlat(const CUDA_MEMCPY2D* copy, const CUstream* stream) {
    if (!copy) return refuse(CUDA_ERROR_INVALID_VALUE, "no description of a copy");
    const CUDA_MEMCPY3D box = flat(*copy);
    return copyBox(&box, stream);
}

CUresult memcpy2D(const CUDA_MEMCPY2D* copy) {
    return copyFlat(copy, nullptr);
}
CUresult memcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
    return copyFlat(copy, &stream);
}
CUresult memcpy3D(const CUDA_MEMCPY3D* copy) {
    return copyBox(copy, nullptr);
}
CUresult memcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream) {
    return copyBox(copy, &stream);
}

}  // namespace

void enterCopies(DriverApi& api) {
    api.cuMemcpy = memcpyNow;
    api.cuMemcpyAsync = memcpyAsync;
    api.cuMemcpyHtoD = memcpyHtoD;
    api.cuMemcpyHtoDAsync = memcpyHtoDAsync;
    api.cuMemcpyDtoH = memcpyDtoH;
    api.cuMemcpyDtoHAsync = memcpyDtoHAsync;
    api.cuMemcpy2D = memcpy2D;
    api.cuMemcpy2DUnaligned = memcpy2D;
    api.cuMemcpy2DAsync = memcpy2DAsync;
    api.cuMemcpy3D = memcpy3D;
    api.cuMemcpy3DAsync = memcpy3DAsync;
}

}  // namespace bulkhead::far_driver
