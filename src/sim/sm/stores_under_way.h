#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace bulkhead::sim {

/// Stores of an SM that have not been acknowledged, by launch.
class StoresUnderWay {
  public:
    void sent(std::uint32_t launch, std::uint64_t count) {
        if (count) of(launch).count += count;
    }
    void done(std::uint32_t launch, Cycles when) {
        Entry& entry = of(launch);
        --entry.count;
        entry.lastDone = when;
    }

    std::uint64_t count(std::uint32_t launch) const {
        const auto at = std::ranges::find(entries_, launch, &Entry::launch);
        return at == entries_.end() ? 0 : at->count;
    }
    /// When the last one of a launch was acknowledged; 0 if there was none.
    Cycles lastDone(std::uint32_t launch) const {
        const auto at = std::ranges::find(entries_, launch, &Entry::launch);
        return at == entries_.end() ? 0 : at->lastDone;
    }
    /// The launch is over.
    void forget(std::uint32_t launch) {
        std::erase_if(entries_, [&](const Entry& e) { return e.launch == launch && e.count == 0; });
    }

  private:
    struct Entry {
        std::uint32_t launch;
        std::uint64_t count;
        Cycles lastDone;
    };
    Entry& of(std::uint32_t launch) {
        for (Entry& entry : entries_)
            if (entry.launch == launch) return entry;
        return entries_.emplace_back(Entry{launch, 0, 0});
    }

    std::vector<Entry> entries_;  ///< few: of launches that run
};

}  // namespace bulkhead::sim
