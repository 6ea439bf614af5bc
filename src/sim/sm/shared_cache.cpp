#include "sim/sm/shared_cache.h"

namespace bulkhead::sim {

bool SharedCache::blockStarted(std::uint32_t block, std::uint32_t sharedBytes) {
    smmt_.reserve(block, sharedBytes);
    const AddressTranslation now(smmt_.largestUnused(carveout_));
    if (now == translation_) return false;
    translation_ = now;
    blocks_.resize(translation_.blocks());
    clear();
    return true;
}

std::optional<SharedCache::Victim> SharedCache::fill(std::uint32_t place, std::uint64_t line, std::uint8_t sectors,
                                                     std::uint32_t owner) {
    Block& block = blocks_[translation_.blockIndex(place)];
    if (block.line == line) {
        block.sectors |= sectors;
        return std::nullopt;
    }
    const Block before = block;
    block = {line, sectors, static_cast<std::uint8_t>(owner), true};
    if (before.line != kNoLine) return Victim{before.line, before.owner};
    ++used_;
    return std::nullopt;
}

void SharedCache::drop(std::uint64_t line) {
    if (!valid(line)) return;
    blocks_[indexOf(line)] = {};
    --used_;
}

void SharedCache::clear() {
    blocks_.assign(blocks_.size(), {});
    used_ = 0;
}

}  // namespace bulkhead::sim
