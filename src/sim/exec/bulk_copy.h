#pragma once

#include <cstdint>
#include <vector>

#include "sim/exec/atomics.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

class PendingEffects;

/// Bytes of a bulk copy that lie together in global and in shared memory, within a line of 128 bytes.
struct BulkPiece {
    VirtualAddress global = 0;
    std::uint8_t* host = nullptr;  ///< where the global ones are; null: outside of the tensor
    std::uint32_t shared = 0;      ///< offset in a block's shared memory
    std::uint32_t bytes = 0;
};

/// What a thread has asked the copy engine for: cp.async.bulk and its kin. It takes effect when who has it says so.
struct BulkCopy {
    using Way = BulkWay;

    Way way = Way::toShared;
    Block* block = nullptr;  ///< whose thread it was; null: it has ended, and nothing takes effect any more
    std::uint32_t slot = 0;  ///< of the thread's warp
    std::int32_t line = 0;
    std::vector<BulkPiece> pieces;   ///< not of `between`
    BulkReduction reduce = nullptr;  ///< null: overwrite
    std::uint64_t fill = 0;          ///< for pieces outside of the tensor: so many bytes of this, repeated
    std::uint32_t fillBytes = 1;
    bool roundsToTf32 = false;   ///< toShared: f32 from the tensor
    std::uint32_t bytes = 0;     ///< in all
    std::uint32_t ranks = 0;     ///< toShared, between: the blocks, a bit each
    std::uint32_t mbarrier = 0;  ///< where the objects are in their blocks' shared memory
    std::uint32_t mbarrierRanks = 0;
    std::uint32_t from = 0, to = 0;  ///< between

    /// Moves the data, and completes the bytes at the mbarrier objects.
    void takeEffect(PendingEffects&) const;

  private:
    void writeShared(PendingEffects&) const;
    void writeGlobal(PendingEffects&) const;
    void writeOther(PendingEffects&) const;
    void put(PendingEffects&, std::uint32_t rank, std::uint32_t offset, const std::uint8_t* from,
             std::uint32_t bytes) const;
};

/// Who takes time over copies.
class BulkCopies {
  public:
    virtual void submit(BulkCopy&&) = 0;

  protected:
    ~BulkCopies() = default;
};

/// cp.async.bulk, cp.reduce.async.bulk and those of tensors: the site's copy for every lane.
void runBulkCopy(const Instr&, Warp&, LaneMask);

}  // namespace bulkhead::sim
