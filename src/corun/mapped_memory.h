#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "arch/address_map.h"
#include "gpu/gpu.h"

namespace bulkhead::corun {

/// A range of device memory of which it is known where each line lies in L2 and DRAM.
class MappedMemory {
  public:
    virtual ~MappedMemory() = default;
    virtual std::uint64_t base() const = 0;
    virtual Bytes bytes() const = 0;
    virtual const arch::AddressMap& map() const = 0;
    /// Whether the place of an address is known.
    virtual bool knows(std::uint64_t /*address*/) const { return true; }
    virtual arch::AddressMap::Location locate(std::uint64_t address) const = 0;
    /// Of a GPU whose L2 has two sides, where they are known: the side of each SM, and of an address's
    /// home.
    virtual std::vector<std::uint8_t> sidesOfSms() const { return {}; }
    virtual unsigned side(std::uint64_t /*address*/) const { return 0; }
};

/// Where some addresses lie.
using Whereabouts = std::vector<arch::AddressMap::Location>;

/// Allocates so much in a context, with a map.
using MapMemory = std::function<std::unique_ptr<MappedMemory>(gpu::Context&, Bytes)>;

/// On a GPU that tells physical addresses; the map is its profile's, or one that was dissected.
MapMemory mapByPhysicalAddress(const arch::AddressMap&);
/// Likewise, of memory that is there already in some context.
Whereabouts locate(gpu::Context&, const arch::AddressMap&, const std::vector<std::uint64_t>& addresses);

/// On one that keeps physical addresses to itself: pages are labelled by timing, with the form of the slices that
/// dissect found. Places are slices then; the map knows of sets what the file does.
MapMemory mapByTiming(gpu::Gpu&, const std::string& mapFile);

}  // namespace bulkhead::corun
