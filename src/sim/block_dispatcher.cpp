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

BlockDispatcher::BlockDispatcher(const SimContext& sim, const TimeSlicer& slicer, Numbered<Launch>& launches,
                                 std::function<bool(Launch&)> passStop)
    : sim_(sim),
      slicer_(slicer),
      launches_(launches),
      passStop_(std::move(passStop)),
      order_(sim.config),
      interval_(sim.config.launch.blockInterval) {}

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
        orderSms(group, launch);
        placed_ = launch.spec.cluster.count();
        if (placed_ == 1 ? placeBlock(group, launch, claimed) : placeCluster(group, launch, claimed)) return true;
        if (launch.spec.sms.empty()) return false;
        if (claimed.empty()) claimed.assign(group.count(), false);
        for (std::size_t i = 0; i < claimed.size(); ++i) claimed[i] = claimed[i] || launch.spec.sms[i];
    }
    return false;
}

/// A launch on an idle GPU begins anew, and so does one round after another of a block on each SM.
void BlockDispatcher::orderSms(SmGroup& group, const Launch& launch) const {
    if (group.order.empty()) group.order = order_.byNumber();
    if (!order_.byGpcs()) return;
    if (launch.nextBlock == 0 && group.running.size() == 1) {
        group.nextPlace = 0;
        group.nextOfGpc.clear();
    }
    if (group.nextPlace != 0) return;
    const std::uint64_t left = launch.spec.grid.count() - launch.nextBlock;
    if (left >= group.count() && group.orderIsWhole) return;
    group.orderIsWhole = left >= group.count() && launch.spec.sms.empty();
    group.order = order_.of(left, [&](std::uint32_t sm) { return launch.mayUse(sm); });
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
        const std::uint32_t place = (group.nextPlace + i) % count, sm = group.order[place];
        if (!launch.mayUse(sm) || (!claimed.empty() && claimed[sm]) ||
            !group.fits(sm, occupancy.needs, occupancy.onChip))
            continue;
        if (launch.nextBlock == launch.stopAt && !passStop_(launch)) return false;
        group.nextPlace = (place + 1) % count;
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
        const std::size_t gpc = (sim_.config.cluster.gpcs[group.order[group.nextPlace]] + i) % gpcs.size();
        if (!findCluster(group, launch, claimed, gpc)) continue;
        if (launch.nextBlock == launch.stopAt && !passStop_(launch)) return false;
        for (const std::uint32_t sm : clusterSms_) put(group, launch, sm);
        // On hardware, work is spread over GPCs first.
        const std::uint32_t next = gpcs[(gpc + 1) % gpcs.size()].front();
        group.nextPlace = static_cast<std::uint32_t>(std::ranges::find(group.order, next) - group.order.begin());
        return true;
    }
    return false;
}

/// Fills clusterSms_: as many SMs of the GPC as there are blocks, beginning behind those of the cluster before.
bool BlockDispatcher::findCluster(SmGroup& group, const Launch& launch, const std::vector<bool>& claimed,
                                  std::size_t gpc) {
    const std::vector<std::uint32_t>& sms = sim_.config.cluster.neighbours[gpc];
    const std::uint64_t wanted = launch.spec.cluster.count();
    const Occupancy& occupancy = launch.record.occupancy;
    group.nextOfGpc.resize(sim_.config.cluster.neighbours.size());
    const std::size_t first = group.nextOfGpc[gpc];
    clusterSms_.clear();
    for (std::size_t i = 0; i < sms.size() && clusterSms_.size() < wanted; ++i) {
        const std::size_t at = (first + i) % sms.size();
        if (!launch.mayUse(sms[at]) || (!claimed.empty() && claimed[sms[at]]) ||
            !group.fits(sms[at], occupancy.needs, occupancy.onChip))
            continue;
        clusterSms_.push_back(sms[at]);
        if (clusterSms_.size() == wanted) group.nextOfGpc[gpc] = (at + 1) % sms.size();
    }
    return clusterSms_.size() == wanted;
}

}  // namespace bulkhead::sim
