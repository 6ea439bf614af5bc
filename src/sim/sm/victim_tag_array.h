#pragma once

#include <cstdint>
#include <vector>

namespace bulkhead::sim {

/// Victim tag array (CIAO II-C, after CCWS): a set for each warp, with the tags of lines that it had brought in and
/// lost, and who pushed each of them out. First in, first out.
class VictimTagArray {
  public:
    static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

    VictimTagArray(std::uint32_t warps, std::uint32_t tags)
        : tags_(tags), lines_(std::size_t{warps} * tags, kNoLine), evictors_(lines_.size(), 0), next_(warps, 0) {}

    /// `evictor` pushes out a line that `owner` had brought in.
    void insert(std::uint32_t owner, std::uint64_t line, std::uint32_t evictor) {
        std::uint32_t& next = next_[owner];
        const std::size_t at = std::size_t{owner} * tags_ + next;
        lines_[at] = line;
        evictors_[at] = static_cast<std::uint8_t>(evictor);
        next = next + 1 == tags_ ? 0 : next + 1;
    }

    /// A warp misses a line. If it had it and lost it, a VTA hit: returns who pushed it out. The tag goes, since the
    /// line comes back.
    std::uint32_t probe(std::uint32_t warp, std::uint64_t line) {
        const std::size_t first = std::size_t{warp} * tags_;
        for (std::size_t at = first; at < first + tags_; ++at) {
            if (lines_[at] != line) continue;
            lines_[at] = kNoLine;
            return evictors_[at];
        }
        return kNobody;
    }

    void clear() {
        lines_.assign(lines_.size(), kNoLine);
        next_.assign(next_.size(), 0);
    }

  private:
    static constexpr std::uint64_t kNoLine = ~std::uint64_t{0};

    std::uint32_t tags_;
    std::vector<std::uint64_t> lines_;  ///< by warp, then by place
    std::vector<std::uint8_t> evictors_;
    std::vector<std::uint32_t> next_;  ///< by warp: the place to use next
};

}  // namespace bulkhead::sim
