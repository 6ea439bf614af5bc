#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "corun/aggressors/patterns.h"

namespace bulkhead::corun {
namespace {

constexpr unsigned kPartLines = 128;  // of a list, that a warp takes at once
constexpr double kHotShare = 0.5;
constexpr unsigned kFills = 2;  // of every way: a round of fewer lines would find its own in the cache, and evict none

/// Lines that were chosen with a map. Their order matters: all warps visit one list together.
class VisitLines final : public AccessPattern {
  public:
    VisitLines(const PatternSite& site, ChooseLines choose, bool farOnly)
        : blocks_(site.spec.layout.blocks), lineBytes_(site.shape.lineBytes), sectorBytes_(site.shape.sectorBytes) {
        if (!site.mapMemory)
            throw Error(
                "aggressor {} needs the GPU's address map: write one with bulkhead dissect --out FILE and give it by "
                "--map FILE",
                site.spec.kind);
        memory_ = site.mapMemory(site.context, site.spec.bytes);
        ring_ = choose(*memory_, site);
        if (ring_.empty())
            throw Error("aggressor {}: no line of its memory is on target {}", site.spec.kind, site.spec.target);
        if (farOnly) chooseSide(site);
        list(site);
    }

    void launch(PlacedKernel& kernel, const gpu::Stream& stream, std::uint64_t stop, std::uint64_t ranks,
                const Dials& dials) override {
        kernel.launch(
            stream,
            std::tuple(memory_->base(), static_cast<unsigned>(lineBytes_), list_, parts_, workers_,
                       workingBlocks(blocks_, workingShare_), ticket_, static_cast<unsigned>(bytesEach()), stop, dials),
            ranks);
    }
    /// A sector, and its entry of the list.
    Bytes bytesEach() const override { return sectorBytes_ + sizeof(std::uint32_t); }
    double workingShare() const override { return workingShare_; }
    const Ring& ring() const override { return ring_; }

  private:
    void list(const PatternSite& site) {
        parts_ = static_cast<std::uint32_t>((ring_.size() + kPartLines - 1) / kPartLines);
        std::vector<std::uint32_t> lines;
        const std::size_t first = Random(site.spec.seed).below(ring_.size());
        for (std::size_t i = 0; i < std::size_t{parts_} * kPartLines; ++i)
            lines.push_back(
                static_cast<std::uint32_t>((ring_[(first + i) % ring_.size()] - memory_->base()) / lineBytes_));
        list_ = site.context.array(lines);
        ticket_ = site.context.array(std::vector<std::uint32_t>(1, 0));
    }

    /// A line that is read from the other side fills a way on both, at home and as a copy near the reader. So
    /// SMs of one side, with lines at home on the other, evict both.
    void chooseSide(const PatternSite& site) {
        const std::vector<std::uint8_t> sides = memory_->sidesOfSms();
        if (sides.empty()) return;
        std::vector<unsigned> used = site.spec.layout.sms;
        if (used.empty()) {
            used.resize(sides.size());
            std::iota(used.begin(), used.end(), 0u);
        }
        const auto onFirst = static_cast<std::size_t>(
            std::count_if(used.begin(), used.end(), [&](unsigned sm) { return sides[sm] == 0; }));
        const unsigned side = 2 * onFirst >= used.size() ? 0 : 1;
        const std::size_t working = side == 0 ? onFirst : used.size() - onFirst;
        Ring far = ring_;
        std::erase_if(far, [&](std::uint64_t address) { return memory_->side(address) == side; });
        if (far.empty()) return;
        ring_ = std::move(far);
        workingShare_ = static_cast<double>(working) / static_cast<double>(used.size());
        std::vector<std::uint32_t> workers(sides.size());
        std::transform(sides.begin(), sides.end(), workers.begin(),
                       [&](std::uint8_t s) { return s == side ? 1u : 0u; });
        workers_ = site.context.array(workers);
    }

    unsigned blocks_;
    Bytes lineBytes_, sectorBytes_;
    std::unique_ptr<MappedMemory> memory_;
    Ring ring_;
    /// Lines to visit, which SMs do so (none: all), and how far they have got.
    gpu::Array<std::uint32_t> list_, workers_, ticket_;
    std::uint32_t parts_ = 0;
    double workingShare_ = 1;
};

/// Where a map knows slices only, a slice counts as one set.
unsigned waysOf(const MappedMemory& memory, const PatternSite& site) {
    const arch::AddressMap& map = memory.map();
    return static_cast<unsigned>(site.shape.bytes / site.shape.lineBytes / map.slices() / map.setsPerSlice());
}

Ring everySet(const MappedMemory& memory, const PatternSite& site, Order order) {
    return coverCache(memory, site.shape.lineBytes, kFills * waysOf(memory, site), order).ring;
}

Ring onTarget(const MappedMemory& memory, const PatternSite& site, Target target) {
    return shuffled(targetRing(memory, site.shape.lineBytes, target, site.spec.target), site.spec.seed);
}

}  // namespace

Pattern visiting(const PatternSite& site, ChooseLines choose, bool farOnly) {
    return std::make_unique<VisitLines>(site, choose, farOnly);
}

Pattern visitingSetBySet(const PatternSite& site) {
    return visiting(site, [](const MappedMemory& m, const PatternSite& s) { return everySet(m, s, Order::setBySet); });
}

Pattern visitingSetsInTurn(const PatternSite& site) {
    return visiting(site, [](const MappedMemory& m, const PatternSite& s) { return everySet(m, s, Order::rotating); });
}

Pattern visitingFewest(const PatternSite& site) {
    const auto choose = [](const MappedMemory& m, const PatternSite& s) {
        return coverInRounds(m, s.shape.lineBytes, waysOf(m, s), kFills, s.spec.seed).ring;
    };
    return visiting(site, choose, true);
}

Pattern visitingASlice(const PatternSite& site) {
    return visiting(site, [](const MappedMemory& m, const PatternSite& s) { return onTarget(m, s, Target::slice); });
}

Pattern visitingABank(const PatternSite& site) {
    return visiting(site, [](const MappedMemory& m, const PatternSite& s) {
        if (m.map().banksPerChannel() < 2) throw Error("aggressor bank: the map has no DRAM banks");
        return onTarget(m, s, Target::bank);
    });
}

Pattern visitingAChannel(const PatternSite& site) {
    return visiting(site, [](const MappedMemory& m, const PatternSite& s) { return onTarget(m, s, Target::channel); });
}

Pattern visitingHotSets(const PatternSite& site) {
    return visiting(site, [](const MappedMemory& m, const PatternSite& s) {
        return coverHotSets(m, s.shape.lineBytes, kFills * waysOf(m, s), s.victimLines, kHotShare).ring;
    });
}

}  // namespace bulkhead::corun
