#pragma once

#include <cstdint>
#include <vector>

namespace bulkhead::sim {

/// For each warp, the one that most recently and frequently interfered with it (CIAO III-A and Figure 4c): its id and a
/// saturating counter.
class InterferenceList {
  public:
    static constexpr std::uint8_t kNobody = 0xff;
    struct Entry {
        std::uint8_t warp = kNobody, counter = 0;
    };

    InterferenceList(std::uint32_t warps, std::uint32_t counterBits)
        : most_(static_cast<std::uint8_t>((1u << counterBits) - 1)), entries_(warps) {}

    const Entry& operator[](std::uint32_t warp) const { return entries_[warp]; }

    /// The one that is listed gains; anyone else takes from it, and takes its place once nothing is left.
    void record(std::uint32_t interfered, std::uint32_t interfering) {
        Entry& entry = entries_[interfered];
        const auto by = static_cast<std::uint8_t>(interfering);
        if (entry.warp == by) {
            if (entry.counter < most_) ++entry.counter;
            return;
        }
        if (entry.counter) --entry.counter;
        if (!entry.counter) entry.warp = by;
    }

    void clear() { entries_.assign(entries_.size(), {}); }

  private:
    std::uint8_t most_;
    std::vector<Entry> entries_;
};

}  // namespace bulkhead::sim
