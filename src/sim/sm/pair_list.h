#pragma once

#include <cstdint>
#include <vector>

namespace bulkhead::sim {

/// For each warp, which interfered warp had it isolated (the first field) and which had it stalled (the second): the
/// pair list of CIAO IV-A and Figure 6.
class PairList {
  public:
    static constexpr std::uint8_t kNobody = 0xff;
    /// In place of a warp that has ended since: nothing holds the other back any more.
    static constexpr std::uint8_t kEnded = 0xfe;
    struct Entry {
        std::uint8_t isolatedFor = kNobody, stalledFor = kNobody;
    };

    explicit PairList(std::uint32_t warps) : entries_(warps) {}

    Entry& operator[](std::uint32_t warp) { return entries_[warp]; }
    const Entry& operator[](std::uint32_t warp) const { return entries_[warp]; }

    /// The slot's next warp is another.
    void ended(std::uint32_t warp) {
        entries_[warp] = {};
        for (Entry& entry : entries_) {
            if (entry.isolatedFor == warp) entry.isolatedFor = kEnded;
            if (entry.stalledFor == warp) entry.stalledFor = kEnded;
        }
    }

  private:
    std::vector<Entry> entries_;
};

}  // namespace bulkhead::sim
