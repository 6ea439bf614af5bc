#pragma once

#include <cstdint>

#include "sim/sm/smmt.h"

namespace bulkhead::sim {

/// The unit in front of shared memory that says where a global address's data block and tag lie in it (CIAO IV-B and
/// Figure 7c). Shared memory is seen as rows of two bank groups, 16 banks of 8 bytes each; a 128-byte block fills its
/// row in one group, and the same row of the other group stays free for another block.
///
///     block address, from the lowest bit:  F (byte of a bank's row, 3)  B (bank, 4)  G (group, 1)  R (row, 8)
///     tag address:                         2 bits of a 4-byte tag, the low 5 bits of R as F and B, the block's G
///                                          flipped, the high bits of R as its row
///
/// A tag lies in the group in which its block does not, so one access reads both. The mask on R and the two offset
/// registers fit the fields into the rows that are unused.
class AddressTranslation {
  public:
    static constexpr unsigned kByteBits = 3, kBankBits = 4, kGroupBits = 1, kRowBits = 8;
    static constexpr unsigned kBlockBits = kByteBits + kBankBits;          ///< of a 128-byte block
    static constexpr unsigned kRowShift = kBlockBits + kGroupBits;         ///< of a row of both groups
    static constexpr unsigned kTagBytesBits = 2;                           ///< 25 bits of tag and 6 of warp, in 4 bytes
    static constexpr unsigned kTagIndexBits = kBlockBits - kTagBytesBits;  ///< a group's row holds 32 tags

    struct Place {
        std::uint32_t block = 0, tag = 0;  ///< byte addresses in shared memory
    };

    /// Nothing is unused.
    AddressTranslation() = default;
    /// Takes as many rows of the range as a mask can name, a power of two, with the rows of their tags before them.
    explicit AddressTranslation(Smmt::Range unused);

    std::uint32_t rows() const { return rows_; }  ///< of data blocks
    std::uint32_t blocks() const { return rows_ << kGroupBits; }
    std::uint32_t mask() const { return rows_ ? rows_ - 1 : 0; }
    std::uint32_t blockOffset() const { return blockOffset_; }  ///< in rows
    std::uint32_t tagOffset() const { return tagOffset_; }
    bool operator==(const AddressTranslation&) const = default;

    Place translate(std::uint64_t address) const {
        const auto bits = static_cast<std::uint32_t>(address);
        const std::uint32_t offset = bits & ((1u << kBlockBits) - 1);  // F and B
        const std::uint32_t group = bits >> kBlockBits & 1;
        const std::uint32_t row = bits >> kRowShift & mask();
        return {(row + blockOffset_) << kRowShift | group << kBlockBits | offset,
                ((row >> kTagIndexBits) + tagOffset_) << kRowShift | (group ^ 1) << kBlockBits |
                    (row & ((1u << kTagIndexBits) - 1)) << kTagBytesBits};
    }

    /// Which block of the cache, from 0, a translated block address is.
    std::uint32_t blockIndex(std::uint32_t block) const { return (block >> kBlockBits) - (blockOffset_ << kGroupBits); }

  private:
    std::uint32_t rows_ = 0, blockOffset_ = 0, tagOffset_ = 0;
};

}  // namespace bulkhead::sim
