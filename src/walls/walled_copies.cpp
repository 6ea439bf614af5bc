// Copies and fills go where the bytes are: kernels behind the same walls move them, by way of plain memory where the
// host is the other end. A few words are copied without kernels.

#include <algorithm>

#include "walls/walled_context.h"

namespace bulkhead::walls {

using driver::CUdeviceptr;
using driver::CUstream;

namespace {

constexpr std::size_t kStagedBytes = 32_MiB;  ///< of plain memory that a copy takes at a time
constexpr std::size_t kFewBytes = 256;
constexpr unsigned kThreadsPerBlock = 256, kElementsPerThread = 4;
constexpr driver::CUmemorytype kHost = 1, kDevice = 2;

/// Plain memory for a part of a stream's work.
class Staging {
  public:
    /// Of work that is captured: memory of its graph's.
    Staging(const driver::DriverApi& api, CUdeviceptr captured) : api_(api), address_(captured) {}
    Staging(const driver::DriverApi& api, driver::CUmemoryPool pool, std::size_t bytes, CUstream stream)
        : api_(api), pool_(pool), stream_(stream) {
        const driver::CUresult result = api_.cuMemAllocFromPoolAsync(&address_, bytes, pool, stream_);
        if (result != driver::CUDA_SUCCESS) throw Failure{result, "no memory to copy by way of"};
    }
    ~Staging() {
        if (pool_ != nullptr) api_.cuMemFreeAsync(address_, stream_);
    }
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    CUdeviceptr address() const { return address_; }

  private:
    const driver::DriverApi& api_;
    driver::CUmemoryPool pool_ = nullptr;
    CUstream stream_ = nullptr;
    CUdeviceptr address_ = 0;
};

WalledContext::End advanced(WalledContext::End end, std::size_t bytes) {
    if (end.host) {
        end.host = static_cast<char*>(end.host) + bytes;
    } else {
        end.device += bytes;
    }
    return end;
}

}  // namespace

/// A pool that keeps what it took: to take it from the driver for each copy costs far more than most copies.
void WalledContext::makeStaging() {
    constexpr driver::CUmemAllocationType kPinned = 1;
    constexpr driver::CUmemLocationType kOnDevice = 1;
    constexpr driver::CUmemPool_attribute kReleaseThreshold = 4;
    driver::CUmemPoolProps properties = {};
    properties.allocType = kPinned;
    properties.location = {kOnDevice, device_};
    check(inner_.cuMemPoolCreate(&staging_, &properties), "cannot make a pool for copies");
    std::uint64_t kept = kStagedBytes;
    check(inner_.cuMemPoolSetAttribute(staging_, kReleaseThreshold, &kept), "cannot make a pool for copies");
}

void WalledContext::plainCopy(const End& to, const End& from, std::size_t width, std::size_t height, CUstream stream) {
    driver::CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = from.host ? kHost : kDevice;
    copy.srcHost = from.host;
    copy.srcDevice = from.device;
    copy.srcPitch = from.pitch;
    copy.dstMemoryType = to.host ? kHost : kDevice;
    copy.dstHost = to.host;
    copy.dstDevice = to.device;
    copy.dstPitch = to.pitch;
    copy.WidthInBytes = width;
    copy.Height = height;
    if (height > 1) {
        check(inner_.cuMemcpy2DAsync(&copy, stream), "");
    } else if (from.host && !to.host) {
        check(inner_.cuMemcpyHtoDAsync(to.device, from.host, width, stream), "");
    } else if (to.host && !from.host) {
        check(inner_.cuMemcpyDtoHAsync(to.host, from.device, width, stream), "");
    } else if (!to.host) {
        check(inner_.cuMemcpyDtoDAsync(to.device, from.device, width, stream), "");
    } else {
        check(inner_.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to.host), reinterpret_cast<CUdeviceptr>(from.host),
                                   width, stream),
              "");
    }
}

void WalledContext::launchMover(const char* name, std::size_t elements, CUstream stream, void** parameters) {
    const std::size_t perBlock = kThreadsPerBlock * kElementsPerThread;
    const std::size_t most = static_cast<std::size_t>(allSms_) * 64;
    Shape shape;
    shape.grid.x = static_cast<unsigned>(std::clamp<std::size_t>((elements + perBlock - 1) / perBlock, 1, most));
    shape.block.x = kThreadsPerBlock;
    launch(function(movers_, name), shape, stream, parameters, nullptr);
}

void WalledContext::copyOnDevice(const End& to, const End& from, std::size_t width, std::size_t height,
                                 CUstream stream) {
    CUdeviceptr target = to.device, source = from.device;
    std::size_t toPitch = to.pitch, fromPitch = from.pitch;
    const std::size_t pitches = height > 1 ? toPitch | fromPitch : 0;
    const bool wide = (target | source | width | pitches) % 16 == 0;
    std::size_t elements = wide ? width / 16 : width;
    void* parameters[] = {&target, &toPitch, &source, &fromPitch, &elements, &height};
    launchMover(wide ? "copyRows16" : "copyRows1", elements * height, stream, parameters);
}

bool WalledContext::liesInOnePiece(CUdeviceptr address, std::size_t bytes) const {
    const CUdeviceptr first = realAddress(address);
    for (std::size_t offset = kSector - address % kSector; offset < bytes; offset += kSector)
        if (realAddress(address + offset) != first + offset) return false;
    return true;
}

void WalledContext::copy(const End& to, const End& from, std::size_t width, std::size_t height, CUstream stream) {
    if (width == 0 || height == 0) return;
    const bool toInside = !to.host && isTranslated(to.device), fromInside = !from.host && isTranslated(from.device);
    if (!toInside && !fromInside) return plainCopy(to, from, width, height, stream);
    if (!to.host && !from.host) return copyOnDevice(to, from, width, height, stream);
    // A few words go straight to where they are: a kernel would wait for the one that fills the SMs inside,
    // and that one perhaps for these words.
    if (height == 1 && width <= kFewBytes) {
        End realTo = to, realFrom = from;
        End& inside = toInside ? realTo : realFrom;
        if (liesInOnePiece(inside.device, width)) {
            inside.device = realAddress(inside.device);
            return plainCopy(realTo, realFrom, width, height, stream);
        }
    }
    // Pieces of a row, or of as many rows as fit.
    const std::size_t piece = std::min(width, kStagedBytes), rows = std::min(height, kStagedBytes / piece);
    const Staging staging = graphs_.isCaptured(stream) ? Staging(inner_, graphs_.memoryFor(stream, piece * rows))
                                                       : Staging(inner_, staging_, piece * rows, stream);
    const End staged{staging.address(), nullptr, piece};
    for (std::size_t y = 0; y < height; y += rows)
        for (std::size_t x = 0; x < width; x += piece) {
            const End t = advanced(to, y * to.pitch + x), f = advanced(from, y * from.pitch + x);
            const std::size_t w = std::min(piece, width - x), h = std::min(rows, height - y);
            if (toInside) {
                plainCopy(staged, f, w, h, stream);
                copyOnDevice(t, staged, w, h, stream);
            } else {
                copyOnDevice(staged, f, w, h, stream);
                plainCopy(t, staged, w, h, stream);
            }
        }
}

void WalledContext::fill(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned elementBytes, std::size_t width,
                         std::size_t height, CUstream stream) {
    if (width == 0 || height == 0) return;
    if (!isTranslated(to)) {
        if (elementBytes == 1)
            check(inner_.cuMemsetD2D8Async(to, pitch, static_cast<unsigned char>(value), width, height, stream), "");
        if (elementBytes == 2)
            check(inner_.cuMemsetD2D16Async(to, pitch, static_cast<unsigned short>(value), width, height, stream), "");
        if (elementBytes == 4) check(inner_.cuMemsetD2D32Async(to, pitch, value, width, height, stream), "");
        return;
    }
    const std::size_t pitches = height > 1 ? pitch : 0;
    const bool wide = (to | width * elementBytes | pitches) % 16 == 0;
    if (to % elementBytes != 0) throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "a fill that is not aligned"};
    unsigned word = value;
    if (wide && elementBytes == 1) word = (value & 0xff) * 0x0101'0101u;
    if (wide && elementBytes == 2) word = (value & 0xffff) * 0x0001'0001u;
    std::size_t elements = wide ? width * elementBytes / 16 : width;
    void* parameters[] = {&to, &pitch, &word, &elements, &height};
    const char* const narrow = elementBytes == 1 ? "fillRows1" : elementBytes == 2 ? "fillRows2" : "fillRows4";
    launchMover(wide ? "fillRows16" : narrow, elements * height, stream, parameters);
}

}  // namespace bulkhead::walls
