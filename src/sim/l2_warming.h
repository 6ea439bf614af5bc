#pragma once

#include <array>
#include <cstdint>

#include "sim/launch.h"
#include "sim/sm/coalescer.h"
#include "sim/units.h"
#include "sim/untimed_blocks.h"

namespace bulkhead::sim {

/// Keeps L2 as it would be while blocks are executed without time: their accesses go to its tags. L1D is left as it is;
/// in its place, lines that were touched a moment ago are not touched again.
class L2Warming final : public AccessListener {
  public:
    L2Warming(const SimShared&, Units&);

    /// From here on, accesses are those of this launch.
    void begin(const LaunchContext&, LaunchId);
    void accessed(const Access&) override;
    /// Asked for by lanes, in sectors, since the launch began: what Counters::bytesL1 has of timed blocks.
    std::uint64_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t kRecent = 4096;
    struct Recent {
        std::uint64_t line = ~std::uint64_t{0};
        std::uint8_t read = 0, written = 0;  ///< sectors
    };

    std::uint64_t constantBytes(const Access&) const;
    bool touchedBefore(const Transaction&, bool writes);

    Units& units_;
    Coalescer coalescer_;
    unsigned lineShift_;
    const LaunchContext* launch_ = nullptr;
    LaunchId id_ = 0;
    std::uint32_t mappingHint_ = 0;
    std::uint64_t bytes_ = 0;
    std::array<Recent, kRecent> recent_;  ///< by line
    Transactions lines_;
};

}  // namespace bulkhead::sim
