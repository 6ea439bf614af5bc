#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "sim/block_order.h"
#include "sim/launch.h"
#include "sim/numbered.h"
#include "sim/time_slicer.h"

namespace bulkhead::sim {

/// Places blocks on SMs, one at a time, for a window ahead: room that a block leaves in a window is taken in the next.
/// Launches are served by priority, and in the order in which they started; one may only use SMs that none served
/// before it with blocks to place could use.
class BlockDispatcher {
  public:
    /// `passStop` is asked when there is room for a launch's block Launch::stopAt: false if it cannot be placed yet. It
    /// may let the launch go on with another block.
    BlockDispatcher(const SimContext&, const TimeSlicer&, Numbered<Launch>&, std::function<bool(Launch&)> passStop);

    /// Something may fit from now on.
    void schedule() { next_ = std::max(next_ == kNever ? 0 : next_, sim_.now()); }
    bool scheduled() const { return next_ != kNever; }
    Cycles next() const { return next_; }
    /// Blocks that start before that time.
    void dispatch(Cycles end);
    /// What MPS calls an active thread percentage: a context's blocks start only while so many threads of it, on all
    /// SMs together, are not exceeded. 0 = no limit.
    void limitThreads(ContextId context, std::uint64_t threads) { threadLimits_[context] = threads; }
    bool limitsThreads(ContextId context) const {
        const auto limit = threadLimits_.find(context);
        return limit != threadLimits_.end() && limit->second != 0;
    }

  private:
    bool placeNext(SmGroup&);
    void orderSms(SmGroup&, const Launch&) const;
    bool withinThreadLimit(const SmGroup&, const Launch&) const;
    bool placeBlock(SmGroup&, Launch&, const std::vector<bool>& claimed);
    bool placeCluster(SmGroup&, Launch&, const std::vector<bool>& claimed);
    bool findCluster(SmGroup&, const Launch&, const std::vector<bool>& claimed, std::size_t gpc);
    void put(SmGroup&, Launch&, std::uint32_t sm);

    const SimContext& sim_;
    const TimeSlicer& slicer_;
    Numbered<Launch>& launches_;
    std::function<bool(Launch&)> passStop_;
    std::unordered_map<ContextId, std::uint64_t> threadLimits_;
    BlockOrder order_;
    std::uint64_t interval_;                 ///< between two blocks, in millionths of a cycle
    std::uint64_t owed_ = 0;                 ///< of them, since the last block
    Cycles next_ = kNever;                   ///< when the next block may start
    std::uint64_t placed_ = 0;               ///< blocks, by the last placeNext
    std::vector<std::uint32_t> clusterSms_;  ///< where the blocks of a cluster go, by rank
};

}  // namespace bulkhead::sim
