#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/thread_team.h"
#include "sim/untimed_blocks.h"

namespace bulkhead::sim {

/// Executes all blocks of a launch without time. Those of a kernel by which blocks do not communicate are dealt to
/// several parts, each of which any thread of the host may execute: nothing depends on how many there are.
class UntimedGrid {
  public:
    /// `resident`: how many blocks the GPU holds. `now`: what a clock would say.
    UntimedGrid(const LaunchContext&, std::uint64_t resident, const Cycles& now, ThreadTeam&);

    using Outcome = UntimedBlocks::Outcome;
    /// Executes about so many warp instructions more. For the rest see UntimedBlocks::run.
    Outcome run(std::uint64_t instructions, bool others);

    const Counters& counted() const { return counted_; }
    std::uint64_t left() const;
    std::uint64_t changes() const;

  private:
    struct Part {
        UntimedBlocks blocks;
        std::uint64_t first = 0;  ///< of those that it was dealt last
        Outcome outcome = Outcome::done;
        std::optional<LaunchError> error{};
    };

    void deal(std::uint64_t instructions);
    void execute(std::uint64_t instructions, bool others);
    Outcome outcome() const;

    const std::uint64_t blocks_, together_;
    ThreadTeam& team_;
    std::vector<std::unique_ptr<Part>> parts_;
    std::uint64_t next_ = 0;  ///< block that nobody has been dealt yet
    Counters counted_;
};

}  // namespace bulkhead::sim
