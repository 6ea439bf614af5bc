#include <algorithm>

#include "base/random.h"
#include "sim/mem/replacement_policy.h"

namespace bulkhead::sim {
namespace {

/// The same numbers in every run: a simulation can be repeated.
class RandomReplacement final : public ReplacementPolicy {
  public:
    explicit RandomReplacement(std::uint32_t ways) : ways_(ways) {}

    void bring(std::uint32_t, std::uint32_t, std::uint64_t) override {}
    void use(std::uint32_t, std::uint32_t) override {}

    std::uint32_t victim(std::uint32_t set, std::span<const LineState> lines) override {
        const auto waitsForNothing = [](const LineState& line) { return !line.pending; };
        const auto count = static_cast<std::uint64_t>(std::ranges::count_if(lines, waitsForNothing));
        if (count == 0) return kNoWay;
        std::uint64_t skip = random_.below(count);
        std::uint32_t way = 0;
        while (lines[way].pending || skip-- > 0) ++way;
        return set * ways_ + way;
    }

  private:
    std::uint32_t ways_;
    Random random_{1};
};

}  // namespace

std::unique_ptr<ReplacementPolicy> makeRandomReplacement(std::uint32_t, std::uint32_t ways) {
    return std::make_unique<RandomReplacement>(ways);
}

}  // namespace bulkhead::sim
