#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/units.h"
#include "dissect/residue_hash.h"
#include "dissect/sides.h"
#include "driver/driver_api.h"
#include "walls/side_row.h"

namespace bulkhead::isolate {

/// A card's memory in blocks that several processes can have, each another color of them. Needs no context: nothing
/// runs on the GPU for it.
class BlockStore {
  public:
    using Labels = std::vector<std::optional<dissect::PageLabel>>;

    /// `device` of a driver that is initialised.
    BlockStore(const driver::DriverApi&, driver::CUdevice device);
    ~BlockStore();
    BlockStore(const BlockStore&) = delete;
    BlockStore& operator=(const BlockStore&) = delete;

    /// Takes so many bytes from the driver, or all there are, in blocks of so many pages, some single pages among them
    /// left out. What it had is given back first. Throws Error while anybody has any of it.
    void make(unsigned pagesPerBlock, walls::PagesLeftOut, Bytes bytes);
    /// Of some blocks that follow each other. Throws Error if there are not so many.
    void label(std::size_t first, const Labels&);
    /// How blocks are divided: into so many colors, and into kinds by their labels. Those without a label are given
    /// back, or stay and are unknown.
    struct Division {
        unsigned colors = 1, kinds = 1;
        std::function<unsigned(const dissect::PageLabel&)> kindOf;
    };
    void settle(Division, bool keepUnknown = false);

    std::size_t blocks() const { return blocks_.size(); }
    Bytes blockBytes() const { return blockBytes_; }
    bool settled() const { return settled_; }
    /// Of all colors. What a kind has more than another has no place in anybody's row.
    Bytes bytes() const;
    bool inUse() const;

    /// Blocks in which none of the colors is anybody's have them taken from then on: as many of each kind as there are,
    /// up to so many, and `most` of all.
    std::vector<std::size_t> take(std::uint64_t owner, const std::vector<unsigned>& colors,
                                  std::vector<std::size_t> ofKind, std::size_t most);
    const dissect::PageLabel& labelOf(std::size_t block) const { return *blocks_.at(block).label; }
    /// That an owner has colors of.
    std::size_t blocksOf(std::uint64_t owner) const;
    void giveBack(std::uint64_t owner);
    /// Gives blocks that are nobody's back to the driver, of unknown kind first, so that somebody can have their memory
    /// from there. Returns how many bytes it gave: no more than these, and less where others have the rest.
    Bytes release(Bytes bytes);
    /// Takes as much from the driver again, once it is free there. What comes back is of unknown kind.
    void expect(Bytes bytes) { missing_ += bytes / blockBytes_; }
    void takeMissing();
    /// Of any kind, with what is missing.
    Bytes allBytes() const { return (blocks_.size() + missing_) * blockBytes_; }
    /// Blocks whose kind nobody knows yet, by number.
    std::vector<std::size_t> unknown() const;
    /// For each of these in order; what has no label stays unknown.
    void labelUnknown(const Labels&);

    /// An open file that stands for a block in other processes. Throws Error.
    int share(std::size_t block) const;

  private:
    struct Block {
        driver::CUmemGenericAllocationHandle handle = 0;
        std::optional<dissect::PageLabel> label;
        std::vector<std::uint64_t> owner;  ///< of each color; empty: nobody's

        bool isFree() const;
    };
    bool create(Bytes bytes, driver::CUmemGenericAllocationHandle&) const;
    void leaveOut(walls::PagesLeftOut);
    void releaseAll();

    const driver::DriverApi& api_;
    driver::CUdevice device_;
    Bytes blockBytes_ = dissect::kPageBytes;
    bool settled_ = false;
    Division division_;
    std::vector<driver::CUmemGenericAllocationHandle> left_;  ///< pages that are left out
    std::vector<Block> blocks_;
    std::size_t missing_ = 0;  ///< blocks that the driver has, and is to give back
};

}  // namespace bulkhead::isolate
