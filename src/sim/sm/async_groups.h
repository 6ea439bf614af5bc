#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bulkhead::sim {

/// A warp's asynchronous copies in groups that threads commit and wait for. Groups are over in the order in which they
/// were committed.
class AsyncGroups {
  public:
    void clear() { *this = {}; }
    /// A copy that belongs to the next group to be committed: its number.
    std::uint64_t add() {
        ++open_;
        return first_ + groups_.size();
    }
    void commit() {
        groups_.push_back(open_);
        open_ = 0;
    }
    /// A copy of that group is done.
    void done(std::uint64_t group) {
        if (group - first_ >= groups_.size())
            --open_;
        else
            --groups_[group - first_];
        while (!groups_.empty() && groups_.front() == 0) {
            groups_.erase(groups_.begin());
            ++first_;
        }
    }
    bool atMost(std::uint32_t groups) const {
        const std::size_t over = groups_.size() > groups ? groups_.size() - groups : 0;
        return std::all_of(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(over),
                           [](std::uint32_t copies) { return copies == 0; });
    }

  private:
    std::uint32_t open_ = 0;  ///< copies that have not been committed
    std::uint64_t first_ = 0;
    std::vector<std::uint32_t> groups_;  ///< copies under way of each, oldest first
};

}  // namespace bulkhead::sim
