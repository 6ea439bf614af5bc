#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "dissect/probe.h"
#include "dissect/regions.h"
#include "dissect/residue_hash.h"
#include "dissect/sides.h"
#include "walls/walls.h"

namespace bulkhead::walls {

/// What timing shows of a GPU: how its SMs lie to the halves of its L2, and on which of them memory is. It takes the
/// GPU for itself for a while.
class Sight {
  public:
    /// Throws Error where others are at work, so that nothing can be seen.
    explicit Sight(gpu::Gpu&);

    const L2Topology& topology() const { return topology_; }
    /// Empty if the L2 has one side.
    const std::optional<dissect::Sides>& sides() const { return sides_; }
    const std::optional<dissect::L2Regions>& regions() const { return regions_; }
    dissect::Probe& probe() { return probe_; }

    /// Which parity of the offset in a page of 2 MB tells the sides apart.
    dissect::Mask sideMask(driver::CUdeviceptr page);
    /// The side of each address.
    std::vector<std::uint8_t> sidesOf(const std::vector<std::uint64_t>& addresses);
    /// Of pages that follow each other, the side of what has an even parity. Clears words of them.
    std::vector<bool> sidesOfPages(driver::CUdeviceptr first, std::size_t pages, dissect::Mask mask);

  private:
    bool look();
    [[noreturn]] void refuseBusy(std::string_view what) const;

    gpu::Gpu& gpu_;
    dissect::Probe probe_;
    dissect::SideEffort effort_;
    gpu::Buffer chunks_;  ///< that the sides were found with
    L2Topology topology_;
    std::optional<dissect::Sides> sides_;
    std::optional<dissect::L2Regions> regions_;
};

}  // namespace bulkhead::walls
