#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "sim/ratio_estimate.h"

namespace bulkhead::sim {

/// A range of blocks of a grid, by number.
struct BlockRange {
    std::uint64_t first = 0, end = 0;
    std::uint64_t count() const { return end - first; }
};

/// Which blocks of a large grid are timed, and what the whole grid would have taken.
///
/// A wave is as many blocks as the GPU holds. The first two waves (cold caches) and the last two (the GPU runs empty)
/// are timed. Between them the grid is divided into equal strata; in each, some waves from a random place on are timed:
/// the first let caches, pipelines and DRAM come into their stride, the others are measured. Timed blocks follow each
/// other without a pause, as if those between were not there. Time between the first waves and the last one is taken to
/// be proportional to warp instructions, which are counted in all blocks.
class GridSample {
  public:
    /// Whether a grid of so many blocks is large enough to leave blocks out.
    static bool worthwhile(std::uint64_t blocks, std::uint64_t wave);
    GridSample(std::uint64_t blocks, std::uint64_t wave, std::uint64_t seed, Cycles started);

    /// reached() must be called when the GPU has room for the block of this number, before it is placed.
    static constexpr std::uint64_t kNoStop = ~std::uint64_t{0};
    std::uint64_t nextStop() const { return stop_; }
    /// The time, and how many warp instructions of the launch were executed so far, with time or without. Returns the
    /// blocks that come next and are not to be timed.
    BlockRange reached(Cycles now, std::uint64_t instructions);
    /// The rest of the grid is timed, from now on.
    void giveUp(Cycles now, std::uint64_t instructions);

    /// Of the whole launch, in cycles; to be called when its blocks have ended.
    Estimate estimate(Cycles ended) const;

  private:
    struct Moment {
        Cycles when = 0;
        std::uint64_t instructions = 0;
    };
    enum class Phase : std::uint8_t { beginning, warmUp, measured, lastWarmUp };

    bool planPieces(Cycles beginning);
    BlockRange extend(std::uint64_t blocks);
    BlockRange jump();
    double jumpError() const;

    std::uint64_t wave_, step_;
    std::uint64_t endBegins_;            ///< with a warm-up
    std::vector<std::uint64_t> starts_;  ///< of pieces that are still to come, the next one last
    std::uint64_t stop_;
    Cycles warmUp_ = 0, measured_ = 0;  ///< at least, of a piece
    Phase phase_ = Phase::beginning;
    Moment started_, phaseBegan_, beginningEnded_, endBegan_;
    std::vector<MeasuredPiece> pieces_;
    double warmedUp_ = 0;  ///< cycles, before all of them
};

}  // namespace bulkhead::sim
