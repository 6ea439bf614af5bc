#include "walls/colored_heap.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace bulkhead::walls {

ColoredHeap::ColoredHeap(std::vector<Piece> pieces, bool used)
    : pieces_(std::move(pieces)), fresh_(used ? std::numeric_limits<Bytes>::max() : 0) {
    for (const Piece& piece : pieces_) {
        free_[piece.offset] = piece.bytes;
        bytes_ += piece.bytes;
    }
}

void ColoredHeap::add(const Piece& piece) {
    if (piece.bytes == 0) return;
    if (!pieces_.empty() && pieces_.back().offset + pieces_.back().bytes == piece.offset) {
        pieces_.back().bytes += piece.bytes;
    } else {
        pieces_.push_back(piece);
    }
    bytes_ += piece.bytes;
    free({piece.offset, piece.bytes});
}

Bytes ColoredHeap::freeAtEnd() const {
    if (free_.empty() || pieces_.empty()) return 0;
    const auto& [offset, bytes] = *free_.rbegin();
    return offset + bytes == pieces_.back().offset + pieces_.back().bytes ? bytes : 0;
}

bool ColoredHeap::contains(Bytes offset) const {
    const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                        [](Bytes at, const Piece& piece) { return at < piece.offset; });
    return after != pieces_.begin() && offset - std::prev(after)->offset < std::prev(after)->bytes;
}

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
