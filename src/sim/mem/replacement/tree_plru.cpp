#include <algorithm>
#include <bit>
#include <vector>

#include "sim/mem/replacement_policy.h"

namespace bulkhead::sim {
namespace {

/// The ways of a set are the leaves of a binary tree, whose nodes lie in an array as in a heap: node n has the children
/// 2n and 2n + 1. Each points to the half that was not used last. Where the number of ways is no power of two, the last
/// leaves are never there.
class TreePlru final : public ReplacementPolicy {
  public:
    TreePlru(std::uint32_t sets, std::uint32_t ways)
        : ways_(ways), leaves_(std::bit_ceil(ways)), pointsRight_(std::size_t{sets} * leaves_, false) {}

    void bring(std::uint32_t set, std::uint32_t way, std::uint64_t) override { use(set, way); }

    void use(std::uint32_t set, std::uint32_t way) override {
        for (std::uint32_t node = leaves_ + way - set * ways_; node > 1; node /= 2)
            pointsRight_[nodeOf(set, node / 2)] = node % 2 == 0;
    }

    std::uint32_t victim(std::uint32_t set, std::span<const LineState> lines) override {
        std::uint32_t node = 1;
        if (!mayGo(node, lines)) return kNoWay;
        while (node < leaves_) {
            const std::uint32_t wanted = 2 * node + (pointsRight_[nodeOf(set, node)] ? 1 : 0);
            node = mayGo(wanted, lines) ? wanted : wanted ^ 1;
        }
        return set * ways_ + node - leaves_;
    }

  private:
    std::size_t nodeOf(std::uint32_t set, std::uint32_t node) const { return std::size_t{set} * leaves_ + node; }

    /// Whether a line below the node waits for nothing.
    bool mayGo(std::uint32_t node, std::span<const LineState> lines) const {
        const auto level = static_cast<std::uint32_t>(std::bit_width(node)) - 1;
        const std::uint32_t below = leaves_ >> level, first = (node - (1u << level)) * below;
        const std::uint32_t last = std::min(first + below, ways_);
        for (std::uint32_t i = first; i < last; ++i)
            if (!lines[i].pending) return true;
        return false;
    }

    std::uint32_t ways_, leaves_;
    std::vector<bool> pointsRight_;
};

}  // namespace

std::unique_ptr<ReplacementPolicy> makeTreePlru(std::uint32_t sets, std::uint32_t ways) {
    return std::make_unique<TreePlru>(sets, ways);
}

}  // namespace bulkhead::sim
