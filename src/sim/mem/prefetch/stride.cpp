#include <array>

#include "sim/mem/prefetch_policy.h"

namespace bulkhead::sim {
namespace {

/// A reference prediction table (Chen and Baer, IEEE Transactions on Computers 1995) whose entries belong to one load
/// of one warp, since warps that interleave would hide each other's strides (Lee and others, MICRO 2010). Each line
/// that the load touches has an entry of its own. A stride is followed once it was seen twice in a row.
class Stride final : public PrefetchPolicy {
  public:
    explicit Stride(const PrefetchConfig& config) : degree_(config.degree) {}

    void lookAhead(const PrefetchTrigger& trigger, std::vector<std::uint64_t>& lines) override {
        const std::uint64_t load = std::uint64_t{trigger.pc} << 16 | trigger.warp << 8 | trigger.part;
        Entry& entry = table_[load * 0x9E3779B97F4A7C15u >> (64 - kIndexBits)];
        if (entry.load != load) {
            entry = {load, trigger.line, 0};
            return;
        }
        const std::uint64_t stride = trigger.line - entry.last;
        const bool again = stride != 0 && stride == entry.stride;
        entry.last = trigger.line;
        entry.stride = stride;
        for (std::uint32_t i = 1; again && i <= degree_; ++i) lines.push_back(trigger.line + i * stride);
    }

  private:
    static constexpr unsigned kIndexBits = 8;
    struct Entry {
        std::uint64_t load = ~std::uint64_t{0};
        std::uint64_t last = 0, stride = 0;  ///< a stride backwards wraps around
    };

    std::uint32_t degree_;
    std::array<Entry, 1 << kIndexBits> table_;
};

}  // namespace

std::unique_ptr<PrefetchPolicy> makeStride(const PrefetchConfig& config) {
    return std::make_unique<Stride>(config);
}

}  // namespace bulkhead::sim
