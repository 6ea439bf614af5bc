#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "arch/address_map.h"
#include "base/random.h"
#include "gpu/gpu.h"

namespace bulkhead::dissect {

/// A large allocation to probe, and where it lies on a GPU that tells physical addresses; that is all that dissect asks
/// of a GPU beyond what a CUDA driver offers.
class MemoryView {
  public:
    /// As much of the GPU's memory as there is, up to `most`.
    MemoryView(gpu::Gpu&, Bytes most);
    /// Memory that is there already, and of which nothing is known.
    MemoryView(std::uint64_t base, Bytes bytes) : base_(base), bytes_(bytes) {}

    std::uint64_t base() const { return base_; }
    Bytes bytes() const { return bytes_; }
    bool physicalKnown() const { return !pages_.empty(); }
    Bytes pageBytes() const { return pageBytes_; }
    /// As on a GPU that tells none, from here on.
    void forgetPhysical() { pages_.clear(); }

    /// One more than the highest physical address bit that varies.
    unsigned addressBits() const { return addressBits_; }
    arch::PhysicalAddress physical(std::uint64_t address) const;
    /// Where a physical address can be reached, if it belongs to the allocation.
    std::optional<std::uint64_t> reach(arch::PhysicalAddress) const;
    /// A random physical address of the allocation, at a multiple of `alignment`.
    arch::PhysicalAddress random(Random&, Bytes alignment) const;

  private:
    gpu::Buffer buffer_;
    std::uint64_t base_ = 0;
    Bytes bytes_ = 0;
    Bytes pageBytes_ = 0;
    unsigned addressBits_ = 0;
    std::vector<arch::PhysicalAddress> pages_;                       ///< in virtual order
    std::unordered_map<arch::PhysicalAddress, std::size_t> pageAt_;  ///< physical page address to place in pages_
};

}  // namespace bulkhead::dissect
