#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dissect/residue_hash.h"
#include "gpu/gpu.h"
#include "ptx/translated_accesses.h"
#include "walls/colored_heap.h"
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
        Bytes bytes = 0;    ///< that it has
        bool used = false;  ///< by an earlier space of these colors: it may hold somebody's bytes
        Bytes most = 0;     ///< that it can have, where it grows; otherwise 0
        /// Makes it so many bytes larger, or as many as there are, and returns how large it is.
        std::function<Bytes(Bytes)> grow = {};
    };

    virtual ~ColorSpace();
    ColorSpace(const ColorSpace&) = delete;
    ColorSpace& operator=(const ColorSpace&) = delete;

    driver::CUdeviceptr window() const { return window_; }
    /// That it can give out together.
    virtual Bytes bytes() const { return heap.bytes(); }
    /// Empty if there is no hole so large.
    virtual std::optional<ColoredHeap::Range> allocate(Bytes bytes) { return heap.allocate(bytes); }
    bool contains(driver::CUdeviceptr address) const { return heap.contains(address - window_); }
    virtual driver::CUdeviceptr realAddress(driver::CUdeviceptr address) const = 0;
    virtual unsigned colorOf(driver::CUdeviceptr address) const = 0;
    /// The rule for a module that has so many bytes of constant memory to spare.
    virtual ptx::AccessTranslation translation(Bytes constantBytes) const = 0;
    /// A module that was given the rule is there, and is gone.
    virtual void loaded(driver::CUmodule) {}
    virtual void unloaded(driver::CUmodule) {}

    /// A window for so many bytes is a power of two, so that the upper half of an offset can be kept within it by a
    /// mask.
    static Bytes windowOf(Bytes);

    ColoredHeap heap;
    Bytes promised = 0;  ///< to partition contexts that stand

  protected:
    static constexpr Bytes kWindowUnit = ptx::AccessTranslation::kAlignment;
    ColorSpace(gpu::Gpu&, ColoredHeap, Bytes windowBytes);
    Bytes windowBytes() const { return windowBytes_; }
    /// By how much a space that grows does so for an allocation that found no room.
    Bytes growthFor(Bytes allocation) const;
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
    ptx::AccessTranslation translation(Bytes constantBytes) const override;
    Bytes bytes() const override;
    /// Takes more of a pool that grows.
    std::optional<ColoredHeap::Range> allocate(Bytes) override;
    const SideColor& color() const { return color_; }
    /// Addresses that must be kept free for pools of that size, so that no offset in the window leads elsewhere.
    static Bytes reservedBytes(Bytes poolBytes);

  private:
    Pool pool_;
    dissect::Mask mask_;
    SideColor color_;
};

}  // namespace bulkhead::walls
