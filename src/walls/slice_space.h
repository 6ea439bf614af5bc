#pragma once

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
    driver::CUdeviceptr realAddress(driver::CUdeviceptr address) const override;
    unsigned colorOf(driver::CUdeviceptr address) const override;
    ptx::AccessTranslation translation(Bytes constantBytes) const override;
    /// For device code.
    const SliceColor& color() const { return color_; }
    /// How much of a pool of these pages each slice has.
    static std::vector<Bytes> bytesOfSlices(const dissect::ResidueHash&, const std::vector<dissect::PageLabel>& pages);

  private:
    SliceSpace(gpu::Gpu&, const Pool&, SliceLayout);
    SliceLayout layout_;
    std::vector<SpanSize> pages_;
    PagePool tables_;
    SliceColor color_, hostColor_;
};

}  // namespace bulkhead::walls
