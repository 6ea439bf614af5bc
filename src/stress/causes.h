#pragma once

#include <string_view>
#include <vector>

#include "sim/gpu.h"
#include "sim/observer.h"
#include "stress/pairing.h"

namespace bulkhead::stress {

/// By how many cycles what made a victim slower did so. Exact in sum; between the causes, what the counters of a
/// simulated GPU tell.
struct Causes {
    double setConflicts = 0;  ///< lines that were pushed out of L2 and had to come from DRAM
    double mshr = 0;          ///< waiting for a miss register, or for a way that is being filled
    double crossbar = 0;      ///< waiting for a slice's port
    double rowConflicts = 0;  ///< opening another DRAM row first
    double bus = 0;           ///< waiting for DRAM otherwise: its queue and its data bus
    double timeSlicing = 0;   ///< not being on the GPU

    double total() const { return setConflicts + mshr + crossbar + rowConflicts + bus + timeSlicing; }
};

/// Notes when contexts have the GPU.
class SwitchWatch final : public sim::Observer {
  public:
    void contextSwitched(Cycles at, std::uint32_t toGroup) override;
    /// Cycles between two moments in which the context that has the GPU at `from` did not have it.
    Cycles awayBetween(Cycles from, Cycles to, Cycles switchCycles) const;

  private:
    std::vector<std::pair<Cycles, std::uint32_t>> switches_;
};

Causes explainPair(const sim::Gpu&, const SwitchWatch&, const Pair&);

}  // namespace bulkhead::stress
