#pragma once

#include <cstdint>
#include <vector>

namespace bulkhead::sim {

/// Tags of a set-associative, sectored cache with LRU replacement. Data live in the functional memory; this decides
/// only what is present. Ways of a set lie side by side in each array.
class CacheTags {
  public:
    CacheTags(std::uint32_t sets, std::uint32_t ways)
        : sets_(sets),
          ways_(ways),
          line_(std::size_t{sets} * ways, kNoLine),
          lastUse_(line_.size(), 0),
          state_(line_.size()),
          clock_(sets, 0) {}

    struct State {
        std::uint8_t valid = 0;    ///< sectors present
        std::uint8_t dirty = 0;    ///< sectors newer than below; may be dirty without being valid (written in part)
        std::uint8_t pending = 0;  ///< sectors on their way
        std::uint8_t pad = 0;
        std::uint32_t owner = 0;  ///< who brought it in
    };

    static constexpr std::uint64_t kNoLine = ~std::uint64_t{0};
    static constexpr std::uint32_t kNoWay = ~std::uint32_t{0};

    std::uint32_t sets() const { return sets_; }
    std::uint32_t ways() const { return ways_; }

    /// Index of the line's way, or kNoWay.
    std::uint32_t find(std::uint32_t set, std::uint64_t line) const {
        const std::uint32_t base = set * ways_;
        for (std::uint32_t i = base; i < base + ways_; ++i)
            if (line_[i] == line) return i;
        return kNoWay;
    }

    /// The way to replace: an empty one, else the least recently used that waits for nothing; kNoWay if all wait.
    std::uint32_t victim(std::uint32_t set) const {
        const std::uint32_t base = set * ways_;
        std::uint32_t best = kNoWay;
        for (std::uint32_t i = base; i < base + ways_; ++i) {
            if (line_[i] == kNoLine) return i;
            if (state_[i].pending) continue;
            if (best == kNoWay || lastUse_[i] < lastUse_[best]) best = i;
        }
        return best;
    }

    /// Marks a use; `younger` makes it count as that many set accesses more recent.
    void touch(std::uint32_t set, std::uint32_t way, std::uint64_t younger = 0) {
        const std::uint64_t stamp = ++clock_[set] + younger;
        if (stamp > lastUse_[way]) lastUse_[way] = stamp;
    }

    void place(std::uint32_t way, std::uint64_t line, std::uint32_t owner) {
        line_[way] = line;
        lastUse_[way] = 0;
        state_[way] = {};
        state_[way].owner = owner;
    }
    void drop(std::uint32_t way) {
        line_[way] = kNoLine;
        state_[way] = {};
    }

    std::uint64_t line(std::uint32_t way) const { return line_[way]; }
    State& state(std::uint32_t way) { return state_[way]; }

    /// Forgets every clean line that waits for nothing.
    void invalidateClean() {
        for (std::uint32_t i = 0; i < line_.size(); ++i)
            if (line_[i] != kNoLine && !state_[i].dirty && !state_[i].pending) drop(i);
    }

  private:
    std::uint32_t sets_, ways_;
    std::vector<std::uint64_t> line_, lastUse_;
    std::vector<State> state_;
    std::vector<std::uint64_t> clock_;  ///< accesses per set
};

}  // namespace bulkhead::sim
