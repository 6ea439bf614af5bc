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
      interval_(sim.config.launch.blockInterval),
      gpcOf_(sim.config.sm.count) {
    const auto& gpcs = sim.config.cluster.neighbours;
    for (std::uint32_t gpc = 0; gpc < gpcs.size(); ++gpc)
        for (const std::uint32_t sm : gpcs[gpc]) gpcOf_[sm] = gpc;
}

void BlockDispatcher::dispatch(Cycles end) {
    SmGroup* group = slicer_.issuing();
    while (next_ < end) {
        if (!group || !placeNext(*group)) {
            next_ = kNever;
            owed_ = 0;
            return;
        }
        owed_ += interval_ * placed_;
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
        placed_ = launch.spec.cluster.count();
        if (placed_ == 1 ? placeBlock(group, launch, claimed) : placeCluster(group, launch, claimed)) return true;
        if (launch.spec.sms.empty()) return false;
        if (claimed.empty()) claimed.assign(group.count(), false);
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
    const std::uint64_t more = launch.spec.block.count() * launch.spec.cluster.count();
    return resident == 0 || resident + more <= threadLimits_.at(launch.owner);
}

bool BlockDispatcher::placeBlock(SmGroup& group, Launch& launch, const std::vector<bool>& claimed) {
    const std::uint32_t count = group.count();
    const Occupancy& occupancy = launch.record.occupancy;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t sm = (group.nextSm + i) % count;
        if (!launch.mayUse(sm) || (!claimed.empty() && claimed[sm]) ||
            !group.fits(sm, occupancy.needs, occupancy.onChip))
            continue;
        if (launch.nextBlock == launch.stopAt && !passStop_(launch)) return false;
        group.nextSm = (sm + 1) % count;
        put(group, launch, sm);
        return true;
    }
    return false;
}

/// The launch's next block goes to that SM.
void BlockDispatcher::put(SmGroup& group, Launch& launch, std::uint32_t sm) {
    const BlockPlace at = placeOf(launch.nextBlock++, launch.spec.grid, launch.spec.cluster);
    Cluster* cluster = nullptr;
    if (Cluster::wanted(launch.context)) {
        if (at.rank == 0) launch.clusters.push_back(std::make_unique<Cluster>(launch.context));
        cluster = launch.clusters.back().get();
    }
    const Dim3& grid = launch.spec.grid;
    const std::uint64_t number = at.index.x + std::uint64_t{grid.x} * (at.index.y + std::uint64_t{grid.y} * at.index.z);
    const Occupancy& occupancy = launch.record.occupancy;
    group.sm(sm, launch.record.id)
        .placeBlock(next_, launch.context, launch.record.id, occupancy.needs, occupancy.onChip, at.index, number,
                    nameOf(sm, launch.spec), cluster, at.rank);
}

/// All blocks of a cluster start in the same cycle, on SMs that are neighbours.
bool BlockDispatcher::placeCluster(SmGroup& group, Launch& launch, const std::vector<bool>& claimed) {
    const auto& gpcs = sim_.config.cluster.neighbours;
    for (std::size_t i = 0; i < gpcs.size(); ++i) {
        const std::size_t gpc = (gpcOf_[group.nextSm] + i) % gpcs.size();
        if (!findCluster(group, launch, claimed, gpcs[gpc])) continue;
        if (launch.nextBlock == launch.stopAt && !passStop_(launch)) return false;
        for (const std::uint32_t sm : clusterSms_) put(group, launch, sm);
        // On hardware, work is spread over GPCs first.
        group.nextSm = gpcs[(gpc + 1) % gpcs.size()].front();
        return true;
    }
    return false;
}

/// Fills clusterSms_: as many SMs of the GPC as there are blocks, each once before one is taken again.
bool BlockDispatcher::findCluster(const SmGroup& group, const Launch& launch, const std::vector<bool>& claimed,
                                  const std::vector<std::uint32_t>& gpc) {
    const std::uint64_t wanted = launch.spec.cluster.count();
    const Occupancy& occupancy = launch.record.occupancy;
    clusterSms_.clear();
    for (std::uint32_t each = 1; clusterSms_.size() < wanted; ++each) {
        const std::size_t before = clusterSms_.size();
        for (const std::uint32_t sm : gpc)
            if (clusterSms_.size() < wanted && launch.mayUse(sm) && (claimed.empty() || !claimed[sm]) &&
                group.fits(sm, occupancy.needs, occupancy.onChip, each))
                clusterSms_.push_back(sm);
        if (clusterSms_.size() == before) return false;
    }
    return true;
}

}  // namespace bulkhead::sim
