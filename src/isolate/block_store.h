#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "dissect/sides.h"
#include "driver/driver_api.h"

namespace bulkhead::isolate {

/// A card's memory in blocks that several processes can have, each another color of them. Needs no context: nothing
/// runs on the GPU for it.
class BlockStore {
  public:
    static constexpr unsigned kColors = 2;

    /// `device` of a driver that is initialised.
    BlockStore(const driver::DriverApi&, driver::CUdevice device);
    ~BlockStore();
    BlockStore(const BlockStore&) = delete;
    BlockStore& operator=(const BlockStore&) = delete;

    /// Takes so many bytes from the driver, or all there are, in blocks of so many pages, behind some single pages that
    /// are left out. What it had is given back first. Throws Error while anybody has any of it.
    void make(unsigned pagesPerBlock, unsigned skip, Bytes bytes);
    /// A digit a block. Those of kinds other than 0 and 1 are given back. Throws Error if it is not one for each.
    void settle(const std::string& kinds);

    std::size_t blocks() const { return blocks_.size(); }
    Bytes blockBytes() const { return blockBytes_; }
    bool settled() const { return settled_; }
    /// Of both colors. What a kind has more than the other has no place in anybody's row.
    Bytes bytes() const;
    bool inUse() const;

    /// Blocks of a kind in which a color is nobody's are somebody's from then on; as many as there are, up to `count`.
    std::vector<std::size_t> take(std::uint64_t owner, unsigned color, unsigned kind, std::size_t count);
    /// That an owner has of a color.
    Bytes bytesOf(std::uint64_t owner) const;
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
    /// A digit for each of the unknown ones, in order; other characters leave them unknown.
    void nameKinds(const std::string& kinds);

    /// An open file that stands for a block in other processes. Throws Error.
    int share(std::size_t block) const;

  private:
    static constexpr std::uint8_t kUnknown = 2;
    struct Block {
        driver::CUmemGenericAllocationHandle handle = 0;
        std::uint8_t kind = 0;                          ///< 0, 1, or kUnknown
        std::array<std::uint64_t, kColors> owner = {};  ///< 0: nobody
    };
    bool create(Bytes bytes, driver::CUmemGenericAllocationHandle&) const;
    void releaseAll();

    const driver::DriverApi& api_;
    driver::CUdevice device_;
    Bytes blockBytes_ = dissect::kPageBytes;
    bool settled_ = false;
    std::vector<driver::CUmemGenericAllocationHandle> left_;  ///< pages that are left out
    std::vector<Block> blocks_;
    std::size_t missing_ = 0;  ///< blocks that the driver has, and is to give back
};

}  // namespace bulkhead::isolate
