#include <map>

#include "corun/sharing.h"
#include "isolate/tenancy.h"

namespace bulkhead::corun {
namespace {

class Walls final : public Sharing {
  public:
    Walls(const SharingSite& site, bool memory)
        : site_(isolate::makeSite(
              site.gpu, memory ? isolate::coloringFor(site.gpu, site.spec.partitions, site.map) : walls::Coloring::none,
              site.map, placementOf(site))) {
        if (site.only) isolate::expectColorsNamed(site_);
        const isolate::Plan plan =
            isolate::makePlan(isolate::topologyOf(site.gpu, site_), isolate::equalPartitions(site.spec.partitions));
        for (unsigned i = 0; i < plan.shares.size(); ++i)
            if (!site.only || *site.only == i)
                enclosures_.emplace(i, site_.enclose(isolate::wallsOf(plan.shares[i], site_)));
        multiprocessors_ = static_cast<unsigned>(plan.shares.front().multiprocessors.size());
        if (memory) colors_ = static_cast<unsigned>(plan.shares.front().colors.size());
    }

    gpu::Context contextOf(unsigned partition) override { return enclosures_.at(partition).context(); }
    Place placeOf(unsigned partition) const override {
        const walls::Enclosure& enclosure = enclosures_.at(partition);
        return {multiprocessors_, colors_, enclosure.placement() == walls::Placement::driver ? "driver" : "blocks",
                enclosure.strayBlocks()};
    }

  private:
    static walls::Placement placementOf(const SharingSite& site) {
        if (site.spec.blockPlacement == "blocks") return walls::Placement::blocks;
        if (site.spec.blockPlacement == "driver") return walls::Placement::driver;
        return isolate::usualPlacement(site.gpu);
    }

    walls::Site site_;
    std::map<unsigned, walls::Enclosure> enclosures_;
    unsigned multiprocessors_ = 0, colors_ = 0;
};

}  // namespace

std::unique_ptr<Sharing> shareByComputeWalls(const SharingSite& site) {
    return std::make_unique<Walls>(site, false);
}

std::unique_ptr<Sharing> shareByWalls(const SharingSite& site) {
    return std::make_unique<Walls>(site, true);
}

}  // namespace bulkhead::corun
