#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/mem/replacement/lru.h"

namespace bulkhead::sim {

/// Tags of a set-associative, sectored cache. Data live in the functional memory; this decides only what is present.
/// Ways are counted over all sets; those of a set lie side by side in each array.
class CacheTags {
  public:
    using Replacement = arch::DeviceProfile::Replacement;
    using State = LineState;

    CacheTags(std::uint32_t sets, std::uint32_t ways, Replacement replacement = Replacement::lru)
        : sets_(sets),
          ways_(ways),
          line_(std::size_t{sets} * ways, kNoLine),
          state_(line_.size()),
          replacement_(makeReplacementPolicy(replacement, sets, ways)),
          lru_(replacement == Replacement::lru ? static_cast<Lru*>(replacement_.get()) : nullptr) {}

    static constexpr std::uint64_t kNoLine = ~std::uint64_t{0};
    static constexpr std::uint32_t kNoWay = ReplacementPolicy::kNoWay;

    std::uint32_t sets() const { return sets_; }
    std::uint32_t ways() const { return ways_; }

    /// Index of the line's way, or kNoWay.
    std::uint32_t find(std::uint32_t set, std::uint64_t line) const {
        const std::uint32_t base = set * ways_;
        for (std::uint32_t i = base; i < base + ways_; ++i)
            if (line_[i] == line) return i;
        return kNoWay;
    }

    /// The way to replace: an empty one, else one that the policy chooses and that waits for nothing; kNoWay if all
    /// wait.
    std::uint32_t victim(std::uint32_t set) {
        if (retains_) [[unlikely]]
            return victimByRetention(set);
        const std::span<const State> lines(&state_[std::size_t{set} * ways_], ways_);
        if (lru_) return lru_->victim(set, lines);
        const std::uint32_t empty = find(set, kNoLine);
        return empty != kNoWay ? empty : replacement_->victim(set, lines);
    }

    /// A line that is there is used.
    void use(std::uint32_t set, std::uint32_t way) { lru_ ? lru_->use(set, way) : replacement_->use(set, way); }

    /// How a line that is there is to be kept. Of more persisting lines than a set may have, the one that the policy
    /// would replace first is kept like any other from then on.
    void retain(std::uint32_t set, std::uint32_t way, Retention retention, std::uint32_t persistingWays) {
        if (state_[way].retention == retention) return;
        retains_ = true;
        if (retention == Retention::persisting) {
            const auto first = state_.begin() + std::ptrdiff_t{set} * ways_;
            const auto persisting = std::count_if(first, first + ways_,
                                                  [](const State& s) { return s.retention == Retention::persisting; });
            if (persisting >= std::ptrdiff_t{persistingWays}) {
                const std::uint32_t oldest = oldestOf(set, Retention::persisting);
                if (oldest == kNoWay) return;
                state_[oldest].retention = Retention::normal;
            }
        }
        state_[way].retention = retention;
    }
    /// Persisting lines are kept like any other from now on.
    void resetPersisting() {
        for (State& s : state_)
            if (s.retention == Retention::persisting) s.retention = Retention::normal;
    }

    /// A line is brought in, which is its first use; `younger` makes it count as that many set accesses more recent.
    void place(std::uint32_t set, std::uint32_t way, std::uint64_t line, std::uint32_t owner,
               std::uint64_t younger = 0) {
        line_[way] = line;
        state_[way] = State{};
        state_[way].owner = owner;
        lru_ ? lru_->bring(set, way, younger) : replacement_->bring(set, way, younger);
    }
    void drop(std::uint32_t way) {
        line_[way] = kNoLine;
        state_[way] = State{};
        lru_ ? lru_->forget(way) : replacement_->forget(way);
    }

    std::uint64_t line(std::uint32_t way) const { return line_[way]; }
    State& state(std::uint32_t way) { return state_[way]; }
    const State& state(std::uint32_t way) const { return state_[way]; }

    std::uint32_t dirtyLines(std::uint32_t set) const {
        const auto first = state_.begin() + std::ptrdiff_t{set} * ways_;
        return static_cast<std::uint32_t>(std::count_if(first, first + ways_, [](const State& s) { return s.dirty; }));
    }
    /// Which dirty line of a set the policy would replace first; kNoWay if all wait for something.
    std::uint32_t oldestDirty(std::uint32_t set) {
        return oldestIf(set, [](const State& line) { return line.dirty != 0; });
    }

    /// Forgets every clean line that waits for nothing.
    void invalidateClean() {
        for (std::uint32_t i = 0; i < line_.size(); ++i)
            if (line_[i] != kNoLine && !state_[i].dirty && !state_[i].pending) drop(i);
    }

  private:
    /// Which of some lines of a set the policy would replace first; kNoWay if they all wait, or there are none.
    template <class Choice>
    std::uint32_t oldestIf(std::uint32_t set, Choice choice) {
        std::vector<State> lines(state_.begin() + std::ptrdiff_t{set} * ways_,
                                 state_.begin() + (std::ptrdiff_t{set} + 1) * ways_);
        for (State& line : lines)
            if (!choice(line)) line.pending = 1;
        return lru_ ? lru_->victim(set, lines) : replacement_->victim(set, lines);
    }
    std::uint32_t oldestOf(std::uint32_t set, Retention retention) {
        return oldestIf(set, [retention](const State& line) { return line.retention == retention; });
    }
    std::uint32_t victimByRetention(std::uint32_t set) {
        std::uint32_t way = find(set, kNoLine);
        for (const Retention retention : {Retention::streaming, Retention::normal, Retention::persisting})
            if (way == kNoWay) way = oldestOf(set, retention);
        return way;
    }

    std::uint32_t sets_, ways_;
    std::vector<std::uint64_t> line_;
    std::vector<State> state_;
    std::unique_ptr<ReplacementPolicy> replacement_;
    Lru* lru_;              ///< the same, where it is this one
    bool retains_ = false;  ///< some line is or was kept in another way than others
};

}  // namespace bulkhead::sim
