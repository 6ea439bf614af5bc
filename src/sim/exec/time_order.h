#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace bulkhead::sim {

/// Visits what several units have noted in a window, each in the order of its time: in the order of time, and within a
/// cycle in the order of units. A window is short, so that counting takes less than comparing. Entries have a `when`.
template <class Entry>
class TimeOrder {
  public:
    void add(std::size_t unit, std::span<const Entry> entries) {
        if (entries.empty()) return;
        first_ = lists_.empty() ? entries.front().when : std::min(first_, entries.front().when);
        last_ = lists_.empty() ? entries.back().when : std::max(last_, entries.back().when);
        lists_.push_back({unit, entries});
    }

    /// visit(unit, entry) for each of them, then forgets them.
    template <class Visit>
    void visit(Visit visit) {
        if (lists_.size() == 1) {
            for (const Entry& entry : lists_[0].entries) visit(lists_[0].unit, entry);
        } else if (!lists_.empty()) {
            for (const Place& place : sorted()) visit(place.unit, *place.entry);
        }
        lists_.clear();
    }

  private:
    struct List {
        std::size_t unit;
        std::span<const Entry> entries;
    };
    struct Place {
        std::size_t unit = 0;
        const Entry* entry = nullptr;
    };

    const std::vector<Place>& sorted() {
        next_.assign(last_ - first_ + 2, 0);
        for (const List& list : lists_)
            for (const Entry& entry : list.entries) ++next_[entry.when - first_ + 1];
        for (std::size_t cycle = 1; cycle < next_.size(); ++cycle) next_[cycle] += next_[cycle - 1];
        places_.resize(next_.back());
        for (const List& list : lists_)
            for (const Entry& entry : list.entries) places_[next_[entry.when - first_]++] = {list.unit, &entry};
        return places_;
    }

    Cycles first_ = 0, last_ = 0;
    std::vector<List> lists_;
    std::vector<std::uint32_t> next_;  ///< by cycle: where its next entry goes
    std::vector<Place> places_;
};

}  // namespace bulkhead::sim
