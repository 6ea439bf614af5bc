#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

/// Addresses of the .shared::cluster space: that of a byte in a block's shared memory, with the block's rank, plus one,
/// in the bits above. Without a rank it is the executing block's own, so that .shared::cta is a part of it.
struct ClusterAddress {
    static constexpr unsigned kShift = 23;
    static constexpr std::uint32_t kOffsets = (std::uint32_t{1} << kShift) - 1;

    static std::uint32_t of(std::uint32_t offset, std::uint32_t rank) {
        return (offset & kOffsets) | (rank + 1) << kShift;
    }
    static std::uint32_t offsetIn(std::uint64_t address) { return static_cast<std::uint32_t>(address) & kOffsets; }
    static std::uint32_t rankIn(std::uint64_t address, std::uint32_t own) {
        const std::uint32_t rank = static_cast<std::uint32_t>(address) >> kShift;
        return rank ? rank - 1 : own;
    }
};

/// Which place a block has in its grid, given how many come before it: blocks of a cluster follow each other.
struct BlockPlace {
    Dim3 index;             ///< %ctaid
    std::uint64_t cluster;  ///< its number
    std::uint32_t rank;     ///< %cluster_ctarank
};
BlockPlace placeOf(std::uint64_t block, const Dim3& grid, const Dim3& cluster);

/// Blocks that are on the GPU together: each other's shared memory, which outlives the blocks, and the barrier of all
/// their threads. They may be on SMs that advance apart. What one of them does to it shows at the end of a window, as
/// with global memory (PendingEffects), so that nothing in it changes while SMs advance, but for a block's own shared
/// memory.
class Cluster {
  public:
    explicit Cluster(const LaunchContext&);
    /// Whether blocks of the launch need one.
    static bool wanted(const LaunchContext&);

    std::uint32_t size() const { return static_cast<std::uint32_t>(blocks_.size()); }
    std::span<std::uint8_t> sharedOf(std::uint32_t rank) { return blocks_[rank].shared; }

    /// A block has ended: nobody may access its memory any more. True if it was the last.
    bool end(std::uint32_t rank);
    bool hasEnded(std::uint32_t rank) const { return blocks_[rank].ended; }

    // The barrier. Threads arrive and later wait; a phase is over when all that have not exited have arrived.

    bool parity() const { return parity_; }                ///< of the phase under way
    Cycles lastCompleted() const { return completedAt_; }  ///< when the phase before was over
    /// True if that ends a phase.
    bool arrive(std::uint32_t rank, std::uint32_t warp, LaneMask, Cycles when);
    bool exit(std::uint32_t rank, std::uint32_t warp, LaneMask, Cycles when);

  private:
    struct OfWarp {
        LaneMask live = 0, arrived = 0;
    };
    struct OfBlock {
        std::vector<std::uint8_t> shared;
        std::vector<OfWarp> warps;
        bool ended = false;
    };
    bool complete(Cycles when);

    std::vector<OfBlock> blocks_;  ///< by rank
    std::uint64_t live_ = 0, arrived_ = 0;
    std::uint32_t left_ = 0;  ///< blocks that have not ended
    bool parity_ = false;
    Cycles completedAt_ = 0;
};

// Handlers.

/// mapa: dst[0] = the address of src[0] in the block with the rank src[1]; elementBytes wide. Generic ones lie in
/// shared memory's window.
void runMapAddress(const Instr&, Warp&, LaneMask);
void runMapGenericAddress(const Instr&, Warp&, LaneMask);
/// getctarank: dst[0] = the rank of the block in whose shared memory src[0] is.
void runRankOfAddress(const Instr&, Warp&, LaneMask);

}  // namespace bulkhead::sim
