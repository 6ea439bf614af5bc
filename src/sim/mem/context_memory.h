#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/mem/address_space.h"
#include "sim/mem/physical_memory.h"

namespace bulkhead::sim {

/// Host bytes that stand for device memory: zero at first, and only touched pages take room. They begin on a multiple
/// of 2 MB, at the same address in every run where the host leaves it free.
class HostBacking {
  public:
    explicit HostBacking(Bytes);
    ~HostBacking();
    HostBacking(const HostBacking&) = delete;
    HostBacking& operator=(const HostBacking&) = delete;
    std::uint8_t* data() const { return data_; }

  private:
    void* reserved_;
    Bytes reservedBytes_;
    std::uint8_t* data_;
};

/// How an allocation is to be laid out; what is left at 0 comes from the profile.
struct AllocationOptions {
    Bytes pageBytes = 0;
    PhysicalMemory::Colors colors;  ///< of its pages; none: any
    bool placementGiven = false;
    PhysicalMemory::PagePlacement placement = PhysicalMemory::PagePlacement::contiguous;
};

/// Physical pages and the bytes in them, apart from any address: contexts map it where they want it.
class PhysicalBlock {
  public:
    PhysicalBlock(PhysicalMemory&, const arch::DeviceProfile&, Bytes, const AllocationOptions& = {});
    ~PhysicalBlock();
    PhysicalBlock(const PhysicalBlock&) = delete;
    PhysicalBlock& operator=(const PhysicalBlock&) = delete;
    Bytes bytes() const { return pages_.size() * pageBytes_; }
    Bytes pageBytes() const { return pageBytes_; }
    const std::vector<arch::PhysicalAddress>& pages() const { return pages_; }
    std::uint8_t* data() const { return backing_->data(); }

  private:
    PhysicalMemory& physical_;
    Bytes pageBytes_;
    std::vector<arch::PhysicalAddress> pages_;
    std::unique_ptr<HostBacking> backing_;
};

/// The device memory of one context: virtual addresses, the physical pages under them, and the bytes in them.
/// Addresses lie above any that a host process has, so that a pointer says whose it is; memory that the host shares
/// has the host's addresses.
class ContextMemory {
  public:
    /// The addresses of context `index` of a GPU are no other's, nor those of GPUs with another `place`.
    ContextMemory(PhysicalMemory&, const arch::DeviceProfile&, std::uint32_t index = 0, std::uint32_t place = 0);

    VirtualAddress allocate(Bytes, const AllocationOptions& = {});
    /// Device memory whose bytes the host reads and writes at the same address.
    VirtualAddress allocateManaged(Bytes, const AllocationOptions& = {});
    void free(VirtualAddress);  ///< throws Error if nothing was allocated there

    /// Lets kernels reach host memory at its own address. Takes no device memory; for timing it counts as DRAM at an
    /// address that follows from the host's.
    void mapHost(void* host, Bytes);
    void unmapHost(void* host);

    /// Addresses without memory, and memory put there.
    VirtualAddress reserve(Bytes, Bytes alignment);
    void map(VirtualAddress, const PhysicalBlock&, Bytes offset, Bytes, bool writable);
    void unmap(VirtualAddress base) { space_.unmap(base); }

    AddressSpace& space() { return space_; }
    std::uint8_t* host(VirtualAddress, Bytes);  ///< throws Error if any of it is outside an allocation

  private:
    /// Small allocations share pages, as the driver's do.
    struct Chunk {
        VirtualAddress base = 0;
        Bytes bytes = 0, used = 0;
        unsigned allocations = 0;
        std::unique_ptr<PhysicalBlock> block;
    };
    Chunk& newChunk(Bytes, const AllocationOptions&, bool atHostAddress);
    VirtualAddress place(Chunk&, Bytes);

    static constexpr Bytes kAlignment = 512;
    static constexpr VirtualAddress kFirst = VirtualAddress{1} << 48;
    static constexpr Bytes kPerContext = Bytes{1} << 40, kPerGpu = Bytes{1} << 50;

    PhysicalMemory& physical_;
    const arch::DeviceProfile& profile_;
    Bytes pageBytes_;
    AddressSpace space_;
    VirtualAddress nextBase_;
    std::map<VirtualAddress, Chunk> chunks_;
    std::map<VirtualAddress, VirtualAddress> chunkOf_;  ///< allocation -> chunk
    VirtualAddress open_ = 0;                           ///< chunk that takes small allocations, 0 = none
    std::map<void*, std::vector<arch::PhysicalAddress>> hostPages_;
};

}  // namespace bulkhead::sim
