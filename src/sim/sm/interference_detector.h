#pragma once

#include <cstdint>
#include <vector>

#include "sim/sm/interference_list.h"
#include "sim/sm/victim_tag_array.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {

/// CIAO's detector (IV-A, Figure 6): the victim tag array, a VTA-hit counter a warp, the instruction counter of the SM,
/// and the list of who interferes with whom. One serves L1D and shared memory alike (III-C).
class InterferenceDetector {
  public:
    InterferenceDetector(std::uint32_t vtaTags, std::uint32_t counterBits, std::uint32_t warps)
        : vta_(warps, vtaTags), list_(warps, counterBits), vtaHits_(warps, 0) {}

    void observe(const CacheEvent&);
    void executed(std::uint64_t instructions) { instructions_ += instructions; }
    void kernelStarted();

    /// Whether warp i's individual re-reference score (equation 1) is more than a cut-off in millionths:
    ///     IRS_i = VTA hits of i / (instructions executed on the SM / active warps)
    bool scoreExceeds(std::uint64_t cutoffMillionths, std::uint32_t warp, std::uint32_t activeWarps) const {
        return vtaHits_[warp] * activeWarps * 1'000'000 > cutoffMillionths * instructions_;
    }

    std::uint32_t mostInterfering(std::uint32_t warp) const { return list_[warp].warp; }
    std::uint64_t vtaHits(std::uint32_t warp) const { return vtaHits_[warp]; }

  private:
    VictimTagArray vta_;
    InterferenceList list_;
    std::vector<std::uint64_t> vtaHits_;
    std::uint64_t instructions_ = 0;
};

}  // namespace bulkhead::sim
