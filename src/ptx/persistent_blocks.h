#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ptx/module.h"
#include "ptx/refusals.h"

namespace bulkhead::ptx {

/// Words of memory that a tenant's launches share. They run one after the other, so there are two turns: a launch
/// counts in one, and clears the other for the launch after it.
struct PersistentQueue {
    static constexpr unsigned kStrays = 0;  ///< blocks that had to work outside the walls, of all launches so far
    static constexpr unsigned kMaxSms = 1024;
    static constexpr unsigned kUsed = 4;  ///< from here on one word an SM: whether blocks have worked there

    // Of a turn.
    static constexpr unsigned kInside = 0;  ///< whether some block has started inside
    static constexpr unsigned kNext = 1;    ///< the next block index to hand out
    static constexpr unsigned kPlaced = 4;  ///< from here on one word an SM: blocks that have started there

    static constexpr unsigned turn(unsigned which) { return kUsed + kMaxSms + which * (kPlaced + kMaxSms); }
    static constexpr unsigned kWords = kUsed + kMaxSms + 2 * (kPlaced + kMaxSms);

    /// Physical blocks that kernels without shared memory to spare may have, and words that they need for it.
    static constexpr unsigned kSlots = 8192;
};

/// What a kernel with persistent blocks is told beyond its own parameters, by one more after them.
struct PersistentLaunch {
    std::uint64_t queue = 0;   ///< address of a queue
    std::uint64_t turn = 0;    ///< address of this launch's turn
    std::uint64_t before = 0;  ///< address of the turn of the launch before
    std::uint64_t slots = 0;   ///< address of a word for each physical block, of kernels that use them
    std::uint32_t grid[3] = {1, 1, 1};
    /// Block indices below this one are fetched ahead: so many that every place still gets one after them.
    std::uint32_t ahead = 0;
    std::uint32_t most = 0;   ///< blocks that may work on one SM; 0: as many as fit
    std::uint32_t clear = 0;  ///< bytes that the launch before has used of its turn, in multiples of 16
    /// One bit an SM: whether blocks may work there. Here, and not in memory, since every warp of every block looks.
    std::uint32_t sms[PersistentQueue::kMaxSms / 32] = {};
};
static_assert(sizeof(PersistentLaunch) == 184);

struct PersistentModule : RewrittenModule {
    struct Kernel {
        unsigned sharedBytes = 0;  ///< that were added
        bool usesSlots = false;
    };
    std::map<std::string, Kernel> kernels;  ///< those that were not refused
};

struct PersistentOptions {
    /// For tests: takes for granted that all threads of a block come to the same barriers.
    bool trustBarriers = false;
};

/// The compute walls of Fractional GPUs (III-B), put into kernels by rewriting their PTX, so that any kernel can have
/// them unchanged. Each kernel gets a PersistentLaunch as one more parameter. It is launched on a row of physical
/// blocks, as many as the GPU holds. Blocks that find themselves on an SM outside the walls leave, and so do those that
/// are more on their SM than are wanted there; the others take block indices from the queue until there are no more.
/// Two barriers a block index keep a slow warp from reading an index that the next one has overwritten. An index is
/// fetched while the block before it is at work, but for the last ones: whoever has nothing to do should find them in
/// the queue. A launch is never lost: if the last block of the row is outside and for a while sees nobody start inside,
/// it does the work where it is, and is counted.
///
/// Refuses kernels of which that would change what they do: where a block would find something that the block before
/// it left behind (half full barriers, mbarriers, bulk copies), or that knows of blocks what the loop does not
/// (clusters), where a function ends its thread, and votes of a block of which some threads may have left.
PersistentModule withPersistentBlocks(const Module&, const PersistentOptions& = {});

}  // namespace bulkhead::ptx
