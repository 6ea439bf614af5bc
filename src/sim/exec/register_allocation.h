#pragma once

#include <cstdint>
#include <vector>

#include "ptx/control_flow.h"
#include "ptx/module.h"

namespace bulkhead::sim {

/// Which place in a warp's register block each PTX register has. PTX registers are many and short-lived: those that are
/// never live together share a place (linear scan over their live intervals), so that the block stays in the
/// host's cache. Lanes that diverge do not disturb each other: liveness is a property of a thread, and a write
/// touches only the lanes that execute it.
class RegisterAllocation {
  public:
    struct Place {
        std::int32_t offset = -1;  ///< bytes into the block; -1 = the register is not used
        std::uint16_t id = 0;      ///< for the scoreboard
    };

    RegisterAllocation(const ptx::Function&, const ptx::Liveness&);

    Place of(int reg, unsigned element = 0) const { return places_[first_[static_cast<std::size_t>(reg)] + element]; }
    std::uint32_t bytes() const { return bytes_; }
    std::uint32_t ids() const { return ids_; }

  private:
    std::vector<std::size_t> first_;  ///< per register: its first element in places_
    std::vector<Place> places_;
    std::uint32_t bytes_ = 0, ids_ = 0;
};

}  // namespace bulkhead::sim
