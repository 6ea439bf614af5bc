#pragma once

#include <memory>
#include <vector>

#include "dissect/residue_hash.h"
#include "gpu/gpu.h"
#include "ptx/translated_accesses.h"
#include "walls/colored_heap.h"
#include "walls/page_pool.h"
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
    Bytes bytes() const { return bytes_; }
    bool contains(driver::CUdeviceptr address) const { return address - window_ < bytes_; }
    driver::CUdeviceptr realAddress(driver::CUdeviceptr address) const {
        return pool_.base + realOffset(address - window_);
    }
    virtual unsigned colorOf(driver::CUdeviceptr address) const = 0;
    virtual ptx::AccessTranslation translation() const = 0;

    ColoredHeap heap;
    Bytes promised = 0;  ///< to enclosures that stand

  protected:
    ColorSpace(gpu::Gpu&, const Pool&, Bytes bytes, Bytes windowBytes);
    virtual Bytes realOffset(Bytes offset) const = 0;
    Bytes windowBytes() const { return windowBytes_; }
    driver::CUdeviceptr pool() const { return pool_.base; }
    gpu::Context& context() { return context_; }

  private:
    gpu::Context context_;
    Pool pool_;
    driver::CUdeviceptr window_ = 0;
    Bytes bytes_, windowBytes_;
};

/// Two colors: of each two neighbouring chunks of the pool one is on either side of the L2, and a parity says which.
class SideSpace final : public ColorSpace {
  public:
    /// `mask` tells the sides apart: a byte of the pool at that offset is on side parity(offset & mask). Chunks are as
    /// large as the mask's lowest bit says.
    SideSpace(gpu::Gpu&, const Pool&, dissect::Mask mask, unsigned side);
    unsigned colorOf(driver::CUdeviceptr address) const override;
    ptx::AccessTranslation translation() const override;
    const AnySideColor& color() const { return color_; }
    /// Addresses that must be kept free for pools of that size, so that no offset in the window leads elsewhere.
    static Bytes reservedBytes(Bytes poolBytes);

  private:
    Bytes realOffset(Bytes offset) const override;
    dissect::Mask mask_;
    AnySideColor color_;
};

/// Any set of slices: a table says where each unit is, the bytes that lie together on one slice. It begins at a
/// multiple of 4 GB and has a power of two of entries, the last ones repeated, so that no offset leads out of it.
class SliceSpace final : public ColorSpace {
  public:
    /// Units of the pool whose slice (residue + modulus x group) is one of `slices`; pages have these labels.
    SliceSpace(gpu::Gpu&, const Pool&, const dissect::ResidueHash&, const std::vector<dissect::PageLabel>& pages,
               const std::vector<unsigned>& slices);
    unsigned colorOf(driver::CUdeviceptr address) const override;
    ptx::AccessTranslation translation() const override;
    TableColor color() const;
    /// Units have 2^unitShift bytes.
    static unsigned unitShift(const dissect::ResidueHash&);
    /// How much of a pool of these pages each slice has.
    static std::vector<Bytes> bytesOfSlices(const dissect::ResidueHash&, const std::vector<dissect::PageLabel>& pages);

  private:
    struct Served {
        unsigned unitShift = 0;
        std::vector<std::uint32_t> units;   ///< where each is in the pool
        std::vector<std::uint16_t> slices;  ///< of each
        Bytes bytes() const { return Bytes{units.size()} << unitShift; }
    };
    static Served servedBy(const std::vector<unsigned>& slices, const dissect::ResidueHash&,
                           const std::vector<dissect::PageLabel>& pages);
    SliceSpace(gpu::Gpu&, const Pool&, Served);
    Bytes realOffset(Bytes offset) const override;
    Bytes tableBytes() const;
    Served served_;
    PagePool table_;
};

}  // namespace bulkhead::walls
