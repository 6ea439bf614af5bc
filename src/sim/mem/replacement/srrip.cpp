#include <algorithm>
#include <vector>

#include "sim/mem/replacement_policy.h"

namespace bulkhead::sim {
namespace {

constexpr std::uint8_t kAtOnce = 0, kLong = 2, kDistant = 3;  ///< when the line is expected to be used again

/// Static re-reference interval prediction with hit priority: a new line is expected to be used after a long interval,
/// one that was used again at once. The first line that is expected in the distant future goes; if there is none, all
/// are expected later than before.
class Srrip final : public ReplacementPolicy {
  public:
    Srrip(std::uint32_t sets, std::uint32_t ways) : ways_(ways), expected_(std::size_t{sets} * ways, kDistant) {}

    void bring(std::uint32_t, std::uint32_t way, std::uint64_t younger) override {
        expected_[way] = younger ? kAtOnce : kLong;
    }
    void use(std::uint32_t, std::uint32_t way) override { expected_[way] = kAtOnce; }

    std::uint32_t victim(std::uint32_t set, std::span<const LineState> lines) override {
        const std::uint32_t base = set * ways_;
        std::uint32_t last = kNoWay;  // of those that may go, the one expected last
        for (std::uint32_t i = 0; i < ways_; ++i)
            if (!lines[i].pending && (last == kNoWay || expected_[base + i] > expected_[last])) last = base + i;
        if (last == kNoWay) return kNoWay;
        const auto later = static_cast<std::uint8_t>(kDistant - expected_[last]);
        for (std::uint32_t i = 0; i < ways_; ++i)
            expected_[base + i] = static_cast<std::uint8_t>(std::min<int>(expected_[base + i] + later, kDistant));
        return last;
    }

  private:
    std::uint32_t ways_;
    std::vector<std::uint8_t> expected_;
};

}  // namespace

std::unique_ptr<ReplacementPolicy> makeSrrip(std::uint32_t sets, std::uint32_t ways) {
    return std::make_unique<Srrip>(sets, ways);
}

}  // namespace bulkhead::sim
