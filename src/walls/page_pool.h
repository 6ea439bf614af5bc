#pragma once

#include <vector>

#include "base/units.h"
#include "gpu/gpu.h"

namespace bulkhead::walls {

/// Device memory in pages of 2 MB, each at an address of our choosing. A page is physically contiguous, so that what an
/// address hash makes of its bytes follows from their offset and from a label of the page.
class PagePool {
  public:
    static constexpr Bytes kPageBytes = 2_MiB;

    /// Takes as many pages as `bytes` need, cleared, and maps them one after the other, from a multiple of `alignment`
    /// on (0: of a page). `reserved` addresses, if they are more, are kept free of anything else. Throws Error if there
    /// is not enough memory.
    PagePool(gpu::Gpu&, Bytes bytes, Bytes reserved, Bytes alignment = 0);
    ~PagePool();
    PagePool(const PagePool&) = delete;
    PagePool& operator=(const PagePool&) = delete;

    driver::CUdeviceptr base() const { return base_; }
    std::size_t pages() const { return handles_.size(); }
    Bytes bytes() const { return pages() * kPageBytes; }

    /// Maps page order[i] to place i, and gives back the pages that are not named.
    void arrange(const std::vector<std::size_t>& order);
    void clear();

  private:
    void mapAll();
    void unmapAll();

    gpu::Context context_;
    driver::CUdevice device_ = 0;
    driver::CUdeviceptr base_ = 0;
    Bytes reserved_ = 0;
    bool mapped_ = false;
    std::vector<driver::CUmemGenericAllocationHandle> handles_;
};

}  // namespace bulkhead::walls
