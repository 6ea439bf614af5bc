#include "sim/exec/cluster.h"

#include <bit>

#include "sim/exec/pending_effects.h"

namespace bulkhead::sim {

BlockPlace placeOf(std::uint64_t block, const Dim3& grid, const Dim3& cluster) {
    const std::uint64_t size = cluster.count();
    if (size == 1) return {blockIndex(block, grid), block, 0};
    const Dim3 clusters{grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z};
    const auto rank = static_cast<std::uint32_t>(block % size);
    const Dim3 at = blockIndex(block / size, clusters), within = blockIndex(rank, cluster);
    return {
        {at.x * cluster.x + within.x, at.y * cluster.y + within.y, at.z * cluster.z + within.z}, block / size, rank};
}

Cluster::Cluster(const LaunchContext& launch)
    : blocks_(launch.cluster.count()), left_(static_cast<std::uint32_t>(launch.cluster.count())) {
    const std::uint64_t threads = launch.block.count();
    for (OfBlock& block : blocks_) {
        block.shared.resize(std::size_t{launch.code->sharedBytes} + launch.dynamicShared);
        block.warps.resize((threads + kLanes - 1) / kLanes);
        for (OfWarp& warp : block.warps) warp.live = kAllLanes;
        if (threads % kLanes) block.warps.back().live = (LaneMask{1} << threads % kLanes) - 1;
    }
    live_ = threads * blocks_.size();
}

bool Cluster::wanted(const LaunchContext& launch) {
    return launch.cluster.count() > 1 || launch.program->hasClusterBarriers;
}

bool Cluster::end(std::uint32_t rank) {
    blocks_[rank].ended = true;
    return --left_ == 0;
}

bool Cluster::arrive(std::uint32_t rank, std::uint32_t warp, LaneMask lanes, Cycles when) {
    OfWarp& w = blocks_[rank].warps[warp];
    arrived_ += static_cast<unsigned>(std::popcount(lanes & ~w.arrived));
    w.arrived |= lanes;
    return complete(when);
}

bool Cluster::exit(std::uint32_t rank, std::uint32_t warp, LaneMask lanes, Cycles when) {
    OfWarp& w = blocks_[rank].warps[warp];
    live_ -= static_cast<unsigned>(std::popcount(lanes & w.live));
    arrived_ -= static_cast<unsigned>(std::popcount(lanes & w.arrived));
    w.live &= ~lanes;
    w.arrived &= ~lanes;
    return complete(when);
}

bool Cluster::complete(Cycles when) {
    if (arrived_ == 0 || arrived_ < live_) return false;
    arrived_ = 0;
    for (OfBlock& block : blocks_)
        for (OfWarp& warp : block.warps) warp.arrived = 0;
    parity_ = !parity_;
    completedAt_ = when;
    return true;
}

namespace {

/// Threads that arrive at the barrier or exit, until that shows.
struct ThreadsMove {
    Cluster* cluster;
    std::uint32_t rank, warp;
    LaneMask lanes;
    bool exits;
    Cycles when;

    static bool run(void* what) {
        const auto& move = *static_cast<const ThreadsMove*>(what);
        return move.exits ? move.cluster->exit(move.rank, move.warp, move.lanes, move.when)
                          : move.cluster->arrive(move.rank, move.warp, move.lanes, move.when);
    }
};

}  // namespace

void Warp::tellCluster(LaneMask lanes, bool exits) {
    ThreadsMove move{block_->cluster, block_->rank, index_, lanes, exits, *block_->now};
    if (effects().showAtOnce())
        ThreadsMove::run(&move);
    else
        effects().defer<ThreadsMove>(ThreadsMove::run) = move;
}

bool Warp::clusterPassed(LaneMask lanes) const {
    return ((block_->cluster->parity() ? clusterParity_ : ~clusterParity_) & lanes) == 0;
}

Step Warp::clusterArrive(LaneMask mask) {
    clusterWaiting_ = 0;
    if (mask) {
        clusterParity_ = block_->cluster->parity() ? clusterParity_ | mask : clusterParity_ & ~mask;
        tellCluster(mask, false);
    }
    advance();
    return {StepKind::barrierPass, static_cast<std::uint8_t>(std::popcount(mask))};
}

/// Lanes that have parted from others of their warp let those go on first.
Step Warp::clusterWait(const Instr& i, LaneMask mask) {
    const auto lanes = static_cast<std::uint8_t>(std::popcount(mask));
    clusterWaiting_ = 0;
    const auto isOwn = [&](const EarlyLanes& e) { return e.at == &i && e.lanes == mask; };
    if (!mask || clusterPassed(mask)) {
        std::erase_if(early_, isOwn);
        advance();
        return {StepKind::barrierPass, lanes};
    }
    if (mask != live_) {
        if (std::none_of(early_.begin(), early_.end(), isOwn)) early_.push_back({&i, nullptr, mask});
        if (giveTurn()) return {StepKind::control, lanes};
        std::erase_if(early_, isOwn);
    }
    clusterWaiting_ = mask;
    advance();
    return {StepKind::clusterWait, lanes};
}

namespace {

template <class Address>
void mapAddress(const Instr& i, Warp& w, LaneMask mask, std::uint64_t window) {
    const Address* const address = w.lanes<Address>(i.src[0]);
    const std::uint32_t* const rank = w.lanes<std::uint32_t>(i.src[1]);
    Address* const to = w.lanes<Address>(i.dst[0]);
    const std::uint64_t size = w.launch().cluster.count();
    for (LaneMask m = mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        if (rank[lane] >= size)
            w.fail(LaunchError::Cause::illegalInstruction, i, lane,
                   fmt::format("there is no block {} in a cluster of {}", rank[lane], size));
        to[lane] =
            static_cast<Address>(window + ClusterAddress::of(ClusterAddress::offsetIn(address[lane]), rank[lane]));
    }
}

template <class Address>
void rankOfAddress(const Instr& i, Warp& w, LaneMask mask) {
    const Address* const address = w.lanes<Address>(i.src[0]);
    std::uint32_t* const to = w.lanes<std::uint32_t>(i.dst[0]);
    for (LaneMask m = mask; m; m &= m - 1) {
        const int lane = std::countr_zero(m);
        to[lane] = ClusterAddress::rankIn(address[lane], w.block().rank);
    }
}

}  // namespace

void runMapAddress(const Instr& i, Warp& w, LaneMask mask) {
    i.elementBytes == 4 ? mapAddress<std::uint32_t>(i, w, mask, 0) : mapAddress<std::uint64_t>(i, w, mask, 0);
}
void runMapGenericAddress(const Instr& i, Warp& w, LaneMask mask) {
    mapAddress<std::uint64_t>(i, w, mask, kSharedWindow);
}
void runRankOfAddress(const Instr& i, Warp& w, LaneMask mask) {
    i.elementBytes == 4 ? rankOfAddress<std::uint32_t>(i, w, mask) : rankOfAddress<std::uint64_t>(i, w, mask);
}

}  // namespace bulkhead::sim
