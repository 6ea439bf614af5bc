#include "sim/mem/address_space.h"

#include <algorithm>

#include "base/error.h"

namespace bulkhead::sim {

const Mapping AddressSpace::none_{};

std::size_t AddressSpace::firstEndingAfter(VirtualAddress a) const {
    const auto it = std::partition_point(mappings_.begin(), mappings_.end(),
                                         [a](const Mapping& m) { return m.base + m.bytes <= a; });
    return static_cast<std::size_t>(it - mappings_.begin());
}

void AddressSpace::map(const Mapping& mapping) {
    if (mapping.bytes == 0) throw Error("cannot map an empty range at {:#x}", mapping.base);
    if (mapping.base + mapping.bytes < mapping.base)
        throw Error("cannot map {} bytes at {:#x}: beyond the end of the address space", mapping.bytes, mapping.base);
    const std::size_t at = firstEndingAfter(mapping.base);
    if (at < mappings_.size() && mappings_[at].base < mapping.base + mapping.bytes)
        throw Error("cannot map [{:#x}, {:#x}): it overlaps [{:#x}, {:#x})", mapping.base, mapping.base + mapping.bytes,
                    mappings_[at].base, mappings_[at].base + mappings_[at].bytes);
    mappings_.insert(mappings_.begin() + static_cast<std::ptrdiff_t>(at), mapping);
    last_ = at;
}

void AddressSpace::unmap(VirtualAddress base) {
    const std::size_t at = firstEndingAfter(base);
    if (at == mappings_.size() || mappings_[at].base != base)
        throw Error("cannot unmap {:#x}: no mapping begins there", base);
    mappings_.erase(mappings_.begin() + static_cast<std::ptrdiff_t>(at));
    last_ = 0;
}

const Mapping* AddressSpace::findSlow(VirtualAddress a) const {
    const std::size_t at = firstEndingAfter(a);
    if (at == mappings_.size() || a < mappings_[at].base) return nullptr;
    last_ = at;
    return &mappings_[at];
}

const Mapping* AddressSpace::findSlow(VirtualAddress a, std::uint32_t& hint) const {
    const std::size_t at = firstEndingAfter(a);
    if (at == mappings_.size() || a < mappings_[at].base) return findInPeers(a);
    hint = static_cast<std::uint32_t>(at);
    return &mappings_[at];
}

const Mapping* AddressSpace::findInPeers(VirtualAddress a) const {
    for (const AddressSpace* peer : peers_) {
        const std::size_t at = peer->firstEndingAfter(a);
        if (at < peer->mappings_.size() && a >= peer->mappings_[at].base) return &peer->mappings_[at];
    }
    return nullptr;
}

const Mapping* AddressSpace::nearest(VirtualAddress a) const {
    if (mappings_.empty()) return nullptr;
    const std::size_t after = firstEndingAfter(a);
    if (after == mappings_.size()) return &mappings_.back();
    if (after == 0 || a >= mappings_[after].base) return &mappings_[after];
    const Mapping& below = mappings_[after - 1];
    const Mapping& above = mappings_[after];
    return a - (below.base + below.bytes) < above.base - a ? &below : &above;
}

}  // namespace bulkhead::sim
