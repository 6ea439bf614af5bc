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
        pass(memory, from, bytes, Passing::read);
    }
    /// It goes on to DRAM, and stays where a way is empty.
    void write(const AddressSpace& memory, VirtualAddress to, Bytes bytes) { pass(memory, to, bytes, Passing::write); }
    /// SMs do it, and so it stays as what a kernel writes.
    void fill(const AddressSpace& memory, VirtualAddress to, Bytes bytes) { pass(memory, to, bytes, Passing::fill); }

  private:
    enum class Passing : std::uint8_t { read, write, fill };
    void pass(const AddressSpace&, VirtualAddress, Bytes, Passing);

    const MachineConfig& config_;
    Units& units_;
    Bytes capacity_;
};

}  // namespace bulkhead::sim
