// Memory of the tenant's colors, and no more than its share.

#include <algorithm>

#include "base/error.h"
#include "gpu/page_colors.h"
#include "walls/page_pool.h"
#include "walls/walled_context.h"

namespace bulkhead::walls {

using driver::CUdeviceptr;

void WalledContext::expectLeft(Bytes bytes) const {
    if (bytes == 0) throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes"};
    if (walls_.memory != 0 && bytes > walls_.memory - used_)
        throw Failure{driver::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes asked for, {} of a share of {} left",
                                                                    bytes, walls_.memory - used_, walls_.memory)};
}

/// It moves between GPU and host as it is used, and has no color. So behind a memory wall it stays at the host, where
/// kernels reach it as they reach pinned memory.
CUdeviceptr WalledContext::allocateManaged(Bytes bytes, unsigned flags) {
    CUdeviceptr address = 0;
    if (hasMemoryWall()) {
        constexpr unsigned kPortable = 1, kMapped = 2, kGlobal = 1, kHost = 2;
        if (bytes == 0 || (flags != kGlobal && flags != kHost))
            throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "no such managed memory"};
        void* host = nullptr;
        check(inner_.cuMemHostAlloc(&host, bytes, kPortable | kMapped), "");
        check(inner_.cuMemHostGetDevicePointer(&address, host, 0), "");
        if (address != reinterpret_cast<CUdeviceptr>(host)) {
            inner_.cuMemFreeHost(host);
            throw Failure{driver::CUDA_ERROR_NOT_SUPPORTED, "the GPU has other addresses for the host's memory"};
        }
        allocations_.emplace(address, Allocation{.bytes = bytes, .onHost = true});
        return address;
    }
    expectLeft(bytes);
    check(inner_.cuMemAllocManaged(&address, bytes, flags), "");
    allocations_.emplace(address, Allocation{.bytes = bytes});
    used_ += bytes;
    return address;
}

bool WalledContext::isManaged(CUdeviceptr address) const {
    auto found = allocations_.upper_bound(address);
    return found != allocations_.begin() && address - (--found)->first < found->second.bytes && found->second.onHost;
}

CUdeviceptr WalledContext::allocate(Bytes bytes) {
    expectLeft(bytes);
    Allocation allocation;
    allocation.bytes = bytes;
    CUdeviceptr address = 0;
    if (space_) {
        try {
            allocation.range = space_->allocate(bytes);
        } catch (const Error& e) {
            throw Failure{driver::CUDA_ERROR_OUT_OF_MEMORY, e.what()};
        }
        if (!allocation.range)
            throw Failure{driver::CUDA_ERROR_OUT_OF_MEMORY,
                          fmt::format("no {} bytes of the colors in one piece", bytes)};
        address = space_->window() + allocation.range->offset;
        if (allocation.range->used) {
            fill(address, 0, 0, 1, allocation.range->bytes, 1, default_);
            waitFor(default_);
        }
    } else {
        address = allocatePages(bytes);
    }
    allocations_.emplace(address, allocation);
    used_ += bytes;
    return address;
}

CUdeviceptr WalledContext::allocatePages(Bytes bytes) {
    std::optional<gpu::PagesOfColors> placed;
    if (hasMemoryWall()) placed.emplace(kColoredPage, walls_.colors);
    CUdeviceptr address = 0;
    check(inner_.cuMemAlloc(&address, bytes), "");
    return address;
}

void WalledContext::free(CUdeviceptr address) {
    if (address == 0) return;
    const auto found = allocations_.find(address);
    if (found == allocations_.end())
        throw Failure{driver::CUDA_ERROR_INVALID_VALUE, fmt::format("nothing was allocated at 0x{:x}", address)};
    if (!found->second.onHost) used_ -= found->second.bytes;
    release(found->second, address);
    allocations_.erase(found);
}

void WalledContext::release(const Allocation& allocation, CUdeviceptr address) {
    if (allocation.onHost) {
        inner_.cuMemFreeHost(reinterpret_cast<void*>(address));
    } else if (space_) {
        space_->heap.free(*allocation.range);
    } else {
        inner_.cuMemFree(address);
    }
}

std::optional<WalledContext::Range> WalledContext::allocationAt(CUdeviceptr address) const {
    auto found = allocations_.upper_bound(address);
    if (found == allocations_.begin() || address - (--found)->first >= found->second.bytes) return std::nullopt;
    return Range{found->first, found->second.bytes};
}

CUdeviceptr WalledContext::realAddress(CUdeviceptr address) const {
    return isTranslated(address) ? space_->realAddress(address) : address;
}

unsigned WalledContext::colorOf(CUdeviceptr address) const {
    if (coloring_ == Coloring::pages) {
        makeCurrent();
        return gpu::pageColor(address);
    }
    if (!isTranslated(address)) throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "an address that has no color"};
    return space_->colorOf(address);
}

void WalledContext::memoryInfo(std::size_t* free, std::size_t* total) const {
    std::size_t innerFree = 0, innerTotal = 0;
    check(inner_.cuMemGetInfo(&innerFree, &innerTotal), "");
    const Bytes share = walls_.memory != 0 ? walls_.memory : innerTotal;
    if (total) *total = share;
    if (free) *free = walls_.memory != 0 ? share - used_ : innerFree;
}

}  // namespace bulkhead::walls
