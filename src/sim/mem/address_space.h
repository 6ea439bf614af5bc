#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "arch/address_map.h"
#include "base/units.h"

namespace bulkhead::sim {

using VirtualAddress = std::uint64_t;

/// A virtual range backed by host memory and by physical pages.
struct Mapping {
    VirtualAddress base = 0;
    Bytes bytes = 0;       ///< what may be accessed: the size that was asked for
    std::uint8_t* host = nullptr;
    unsigned pageShift = 21;
    const arch::PhysicalAddress* frames = nullptr;  ///< physical address of each page
    bool writable = true;

    bool contains(VirtualAddress a, Bytes n) const { return a - base < bytes && n <= bytes - (a - base); }
};

/// One context's view of device memory: virtual ranges to host bytes (for execution) and to physical addresses (for
/// timing). Lookups remember the last mapping, so the common case costs one comparison.
class AddressSpace {
  public:
    void map(const Mapping&);  ///< throws Error if it overlaps
    void unmap(VirtualAddress base);

    /// The mapping that holds this address, or nullptr.
    const Mapping* find(VirtualAddress a) const {
        const Mapping& last = mappings_.empty() ? none_ : mappings_[last_];
        if (a - last.base < last.bytes) return &last;
        return findSlow(a);
    }
    /// Host bytes behind [a, a + n), or nullptr if any of it is outside a mapping.
    std::uint8_t* resolve(VirtualAddress a, Bytes n) const {
        const Mapping* m = find(a);
        return m && m->contains(a, n) ? m->host + (a - m->base) : nullptr;
    }
    arch::PhysicalAddress physical(VirtualAddress a) const {
        const Mapping* m = find(a);
        if (!m) return a;
        const VirtualAddress offset = a - m->base;
        return m->frames[offset >> m->pageShift] | (offset & ((Bytes{1} << m->pageShift) - 1));
    }

  private:
    const Mapping* findSlow(VirtualAddress) const;
    static const Mapping none_;
    std::vector<Mapping> mappings_;  ///< sorted by base
    mutable std::size_t last_ = 0;
};

}  // namespace bulkhead::sim
