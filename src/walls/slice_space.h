#pragma once

#include <map>
#include <memory>
#include <vector>

#include "walls/color_space.h"
#include "walls/page_pool.h"
#include "walls/slice_layout.h"

namespace bulkhead::walls {

/// Any set of slices: see SliceLayout. No offset in the window leads out of the tables, or to memory of another slice.
class SliceSpace final : public ColorSpace {
  public:
    /// Of memory that lies as a layout says, from the pool's beginning on.
    SliceSpace(gpu::Gpu&, const Pool&, SliceLayout);
    /// Of a pool that grows by blocks, and whose blocks have these labels once it has grown.
    SliceSpace(gpu::Gpu&, const Pool&, SliceLayout, const std::vector<dissect::PageLabel>& blocks);
    /// Of the pages of a pool, `used` by an earlier space of these slices or not.
    SliceSpace(gpu::Gpu&, const PagePool&, bool used, const SliceLayout&);
    driver::CUdeviceptr realAddress(driver::CUdeviceptr address) const override;
    unsigned colorOf(driver::CUdeviceptr address) const override;
    ptx::AccessTranslation translation(Bytes constantBytes) const override;
    void loaded(driver::CUmodule) override;
    void unloaded(driver::CUmodule) override;
    Bytes bytes() const override;
    std::optional<ColoredHeap::Range> allocate(Bytes) override;
    /// For device code.
    const SliceColor& color() const { return color_; }
    /// How much of a pool of these pages each slice has.
    static std::vector<Bytes> bytesOfSlices(const dissect::ResidueHash&, const std::vector<dissect::PageLabel>& pages);

  private:
    SliceSpace(gpu::Gpu&, const Pool&, SliceLayout, const std::vector<dissect::PageLabel>* labels,
               std::unique_ptr<PageView>);
    static constexpr const char* kBlocksTable = "bulkhead_blocks";
    void takeBlocks();
    void write(driver::CUdeviceptr, const void* from, Bytes);
    void writeBlocks(driver::CUdeviceptr table, std::size_t first, std::size_t count);
    void writeBlocksOf(driver::CUdeviceptr constants, std::size_t first, std::size_t count);
    Pool pool_;
    SliceLayout layout_;
    const std::vector<dissect::PageLabel>* labels_;            ///< of a pool that grows
    std::unique_ptr<PageView> view_;                           ///< of pages that lie elsewhere
    std::vector<std::uint32_t> blocks_;                        ///< what each inverts
    std::map<driver::CUmodule, driver::CUdeviceptr> modules_;  ///< that have a table of blocks of their own
    PagePool tables_;
    SliceColor color_, hostColor_;
};

}  // namespace bulkhead::walls
