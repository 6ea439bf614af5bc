#include <algorithm>

#include "sim/sim_context.h"
#include "sim/sm/gto.h"
#include "sim/sm/victim_tag_array.h"

namespace bulkhead::sim {
namespace {

/// Cache-conscious wavefront scheduling (Rogers et al., MICRO 2012). Every warp has a lost-locality score. A hit in its
/// victim tag array lifts it to the lost-locality detected score, from where it falls by one a cycle to the base score.
/// Warps are ranked by score; those that no longer fit under the sum of all base scores may not load.
class Ccws final : public Gto {
  public:
    explicit Ccws(const SchedulerConfig& config)
        : Gto(config),
          now_(config.sim->now()),
          figures_(config.sim->config.ccws),
          vta_(config.warps, figures_.vtaTags) {
        watchesCache_ = throttles_ = countsInstructions_ = true;
    }

    void kernelStarted() override {
        vta_.clear();
        vtaHits_ = instructions_ = 0;
    }
    void warpStarted(std::uint32_t slot, std::uint64_t age) override {
        Gto::warpStarted(slot, age);
        scoreGone_[slot] = 0;
        ranking_.push_back(static_cast<std::uint8_t>(slot));
        rank();
    }
    void warpFinished(std::uint32_t slot) override {
        std::erase(ranking_, static_cast<std::uint8_t>(slot));
        waiting_ &= ~bitOf(slot);
        rank();
    }
    /// A warp at a barrier loads nothing: it leaves its place in the ranking to those that the barrier waits for.
    void warpWaits(std::uint32_t slot) override {
        waiting_ |= bitOf(slot);
        due_ = std::min(due_, ranked_ + figures_.interval);
    }
    void warpResumes(std::uint32_t slot) override {
        waiting_ &= ~bitOf(slot);
        due_ = std::min(due_, ranked_ + figures_.interval);
    }
    void issued(std::uint32_t, unsigned) override { ++instructions_; }
    void observe(const CacheEvent& event) override {
        if (event.kind == CacheEvent::Kind::eviction) {
            vta_.insert(event.owner, event.line, event.warp);
        } else if (vta_.probe(event.warp, event.line) != VictimTagArray::kNobody) {
            ++vtaHits_;
            scoreGone_[event.warp] = now_ + detectedScore();
            due_ = std::min(due_, ranked_ + figures_.interval);
        }
    }
    void advance(Cycles) override { rank(); }

  private:
    std::uint64_t base() const { return figures_.baseScore; }
    std::uint64_t cutoff() const { return ranking_.size() * base(); }
    /// LLDS = VTA hits x K x cutoff / instructions, both counted for the whole SM.
    std::uint64_t detectedScore() const {
        return vtaHits_ * figures_.throttle * cutoff() / std::max<std::uint64_t>(instructions_, 1);
    }
    std::uint64_t score(std::uint8_t slot) const {
        return scoreGone_[slot] > now_ + base() ? scoreGone_[slot] - now_ : base();
    }

    void rank() {
        ranked_ = now_;
        std::sort(ranking_.begin(), ranking_.end(), [&](std::uint8_t a, std::uint8_t b) {
            return score(a) != score(b) ? score(a) > score(b) : ageOf(a) < ageOf(b);
        });
        heldFromMemory_ = 0;
        due_ = kNever;
        std::uint64_t sum = 0, falling = 0;
        for (std::uint8_t slot : ranking_) {
            if (waiting_ & bitOf(slot)) continue;
            const bool first = sum == 0;  // always fits
            sum += score(slot);
            falling += score(slot) > base();
            if (sum <= cutoff() || first) continue;
            heldFromMemory_ |= bitOf(slot);
            // The sum falls by one a cycle for each score above the base: not before that can this warp load again.
            if (due_ == kNever)
                due_ = now_ + std::max<Cycles>((sum - cutoff() + falling - 1) / std::max<std::uint64_t>(falling, 1),
                                               figures_.interval);
        }
    }

    const Cycles& now_;
    const MachineConfig::Ccws& figures_;
    VictimTagArray vta_;
    WarpMask waiting_ = 0;                     ///< at a barrier
    std::vector<std::uint8_t> ranking_;        ///< resident warps, highest score first
    std::uint64_t scoreGone_[kMaxWarps] = {};  ///< when the score would be 0, if it fell on
    std::uint64_t vtaHits_ = 0, instructions_ = 0;
    Cycles ranked_ = 0;
};

}  // namespace

std::unique_ptr<WarpScheduler> makeCcws(const SchedulerConfig& config) {
    return std::make_unique<Ccws>(config);
}

}  // namespace bulkhead::sim
