#include <map>

#include "corun/sharing.h"
#include "isolate/divided_gpu.h"

namespace bulkhead::corun {
namespace {

class Walls final : public Sharing {
  public:
    Walls(const SharingSite& site, bool memory)
        : walled_(isolate::makeWalledGpu(
              site.gpu, memory ? isolate::coloringFor(site.gpu, site.spec.partitions, site.map) : walls::Coloring::none,
              site.map, isolate::parsePlacement(site.spec.blockPlacement))) {
        if (site.only) isolate::expectColorsNamed(walled_);
        const isolate::Plan plan = isolate::makePlan(isolate::divisibleGpuOf(site.gpu, walled_),
                                                     isolate::equalPartitions(site.spec.partitions));
        for (unsigned i = 0; i < plan.shares.size(); ++i)
            if (!site.only || *site.only == i)
                tenants_.emplace(i, walled_.enclose(isolate::wallsOf(plan.shares[i], walled_)));
        sms_ = static_cast<unsigned>(plan.shares.front().sms.size());
        if (memory) colors_ = static_cast<unsigned>(plan.shares.front().colors.size());
    }

    gpu::Context contextOf(unsigned partition) override { return tenants_.at(partition).context(); }
    Place placeOf(unsigned partition) const override {
        const walls::PartitionContext& tenant = tenants_.at(partition);
        return {sms_, colors_, tenant.placement() == walls::BlockPlacement::driver ? "driver" : "blocks",
                tenant.strayBlocks()};
    }

  private:
    walls::WalledGpu walled_;
    std::map<unsigned, walls::PartitionContext> tenants_;
    unsigned sms_ = 0, colors_ = 0;
};

}  // namespace

// Who was started inside walls sees nothing but them.

std::unique_ptr<Sharing> shareByComputeWalls(const SharingSite& site) {
    if (site.only && site.spec.leased) return shareByStreams(site);
    return std::make_unique<Walls>(site, false);
}

std::unique_ptr<Sharing> shareByWalls(const SharingSite& site) {
    if (site.only && site.spec.leased) return shareByStreams(site);
    return std::make_unique<Walls>(site, true);
}

}  // namespace bulkhead::corun
