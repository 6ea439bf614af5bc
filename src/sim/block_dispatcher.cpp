#include "sim/block_dispatcher.h"

#include <algorithm>

namespace bulkhead::sim {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

/// What %smid says on an SM.
std::uint32_t nameOf(std::uint32_t sm, const LaunchSpec& spec) {
    if (!spec.numberedAnew || spec.sms.empty()) return sm;
    return static_cast<std::uint32_t>(std::count(spec.sms.begin(), spec.sms.begin() + sm, true));
}

}  // namespace

BlockDispatcher::BlockDispatcher(const SimContext& sim, const TimeSlicer& slicer, std::deque<Launch>& launches,
                                 std::function<bool(Launch&)> passStop)
    : sim_(sim),
      slicer_(slicer),
      launches_(launches),
      passStop_(std::move(passStop)),
      interval_(sim.config.launch.blockInterval) {}

void BlockDispatcher::dispatch(Cycles end) {
    SmGroup* group = slicer_.issuing();
    while (next_ < end) {
        if (!group || !placeNext(*group)) {
            next_ = kNever;
            owed_ = 0;
            return;
        }
        owed_ += interval_;
        next_ += owed_ / kMillion;
        owed_ %= kMillion;
    }
}

/// False if none fits.
bool BlockDispatcher::placeNext(SmGroup& group) {
    std::vector<bool> claimed;
    for (LaunchId id : group.running) {
        Launch& launch = launches_[id];
        if (launch.placed() && launch.holdsGpu) return false;
        if (launch.placed() || !withinThreadLimit(group, launch)) continue;
        if (placeBlock(group, launch, claimed)) return true;
        if (launch.spec.sms.empty()) return false;
        if (claimed.empty()) claimed.assign(group.sms().size(), false);
        for (std::size_t i = 0; i < claimed.size(); ++i) claimed[i] = claimed[i] || launch.spec.sms[i];
    }
    return false;
}

bool BlockDispatcher::withinThreadLimit(const SmGroup& group, const Launch& launch) const {
    if (!limitsThreads(launch.owner)) return true;
    std::uint64_t resident = 0;
    for (LaunchId id : group.running) {
        const Launch& other = launches_[id];
        if (other.owner != launch.owner) continue;
        const std::uint64_t ended = other.spec.grid.count() - other.blocksLeft;
        resident += (other.nextBlock - ended) * other.spec.block.count();
    }
    return resident == 0 || resident + launch.spec.block.count() <= threadLimits_.at(launch.owner);
}

bool BlockDispatcher::placeBlock(SmGroup& group, Launch& launch, const std::vector<bool>& claimed) {
    const auto count = static_cast<std::uint32_t>(group.sms().size());
    const BlockNeeds& needs = launch.record.occupancy.needs;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t sm = (group.nextSm + i) % count;
        if (!launch.mayUse(sm) || (!claimed.empty() && claimed[sm]) || !group.sms()[sm]->fits(needs)) continue;
        if (launch.nextBlock == launch.stopAt && !passStop_(launch)) return false;
        const std::uint64_t block = launch.nextBlock++;
        group.nextSm = (sm + 1) % count;
        group.sms()[sm]->placeBlock(next_, launch.context, launch.record.id, needs, blockIndex(block, launch.spec.grid),
                                    block, nameOf(sm, launch.spec));
        return true;
    }
    return false;
}

}  // namespace bulkhead::sim
