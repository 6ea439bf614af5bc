#include "walls/colored_heap.h"

#include <algorithm>

namespace bulkhead::walls {

std::optional<ColoredHeap::Range> ColoredHeap::allocate(Bytes bytes) {
    if (bytes == 0 || bytes > bytes_) return std::nullopt;
    const Bytes rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const auto hole = std::find_if(free_.begin(), free_.end(), [&](const auto& f) { return f.second >= rounded; });
    if (hole == free_.end()) return std::nullopt;
    const Range range{hole->first, rounded, hole->first < fresh_};
    if (hole->second > rounded) free_[hole->first + rounded] = hole->second - rounded;
    free_.erase(hole);
    fresh_ = std::max(fresh_, range.offset + rounded);
    return range;
}

void ColoredHeap::free(const Range& range) {
    auto [hole, inserted] = free_.emplace(range.offset, range.bytes);
    if (const auto next = std::next(hole); next != free_.end() && hole->first + hole->second == next->first) {
        hole->second += next->second;
        free_.erase(next);
    }
    if (hole == free_.begin()) return;
    const auto before = std::prev(hole);
    if (before->first + before->second != hole->first) return;
    before->second += hole->second;
    free_.erase(hole);
}

}  // namespace bulkhead::walls
