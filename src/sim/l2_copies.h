#pragma once

#include "sim/mem/address_space.h"
#include "sim/units.h"

namespace bulkhead::sim {

/// What copies and fills leave in L2, on GPUs whose copies pass through it. They take their time in their stream; here
/// is what a kernel finds after them.
class L2Copies {
  public:
    L2Copies(const SimShared&, Units&);

    void read(const AddressSpace& memory, VirtualAddress from, Bytes bytes) {
        pass(memory, from, bytes, AccessKind::load);
    }
    void write(const AddressSpace& memory, VirtualAddress to, Bytes bytes) {
        pass(memory, to, bytes, AccessKind::store);
    }

  private:
    void pass(const AddressSpace&, VirtualAddress, Bytes, AccessKind);

    const MachineConfig& config_;
    Units& units_;
    Bytes capacity_;
};

}  // namespace bulkhead::sim
