#pragma once

#include <vector>

#include "ptx/assembler/dataflow.h"

namespace bulkhead::ptx {

/// Which 64-bit registers are needed whole. Addresses of shared and local memory have 32 bits.
class HighHalves {
  public:
    HighHalves(const Function&, const BlockGraph&);
    bool needed(int reg) const { return needed_[static_cast<std::size_t>(reg)]; }

  private:
    bool note(const Function&, const Instruction&);
    bool readsHigh(const Instruction&, int reg, const Effects&) const;

    std::vector<bool> needed_;
};

}  // namespace bulkhead::ptx
