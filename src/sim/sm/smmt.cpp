#include "sim/sm/smmt.h"

#include <algorithm>
#include <cassert>

namespace bulkhead::sim {

template <class Visit>
void Smmt::eachHole(Visit&& visit) const {
    std::uint32_t at = 0;
    for (const Entry& entry : entries_) {
        if (entry.range.start > at && !visit(Range{at, entry.range.start - at})) return;
        at = entry.range.start + entry.range.bytes;
    }
    if (at < bytes_) visit(Range{at, bytes_ - at});
}

void Smmt::reserve(std::uint32_t block, std::uint32_t bytes) {
    assert(reserved() + bytes <= bytes_);
    std::vector<Range> taken;
    eachHole([&](Range hole) {
        if (hole.bytes < bytes) return true;
        taken.assign(1, {hole.start, bytes});
        return false;
    });
    if (taken.empty()) {
        std::uint32_t left = bytes;
        eachHole([&](Range hole) {
            const std::uint32_t piece = std::min(left, hole.bytes);
            if (piece) taken.push_back({hole.start, piece});
            left -= piece;
            return left != 0;
        });
    }
    for (const Range& range : taken)
        if (range.bytes) entries_.push_back({block, range});
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.range.start < b.range.start; });
}

void Smmt::release(std::uint32_t block) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.block == block; });
}

std::uint32_t Smmt::reserved() const {
    std::uint32_t sum = 0;
    for (const Entry& entry : entries_) sum += entry.range.bytes;
    return sum;
}

Smmt::Range Smmt::largestUnused(std::uint32_t end) const {
    Range largest;
    eachHole([&](Range hole) {
        if (hole.start >= end) return false;
        hole.bytes = std::min(hole.bytes, end - hole.start);
        if (hole.bytes > largest.bytes) largest = hole;
        return true;
    });
    return largest;
}

}  // namespace bulkhead::sim
