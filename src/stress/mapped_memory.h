#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "arch/address_map.h"
#include "gpu/gpu.h"

namespace bulkhead::stress {

/// A range of device memory of which it is known where each line lies in L2 and DRAM.
class MappedMemory {
  public:
    virtual ~MappedMemory() = default;
    virtual std::uint64_t base() const = 0;
    virtual Bytes bytes() const = 0;
    virtual const arch::AddressMap& map() const = 0;
    virtual arch::AddressMap::Location locate(std::uint64_t address) const = 0;
};

/// Allocates so much in a context, with a map.
using MapMemory = std::function<std::unique_ptr<MappedMemory>(gpu::Context&, Bytes)>;

/// A simulated GPU tells physical addresses; the map is its profile's, or one that was dissected.
MapMemory mapSimulatedMemory(const arch::AddressMap&);

}  // namespace bulkhead::stress
