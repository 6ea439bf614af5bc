#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "dissect/gf2.h"

namespace bulkhead::walls {

/// A row of memory in which a parity of the offset tells the side of the L2. It is made of blocks that the driver gives
/// as a whole, each of some pages that follow each other in physical memory too. What the bits of an address within a
/// block do to the side is known; what those above do makes a block one of two kinds, and blocks take their places in
/// the row by that.
struct SideRow {
    unsigned pagesPerBlock = 1;  ///< of 2 MB; a power of two
    dissect::Mask mask = 0;      ///< of an offset in the row

    Bytes blockBytes() const;
    /// The kind of the block that belongs into a place.
    unsigned kindAt(std::size_t place) const;
    /// Whether blocks of both kinds are needed.
    bool alternates() const;
};

/// Pages that are left out after so many blocks, so that those behind begin where the order of memory does.
struct PagesLeftOut {
    std::size_t after = 0;
    unsigned pages = 0;
    /// Taken as one with a block's pages, as a block would be: single pages may come from where no block fits.
    bool together = false;
};

/// What pages say of the blocks that they are in.
struct SeenBlocks {
    static constexpr std::uint8_t kOdd = 2;  ///< the kind of a block that fits nowhere

    SideRow row;
    /// What has to be left out so that blocks begin where the parity's do. The driver gives small pieces of memory
    /// first, where programs left them, which are another order's.
    PagesLeftOut leaveOut;
    std::vector<std::uint8_t> kinds;  ///< of each block; all odd where pages are to be left out first
};

/// From the side of what has an even parity of `inPage` in each page, block by block as the driver gave them. Empty if
/// pages of so many are no parity of their number, as where they lie apart: blocks of one page always fit.
std::optional<SeenBlocks> seeBlocks(dissect::Mask inPage, const std::vector<bool>& sideOfPage, unsigned pagesPerBlock);
/// What to leave out of memory that was taken with `before`, and seen to need `more`.
PagesLeftOut leaveOutMore(PagesLeftOut before, PagesLeftOut more, unsigned pagesPerBlock);

}  // namespace bulkhead::walls
