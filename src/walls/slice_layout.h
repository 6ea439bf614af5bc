#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "dissect/residue_hash.h"
#include "sdk/include/bulkhead/span.h"
#include "walls/colored_heap.h"

namespace bulkhead::walls {

/// What two labels invert together.
dissect::PageLabel invertedByEither(const dissect::PageLabel&, const dissect::PageLabel&);

/// A row of addresses that holds the memory of some slices and nothing else, and where in memory each of its bytes is.
///
/// Parities of address bits tell the slice of a unit, the bytes that lie together on one slice. Units of a page with
/// the same parities make a chunk. Where the hash is an index modulo a number, chunks are numbered by that index, and
/// pages are put one after the other so that it goes on from each to the next, as the addends of their labels say. So
/// slices repeat with the modulus from end to end, a chunk of the row is found by a division by a constant, and no
/// memory is left over.
///
/// A unit's place is the number of its index and its number in the chunk. Parities are linear, so each bit of a place
/// stands for bits of an offset, which it inverts. Upper bits stand for a bit of their own each, in order, and for some
/// below: so places make pieces of memory that follow each other, and what is inverted in a piece needs few bits, that
/// small tables tell. What a page's or block's label inverts is one more table.
///
/// Where memory comes in blocks of pages that follow each other, a block takes the place of a page. Where pages with
/// some addend run out, a place in the row stays empty: nothing is there.
class SliceLayout {
  public:
    /// Throws Error if slices of this form cannot be laid out.
    SliceLayout(const dissect::ResidueHash&, const std::vector<dissect::PageLabel>& pages,
                const std::vector<unsigned>& slices);
    /// A row without memory yet, for blocks of so many pages as `inBlock` has: what a page's place adds to the label of
    /// its block, which is that of the first page, and inverts nothing but what `inverted` does.
    SliceLayout(const dissect::ResidueHash&, const std::vector<dissect::PageLabel>& inBlock,
                const dissect::PageLabel& inverted, const std::vector<unsigned>& slices, Bytes mostBytes);
    /// Blocks are of so many kinds, which take turns in a row,
    static unsigned kinds(const dissect::ResidueHash&);
    /// by their labels.
    static unsigned kindOf(const dissect::ResidueHash&, const dissect::PageLabel&);
    /// The kind that belongs into a place.
    unsigned kindAt(std::size_t place) const;
    /// Puts a block, the next of the pool, into the next place. Throws Error if it does not belong there.
    void append(const dissect::PageLabel&);
    std::size_t blocks() const { return places_.size(); }
    /// As many blocks of the pool as a row needs to be so much longer.
    Bytes poolBytesFor(Bytes more) const;
    /// That it can have.
    Bytes mostBytes() const { return bytesBefore(mostBlocks_); }
    /// That a row of so many blocks has.
    Bytes bytesBefore(std::size_t block) const { return chunksBefore(block) << chunkShift(); }

    /// Offsets of the row that have memory.
    const std::vector<ColoredHeap::Piece>& pieces() const { return pieces_; }

    /// The rule for a window of that many bytes, but for where memory and tables are.
    SliceColor color(Bytes windowBytes) const;
    const std::vector<std::uint32_t>& offsets() const { return offsets_; }
    const std::vector<SliceColor::Chunk>& list() const { return list_; }
    /// What each block inverts, also those to come, as far as a window leads if that is not too far.
    std::vector<std::uint32_t> inversions(Bytes windowBytes) const;
    /// Bits that any entry of such a table can have,
    std::uint32_t inversionBits() const { return inversionBits_; }
    /// and whether all that tables invert together lies within a piece.
    bool staysInPiece() const;
    /// Which page or block is in which place; none where nothing is.
    const std::vector<std::optional<std::size_t>>& places() const { return places_; }
    /// Addresses from the beginning of memory on that offsets in a window can lead to,
    Bytes reachOf(Bytes windowBytes) const;
    /// and at most, of any set of slices, in windows for all that a pool has of them.
    static Bytes reachOfAny(const dissect::ResidueHash&, Bytes blockBytes, Bytes poolBytes);
    unsigned sliceOf(Bytes offset) const { return served_[(offset >> chunkShift()) % served_.size()].slice; }

    /// Units have 2^unitShift bytes.
    static unsigned unitShift(const dissect::ResidueHash&);

  private:
    /// A chunk of a turn.
    struct Served {
        std::uint32_t index = 0;  ///< in the turn
        std::uint32_t kind = 0;   ///< what parities of its pattern invert that are no part of the index
        unsigned slice = 0;
    };
    void findPatterns(const dissect::ResidueHash&);
    void makeOffsets(const std::vector<dissect::PageLabel>& inBlock, const dissect::PageLabel& inverted);
    std::uint64_t patternOf(const dissect::PageLabel&) const;
    void makeParts(std::vector<dissect::Mask> ofBit);
    unsigned kindBits() const { return static_cast<unsigned>(ofParity_.size()) - indexBits_; }
    std::size_t tableBlocks(Bytes windowBytes) const;
    void serve(const std::vector<unsigned>& slices, const dissect::ResidueHash&, std::uint32_t start);
    void placePages(const std::vector<dissect::PageLabel>&, std::uint32_t start);
    Bytes inverted(const dissect::PageLabel&) const;
    void put(const dissect::PageLabel&, std::size_t block);
    std::uint64_t chunksBefore(std::uint64_t place) const;
    unsigned chunkShift() const { return unitShift_ + chunkBits_; }

    dissect::ResidueHash hash_;
    unsigned unitShift_ = 0;
    unsigned chunkBits_ = 0;               ///< 2^chunkBits units make a chunk
    unsigned indexBits_ = 0;               ///< of a page
    std::vector<dissect::Mask> ofParity_;  ///< an offset for each parity of a pattern, on which no other is odd
    std::vector<std::size_t> kinds_;       ///< which groups are parities of a pattern, after those of the index
    std::uint32_t period_ = 1;             ///< of the index, after which slices repeat
    std::uint32_t firstAddend_ = 0;        ///< of a page in the first place
    unsigned blockShift_ = 0;              ///< 2^blockShift pages make a block
    std::size_t mostBlocks_ = 0;           ///< of the row
    std::vector<dissect::Mask> ofUnit_;    ///< an offset for each bit of a unit's number in its chunk
    unsigned ownBits_ = 0;                 ///< of an offset in the row, which are the address's own
    unsigned pieceShift_ = 0;              ///< 2^pieceShift places make a piece
    unsigned withinShift_ = 0;             ///< what is inverted is counted in 2^withinShift bytes
    std::vector<SliceColor::Part> parts_;
    std::vector<std::uint32_t> offsets_;  ///< for each part of a place
    std::vector<Served> served_;          ///< of each turn, in order
    std::vector<SliceColor::Chunk> list_;
    std::vector<std::optional<std::size_t>> places_;
    std::vector<std::uint32_t> inversions_;  ///< of the block in each place
    std::uint32_t inversionBits_ = 0;        ///< of any block's
    std::vector<ColoredHeap::Piece> pieces_;
};

}  // namespace bulkhead::walls
