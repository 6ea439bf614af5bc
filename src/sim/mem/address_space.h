#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "arch/address_map.h"
#include "base/units.h"
#include "sim/mem/image.h"

namespace bulkhead::sim {

using VirtualAddress = std::uint64_t;

/// A virtual range backed by host memory and by physical pages.
struct Mapping {
    VirtualAddress base = 0;
    Bytes bytes = 0;  ///< what may be accessed: the size that was asked for
    std::uint8_t* host = nullptr;
    unsigned pageShift = 21;
    const arch::PhysicalAddress* frames = nullptr;  ///< physical address of each page that the range touches
    bool writable = true;

    arch::PhysicalAddress physical(VirtualAddress a) const {
        return frames[(a >> pageShift) - (base >> pageShift)] | (a & ((Bytes{1} << pageShift) - 1));
    }
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
    /// As find(a), but for kernels, so memory of peers is found as well. Remembers in `hint`, which belongs to the
    /// caller: accesses that alternate between arrays, or come from several host threads, do not disturb each other.
    /// Any value is a valid hint.
    const Mapping* find(VirtualAddress a, std::uint32_t& hint) const {
        if (hint < mappings_.size() && a - mappings_[hint].base < mappings_[hint].bytes) return &mappings_[hint];
        return findSlow(a, hint);
    }
    /// Lets kernels reach what another GPU's context has mapped, now and later, and no longer. It must outlive that.
    void reach(const AddressSpace& peer) { peers_.push_back(&peer); }
    void leave(const AddressSpace& peer) { std::erase(peers_, &peer); }

    /// Texture and surface objects that show parts of it.
    ImageTable images;

    /// The mapping whose nearer end is nearest to this address, for messages; nullptr if there is none at all.
    const Mapping* nearest(VirtualAddress) const;

    arch::PhysicalAddress physical(VirtualAddress a) const {
        const Mapping* m = find(a);
        return m ? m->physical(a) : a;
    }
    arch::PhysicalAddress physical(VirtualAddress a, std::uint32_t& hint) const {
        const Mapping* m = find(a, hint);
        return m ? m->physical(a) : a;
    }

  private:
    const Mapping* findSlow(VirtualAddress) const;
    const Mapping* findSlow(VirtualAddress, std::uint32_t& hint) const;
    const Mapping* findInPeers(VirtualAddress) const;
    /// The first mapping that ends beyond this address.
    std::size_t firstEndingAfter(VirtualAddress) const;
    static const Mapping none_;
    std::vector<Mapping> mappings_;  ///< sorted by base
    std::vector<const AddressSpace*> peers_;
    mutable std::size_t last_ = 0;
};

}  // namespace bulkhead::sim
