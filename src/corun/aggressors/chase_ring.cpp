#include "base/random.h"
#include "corun/aggressors/patterns.h"

namespace bulkhead::corun {
namespace {

/// A few lanes of each warp follow pointers, one line after the other (4.2.1). Rings are long: chains begin at equal
/// distances.
class ChaseRing final : public AccessPattern {
  public:
    ChaseRing(const PatternSite& site, bool shuffle)
        : memory_(plainMemory(site)),
          lanes_(site.spec.lanes),
          sectorBytes_(site.shape.sectorBytes),
          chains_(site.spec.layout.blocks * site.spec.layout.warps * site.spec.lanes) {
        ring_ = sequentialRing(memory_.address(), memory_.bytes(), site.shape.lineBytes * site.spec.strideLines);
        if (shuffle) ring_ = shuffled(std::move(ring_), site.spec.seed);
        link(site);
        const std::size_t first = Random(site.spec.seed).below(ring_.size());
        std::vector<std::uint64_t> starts;
        for (std::size_t i = 0; i < chains_; ++i)
            starts.push_back(ring_[(first + i * ring_.size() / chains_) % ring_.size()]);
        starts_ = site.context.array(starts);
    }

    void launch(PlacedKernel& kernel, const gpu::Stream& stream, std::uint64_t stop, std::uint64_t ranks,
                const Dials& dials) override {
        kernel.launch(stream, std::tuple(starts_, chains_, lanes_, static_cast<unsigned>(sectorBytes_), stop, dials),
                      ranks);
    }
    Bytes bytesEach() const override { return sectorBytes_; }
    unsigned lanes() const override { return lanes_; }
    const Ring& ring() const override { return ring_; }

  private:
    void link(const PatternSite& site) const {
        constexpr unsigned kThreads = 256;
        gpu::Array<std::uint64_t> order = site.context.array(ring_);
        const auto count = static_cast<unsigned>(ring_.size());
        site.module.kernel("linkRing")
            .launch(site.stream, {(count + kThreads - 1) / kThreads}, {kThreads}, 0, order, count);
        site.stream.synchronize();
    }

    gpu::Buffer memory_;
    unsigned lanes_;
    Bytes sectorBytes_;
    unsigned chains_;
    Ring ring_;
    gpu::Array<std::uint64_t> starts_;
};

}  // namespace

Pattern chasingInOrder(const PatternSite& site) {
    return std::make_unique<ChaseRing>(site, false);
}

Pattern chasingAtRandom(const PatternSite& site) {
    return std::make_unique<ChaseRing>(site, true);
}

}  // namespace bulkhead::corun
