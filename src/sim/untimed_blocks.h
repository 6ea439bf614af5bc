#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/counters.h"
#include "sim/exec/cluster.h"
#include "sim/exec/pending_effects.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

/// Is told what blocks that are executed without time do to memory.
class AccessListener {
  public:
    virtual ~AccessListener() = default;
    virtual void accessed(const Access&) = 0;
};

/// Executes blocks of a launch without time: no SM, no cache, no DRAM. What they do to memory shows at once.
///
/// Blocks that would be on the GPU together take turns, and so do the warps of a block. Whatever ends on the GPU
/// because such blocks make progress side by side ends here too. A turn is long, so that a block that waits for nobody
/// is executed in one.
class UntimedBlocks {
  public:
    /// `resident`: how many blocks the GPU holds. `now`: what a clock would say.
    UntimedBlocks(const LaunchContext&, std::uint64_t resident, const Cycles& now, AccessListener* = nullptr);

    /// Blocks [first, end) are next. Those before must be done.
    void add(std::uint64_t first, std::uint64_t end);

    enum class Outcome : std::uint8_t {
        done,     ///< all blocks have ended
        waiting,  ///< for what somebody else may do: nothing has happened for a whole turn of every block
        limited,  ///< as many instructions have been executed as were allowed
    };
    /// Executes what was added, as long as no more than so many warp instructions have been executed in all. `others`:
    /// there are blocks elsewhere that these may wait for. Throws LaunchError: of an instruction, of a barrier that can
    /// never complete or of blocks that go round in circles.
    Outcome run(std::uint64_t mostInstructions, bool others);

    /// What has been executed so far: instructions and blocks.
    const Counters& counted() const { return counted_; }
    /// Blocks that have not ended.
    std::uint64_t left() const { return end_ - next_ + residents_.size(); }
    /// Changes with whatever has been done that another launch could wait for.
    std::uint64_t changes() const { return changes_; }

  private:
    static constexpr std::uint64_t kStretch = 4'096;  ///< steps of a warp until the next one has its turn
    /// Steps of a block without a change until it is asked whether it spins: fewer where it did so in its last turn,
    /// and twice as many each time that it does not.
    static constexpr std::uint64_t kLeastPatience = 64, kFirstPatience = 4'096, kPatience = 1 << 16;
    static constexpr std::uint64_t kTurn = 1 << 22;  ///< steps of a block until its turn is over in any case

    struct Resident {
        std::optional<Block> block;
        std::vector<Warp> warps;
        std::vector<Warp::Snapshot> snapshots;
        std::vector<bool> loops;
        std::uint64_t waiting = 0;         ///< at barriers: bit per warp
        std::shared_ptr<Cluster> cluster;  ///< null: the block is alone
        bool spun = false;                 ///< in its last turn

        bool canMove(std::uint32_t warp) const {
            return !warps[warp].finished() && !(waiting >> warp & 1) && !warps[warp].waitsForCluster();
        }
    };

    void start(Resident&);
    void giveTurn(Resident&);
    bool spins(Resident&);
    static void takeSnapshots(Resident&);
    void runWarp(Resident&, std::uint32_t warp, std::uint64_t steps);
    void note(Resident&, std::uint32_t warp, const Step&);
    bool round();
    void expectProgress();
    bool watch(std::uint64_t steps);
    void watchWarp(Resident&, std::uint32_t warp, std::uint64_t steps);
    template <class Visit>
    void eachMovable(Visit&&);
    bool overLimit() const { return counted_.warpInstructions >= most_; }

    const LaunchContext& launch_;
    const Cycles& now_;
    AccessListener* listener_;
    PendingEffects effects_;
    std::uint64_t capacity_;
    std::uint64_t next_ = 0, end_ = 0;
    std::shared_ptr<Cluster> cluster_;  ///< of the block that was started last
    std::vector<std::unique_ptr<Resident>> residents_, spare_;
    std::size_t turn_ = 0;          ///< of which resident is next, in a round that a limit has ended
    std::uint64_t roundBegan_ = 0;  ///< with so many changes
    Counters counted_;
    std::uint64_t most_ = 0;
    /// What a spinning warp could be waiting for: stores, atomics that changed memory, barriers, ends of warps.
    std::uint64_t changes_ = 0;
};

}  // namespace bulkhead::sim
