#include <bit>

#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {
namespace {

/// Loose round robin: the next ready slot after the one that issued last.
class Lrr final : public WarpScheduler {
  public:
    explicit Lrr(const SchedulerConfig& config) : last_(config.schedulers, 0) {}

    int pick(int scheduler, WarpMask eligible) override {
        int& last = last_[static_cast<std::size_t>(scheduler)];
        const int shift = (last + 1) & (kMaxWarps - 1);
        last = (std::countr_zero(std::rotr(eligible, shift)) + shift) & (kMaxWarps - 1);
        return last;
    }

  private:
    std::vector<int> last_;
};

}  // namespace

std::unique_ptr<WarpScheduler> makeLrr(const SchedulerConfig& config) {
    return std::make_unique<Lrr>(config);
}

}  // namespace bulkhead::sim
