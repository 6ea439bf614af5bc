#pragma once

#include <memory>
#include <vector>

#include "dissect/residue_hash.h"
#include "gpu/gpu.h"
#include "ptx/translated_accesses.h"
#include "walls/colored_heap.h"
#include "walls/page_pool.h"
#include "walls/slice_layout.h"
#include "walls/walls.h"

namespace bulkhead::walls {

/// Addresses of which every byte has the colors of one tenant: a window in which nothing is mapped, and the rule by
/// which an offset in it becomes one in the pool's memory. Device code is given the rule; what should escape it meets
/// unmapped addresses.
class ColorSpace {
  public:
    /// Where its bytes come from.
    struct Pool {
        driver::CUdeviceptr base = 0;
        Bytes bytes = 0;
        bool used = false;  ///< by an earlier space of these colors: it may hold somebody's bytes
    };

    virtual ~ColorSpace();
    ColorSpace(const ColorSpace&) = delete;
    ColorSpace& operator=(const ColorSpace&) = delete;

    driver::CUdeviceptr window() const { return window_; }
    Bytes bytes() const { return heap.bytes(); }
    bool contains(driver::CUdeviceptr address) const { return heap.contains(address - window_); }
    virtual driver::CUdeviceptr realAddress(driver::CUdeviceptr address) const = 0;
    virtual unsigned colorOf(driver::CUdeviceptr address) const = 0;
    virtual ptx::AccessTranslation translation() const = 0;

    ColoredHeap heap;
    Bytes promised = 0;  ///< to enclosures that stand

  protected:
    ColorSpace(gpu::Gpu&, ColoredHeap, Bytes windowBytes);
    Bytes windowBytes() const { return windowBytes_; }
    gpu::Context& context() { return context_; }

  private:
    gpu::Context context_;
    driver::CUdeviceptr window_ = 0;
    Bytes windowBytes_;
};

/// Two colors: of each two neighbouring chunks of the pool one is on either side of the L2, and a parity says which.
class SideSpace final : public ColorSpace {
  public:
    /// `mask` tells the sides apart: a byte of the pool at that offset is on side parity(offset & mask). Chunks are as
    /// large as the mask's lowest bit says.
    SideSpace(gpu::Gpu&, const Pool&, dissect::Mask mask, unsigned side);
    driver::CUdeviceptr realAddress(driver::CUdeviceptr address) const override;
    unsigned colorOf(driver::CUdeviceptr address) const override;
    ptx::AccessTranslation translation() const override;
    const AnySideColor& color() const { return color_; }
    /// Addresses that must be kept free for pools of that size, so that no offset in the window leads elsewhere.
    static Bytes reservedBytes(Bytes poolBytes);

  private:
    dissect::Mask mask_;
    AnySideColor color_;
};

/// Any set of slices: see SliceLayout. No offset in the window leads out of the tables, or to memory of another slice.
class SliceSpace final : public ColorSpace {
  public:
    /// Units of the pool whose slice (residue + modulus x group) is one of `slices`; pages have these labels.
    SliceSpace(gpu::Gpu&, const Pool&, const dissect::ResidueHash&, const std::vector<dissect::PageLabel>& pages,
               const std::vector<unsigned>& slices);
    driver::CUdeviceptr realAddress(driver::CUdeviceptr address) const override;
    unsigned colorOf(driver::CUdeviceptr address) const override;
    ptx::AccessTranslation translation() const override;
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
