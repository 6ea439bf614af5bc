#pragma once

#include <map>
#include <vector>

#include "walls/color_space.h"
#include "walls/page_pool.h"
#include "walls/slice_layout.h"

namespace bulkhead::walls {

/// Any set of slices: see SliceLayout. No offset in the window leads out of the tables, or to memory of another slice.
class SliceSpace final : public ColorSpace {
  public:
    /// Units of the pool whose slice (residue + modulus x group) is one of `slices`; pages have these labels.
    SliceSpace(gpu::Gpu&, const Pool&, const dissect::ResidueHash&, const std::vector<dissect::PageLabel>& pages,
               const std::vector<unsigned>& slices);
    /// Of a pool that grows by blocks, and whose blocks have these labels once it has grown.
    SliceSpace(gpu::Gpu&, const Pool&, const SliceLayout&, const std::vector<dissect::PageLabel>& blocks);
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
    SliceSpace(gpu::Gpu&, const Pool&, SliceLayout, const std::vector<dissect::PageLabel>* labels);
    static constexpr const char* kBlocksTable = "bulkhead_blocks";
    void takeBlocks();
    void writeBlocks(driver::CUdeviceptr table, std::size_t first, std::size_t count);
    Pool pool_;
    SliceLayout layout_;
    const std::vector<dissect::PageLabel>* labels_;  ///< of a pool that grows
    std::vector<SpanSize> blocks_;
    std::map<driver::CUmodule, driver::CUdeviceptr> modules_;  ///< that have a table of blocks of their own
    PagePool tables_;
    SliceColor color_, hostColor_;
};

}  // namespace bulkhead::walls
