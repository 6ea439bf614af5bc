#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/sm/address_translation.h"
#include "sim/sm/smmt.h"

namespace bulkhead::sim {

/// Unused shared memory as a direct-mapped cache of 128-byte blocks (CIAO III-B, IV-B). What the resident blocks leave
/// is determined when a block starts; blocks of the kernel come first, and a change of the geometry empties the cache,
/// which costs nothing but misses since global stores write through.
class SharedCache {
  public:
    /// `hashed`: the block index is folded over the whole address before it is translated, as the sets of L1D and L2
    /// are (V-A). Rows of a matrix a power of two apart would otherwise share a few blocks, and the cache could never
    /// be as full as Figure 8b has it.
    explicit SharedCache(std::uint32_t sharedBytes, bool hashed = false)
        : smmt_(sharedBytes), carveout_(sharedBytes), hashed_(hashed) {}

    /// As much of shared memory is there; the rest belongs to L1D. Counts from the next block that starts.
    void setCarveout(std::uint32_t bytes) { carveout_ = bytes; }
    /// True if the geometry has changed: places that were translated before mean nothing any more.
    bool blockStarted(std::uint32_t block, std::uint32_t sharedBytes);
    void blockEnded(std::uint32_t block) { smmt_.release(block); }

    bool usable() const { return translation_.rows() != 0; }
    const AddressTranslation& translation() const { return translation_; }

    /// Where L1D could take the line as well: whether it is here, or may have the place of a block that was spared
    /// before and not used since.
    bool takes(std::uint64_t line) const {
        const Block& block = blocks_[indexOf(line)];
        return block.line == line || !block.used;
    }
    /// The block in whose place the line would have come stays, for this time.
    void spare(std::uint64_t line) { blocks_[indexOf(line)].used = false; }
    void use(std::uint64_t line) { blocks_[indexOf(line)].used = true; }

    /// The translated address of the line's block.
    std::uint32_t placeOf(std::uint64_t line) const {
        return translation_.translate(hashed_ ? folded(line) : line).block;
    }

    /// Sectors that are here of the line at this address.
    std::uint8_t valid(std::uint64_t line) const {
        if (!usable()) return 0;
        const Block& block = blocks_[indexOf(line)];
        return block.line == line ? block.sectors : std::uint8_t{0};
    }
    struct Victim {
        std::uint64_t line;
        std::uint32_t owner;
    };
    /// Sectors of a line go to their translated place. Returns the line that had been there, if another.
    std::optional<Victim> fill(std::uint32_t place, std::uint64_t line, std::uint8_t sectors, std::uint32_t owner);
    void drop(std::uint64_t line);
    void clear();

    std::uint32_t reservedBytes() const { return smmt_.reserved(); }  ///< by resident blocks
    std::uint32_t capacityBytes() const { return translation_.blocks() << AddressTranslation::kBlockBits; }
    std::uint32_t usedBytes() const { return used_ << AddressTranslation::kBlockBits; }
    template <class Visit>
    void eachLine(Visit&& visit) const {
        for (const Block& block : blocks_)
            if (block.line != kNoLine) visit(block.line);
    }

  private:
    static constexpr std::uint64_t kNoLine = ~std::uint64_t{0};
    struct Block {
        std::uint64_t line = kNoLine;
        std::uint8_t sectors = 0, owner = 0;
        bool used = false;  ///< the tag's 32nd bit
    };
    std::uint32_t indexOf(std::uint64_t line) const { return translation_.blockIndex(placeOf(line)); }
    /// An address whose block index is the XOR of every group of as many bits of the line's number.
    std::uint64_t folded(std::uint64_t line) const {
        const std::uint32_t mask = translation_.blocks() - 1;
        const auto bits = static_cast<unsigned>(std::popcount(mask));
        std::uint64_t index = 0;
        for (std::uint64_t rest = line >> AddressTranslation::kBlockBits; bits && rest; rest >>= bits)
            index ^= rest & mask;
        return index << AddressTranslation::kBlockBits;
    }

    Smmt smmt_;
    std::uint32_t carveout_;
    bool hashed_;
    AddressTranslation translation_;
    std::vector<Block> blocks_;
    std::uint32_t used_ = 0;  ///< blocks
};

}  // namespace bulkhead::sim
