#pragma once

#include <optional>
#include <vector>

#include "base/units.h"
#include "gpu/gpu.h"

namespace bulkhead::walls {

/// Device memory in blocks that the driver gives as a whole, pages of 2 MB or larger ones, each at an address of our
/// choosing. A page is physically contiguous, so that what an address hash makes of its bytes follows from their offset
/// and from a label of the page.
class PagePool {
  public:
    static constexpr Bytes kPageBytes = 2_MiB;
    using Handle = driver::CUmemGenericAllocationHandle;

    /// Takes as many pages as `bytes` need, cleared, and maps them one after the other, from a multiple of `alignment`
    /// on (0: of a page). `reserved` addresses, if they are more, are kept free of anything else. Throws Error if there
    /// is not enough memory.
    PagePool(gpu::Gpu&, Bytes bytes, Bytes reserved, Bytes alignment = 0);
    /// Addresses for blocks, from a multiple of their size on, where nothing is yet.
    struct Blocks {
        Bytes each = 0, most = 0;
    };
    PagePool(gpu::Gpu&, const Blocks&);
    ~PagePool();
    PagePool(const PagePool&) = delete;
    PagePool& operator=(const PagePool&) = delete;

    driver::CUdeviceptr base() const { return base_; }
    std::size_t blocks() const { return handles_.size(); }
    Bytes blockBytes() const { return blockBytes_; }
    Bytes bytes() const { return blocks() * blockBytes_; }
    std::size_t pages() const { return bytes() / kPageBytes; }
    Bytes reserved() const { return reserved_; }

    /// Maps blocks behind those that are there. They are the pool's from then on, also if that fails.
    void append(const std::vector<Handle>&);
    /// Maps block order[i] to place i, and gives back the blocks that are not named.
    void arrange(const std::vector<std::size_t>& order);
    void clear();

  private:
    friend class PageView;
    PagePool(gpu::Gpu&, Bytes reserved, Bytes alignment, const Blocks&);
    void map(std::size_t first);
    void unmapAll();

    gpu::Context context_;
    driver::CUdevice device_ = 0;
    driver::CUdeviceptr base_ = 0;
    Bytes reserved_ = 0, blockBytes_ = kPageBytes;
    std::size_t mapped_ = 0;  ///< blocks, the first ones
    std::vector<Handle> handles_;
};

/// Blocks of a pool once more, in another order.
class PageView {
  public:
    /// Block order[i] is in place i, nothing where there is none; `reserved` addresses are kept free of anything else.
    PageView(gpu::Gpu&, const PagePool&, const std::vector<std::optional<std::size_t>>& order, Bytes reserved);
    ~PageView();
    PageView(const PageView&) = delete;
    PageView& operator=(const PageView&) = delete;

    driver::CUdeviceptr base() const { return base_; }

  private:
    gpu::Context context_;
    driver::CUdeviceptr base_ = 0;
    Bytes reserved_ = 0, blockBytes_ = 0;
    std::vector<driver::CUdeviceptr> mapped_;
};

}  // namespace bulkhead::walls
