#include "sim/access_windows.h"

#include <algorithm>
#include <cmath>

namespace bulkhead::sim {
namespace {

constexpr std::uint32_t kShares = 1 << 16;

/// Spreads lines evenly, whatever their stride.
std::uint32_t shareOf(arch::PhysicalAddress line) {
    const std::uint64_t mixed = (line >> 7) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint32_t>(mixed >> 40) % kShares;
}

}  // namespace

void AccessWindows::open(std::uint32_t launch, const AccessWindow& window, const AddressSpace& space) {
    if (window.bytes == 0) return;
    Open made;
    made.hits = static_cast<std::uint32_t>(std::lround(window.hitRatio * kShares));
    made.hit = window.hit;
    made.miss = window.miss;
    const VirtualAddress end = window.begin + window.bytes;
    for (VirtualAddress at = window.begin; at < end;) {
        const Mapping* mapping = space.find(at);
        if (!mapping) break;
        const Bytes page = Bytes{1} << mapping->pageShift;
        const VirtualAddress next = std::min({end, mapping->base + mapping->bytes, (at / page + 1) * page});
        const arch::PhysicalAddress begin = mapping->physical(at);
        made.ranges.push_back({begin, begin + (next - at)});
        at = next;
    }
    std::ranges::sort(made.ranges, {}, &Range::begin);
    windows_[launch] = std::move(made);
}

Retention AccessWindows::find(std::uint32_t launch, arch::PhysicalAddress line) const {
    const auto found = windows_.find(launch);
    if (found == windows_.end()) return Retention::normal;
    const Open& window = found->second;
    // The line that the window begins in belongs to it.
    constexpr Bytes kLine = 128;
    const auto range = std::ranges::upper_bound(window.ranges, line, {}, &Range::end);
    if (range == window.ranges.end() || line + kLine <= range->begin) return Retention::normal;
    return shareOf(line) < window.hits ? window.hit : window.miss;
}

}  // namespace bulkhead::sim
