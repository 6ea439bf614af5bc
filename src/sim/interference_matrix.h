#pragma once

#include <cstdint>
#include <vector>

#include "arch/device_profile.h"
#include "sim/observer.h"
#include "sim/sm/victim_tag_array.h"

namespace bulkhead::sim {

/// Which warp interferes with which, under any scheduler: how often a warp misses a line that it had brought in and
/// that another pushed out (CIAO, Figures 1a and 4a). It watches with victim tag arrays of its own.
class InterferenceMatrix : public Observer {
  public:
    explicit InterferenceMatrix(const arch::DeviceProfile& profile)
        : warps_(static_cast<std::uint32_t>(profile.maxWarps())),
          hits_(static_cast<std::size_t>(profile.sm.count) * warps_ * warps_, 0) {
        for (std::int64_t sm = 0; sm < profile.sm.count; ++sm)
            arrays_.emplace_back(warps_, static_cast<std::uint32_t>(profile.ciao.vtaTags));
    }

    std::uint64_t hits(std::uint32_t sm, std::uint32_t interfered, std::uint32_t interfering) const {
        return hits_[index(sm, interfered, interfering)];
    }
    std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (std::uint64_t n : hits_) sum += n;
        return sum;
    }
    std::uint32_t warps() const { return warps_; }

    void l1Miss(Cycles, std::uint32_t sm, std::uint64_t line, std::uint32_t warp) override {
        const std::uint32_t evictor = arrays_[sm].probe(warp, line);
        if (evictor != VictimTagArray::kNobody) ++hits_[index(sm, warp, evictor)];
    }
    void l1Eviction(Cycles, std::uint32_t sm, std::uint64_t line, std::uint32_t owner, std::uint32_t evictor) override {
        if (owner != evictor) arrays_[sm].insert(owner, line, evictor);
    }

  private:
    std::size_t index(std::uint32_t sm, std::uint32_t interfered, std::uint32_t interfering) const {
        return (std::size_t{sm} * warps_ + interfered) * warps_ + interfering;
    }

    std::uint32_t warps_;
    std::vector<VictimTagArray> arrays_;  ///< by SM
    std::vector<std::uint64_t> hits_;     ///< by SM, interfered and interfering warp
};

}  // namespace bulkhead::sim
