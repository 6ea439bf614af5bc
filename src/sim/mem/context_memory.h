#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/mem/address_space.h"
#include "sim/mem/physical_memory.h"

namespace bulkhead::sim {

/// Host bytes that stand for device memory: zero at first, and only touched pages take room.
class HostBacking {
  public:
    explicit HostBacking(Bytes);
    ~HostBacking();
    HostBacking(const HostBacking&) = delete;
    HostBacking& operator=(const HostBacking&) = delete;
    std::uint8_t* data() const { return data_; }

  private:
    std::uint8_t* data_;
    Bytes bytes_;
};

/// How an allocation is to be laid out; what is left at 0 comes from the profile.
struct AllocationOptions {
    Bytes pageBytes = 0;
    int color = PhysicalMemory::kAnyColor;
    bool placementGiven = false;
    PhysicalMemory::Placement placement = PhysicalMemory::Placement::contiguous;
};

/// The device memory of one context: virtual addresses, the physical pages under them, and the bytes in them.
class ContextMemory {
  public:
    ContextMemory(PhysicalMemory&, const arch::DeviceProfile&);
    ~ContextMemory();

    VirtualAddress allocate(Bytes, const AllocationOptions& = {});
    void free(VirtualAddress);  ///< throws Error if nothing was allocated there
    Bytes sizeOf(VirtualAddress base) const;

    AddressSpace& space() { return space_; }
    std::uint8_t* host(VirtualAddress, Bytes);  ///< throws Error if any of it is outside an allocation

  private:
    /// Small allocations share pages, as the driver's do.
    struct Chunk {
        VirtualAddress base = 0;
        Bytes bytes = 0, used = 0, pageBytes = 0;
        unsigned allocations = 0;
        std::vector<arch::PhysicalAddress> pages;
        std::unique_ptr<HostBacking> host;
    };
    Chunk& newChunk(Bytes, const AllocationOptions&);

    static constexpr Bytes kAlignment = 512;

    PhysicalMemory& physical_;
    const arch::DeviceProfile& profile_;
    AddressSpace space_;
    VirtualAddress nextBase_ = 0x7f00'0000'0000;
    std::map<VirtualAddress, Chunk> chunks_;
    std::map<VirtualAddress, VirtualAddress> chunkOf_;  ///< allocation -> chunk
    VirtualAddress open_ = 0;                           ///< chunk that takes small allocations, 0 = none
};

}  // namespace bulkhead::sim
