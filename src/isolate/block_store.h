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
    /// An open file that stands for a block in other processes. Throws Error.
    int share(std::size_t block) const;

  private:
    struct Block {
        driver::CUmemGenericAllocationHandle handle = 0;
        std::uint8_t kind = 0;
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
};

}  // namespace bulkhead::isolate
