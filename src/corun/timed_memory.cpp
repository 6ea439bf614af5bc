#include "base/error.h"
#include "corun/mapped_memory.h"
#include "dissect/map_file.h"
#include "dissect/page_labels.h"
#include "dissect/slice_map.h"

namespace bulkhead::corun {
namespace {

class TimedMemory final : public MappedMemory {
  public:
    TimedMemory(gpu::Gpu& gpu, Bytes bytes, const dissect::MapFile& file)
        : view_(gpu, bytes), map_(file.map), form_(*file.form) {
        dissect::Probe probe(gpu);
        dissect::Listener silent;
        dissect::SliceProbe slices(probe, view_, dissect::SliceMapOptions::forGpu(gpu), silent);
        const std::optional<dissect::SliceMap> map = dissect::adoptSliceMap(slices, file);
        if (!map) throw Error("slices of {} cannot be distinguished by timing", gpu.name());
        form_ = map->hash;
        labels_ = dissect::labelFirstPages(slices, form_, view_.bytes() >> dissect::kPageShift);
        if (slices.sided()) findSides(slices);
    }

    std::uint64_t base() const override { return view_.base(); }
    Bytes bytes() const override { return view_.bytes(); }
    const arch::AddressMap& map() const override { return map_; }
    bool knows(std::uint64_t address) const override {
        const std::size_t page = (address - base()) >> dissect::kPageShift;
        return page < labels_.size() && labels_[page].has_value();
    }
    arch::AddressMap::Location locate(std::uint64_t address) const override {
        const std::uint64_t inPage = (address - base()) & (dissect::kPageBytes - 1);
        arch::AddressMap::Location at = {};
        at.slice = group(address) * form_.modulus + form_.residue(inPage, label(address));
        at.channel = at.slice / map_.roles().slicesPerChannel;
        return at;
    }
    std::vector<std::uint8_t> sidesOfSms() const override { return sides_; }
    unsigned side(std::uint64_t address) const override { return (group(address) & 1) ^ (inverted_ ? 1 : 0); }

  private:
    const dissect::PageLabel& label(std::uint64_t address) const {
        return labels_.at((address - base()) >> dissect::kPageShift).value();
    }
    std::uint32_t group(std::uint64_t address) const {
        return form_.group((address - base()) & (dissect::kPageBytes - 1), label(address));
    }
    /// The form names sides as it likes: timing says which is which.
    void findSides(dissect::SliceProbe& slices) {
        std::vector<std::uint64_t> pages;
        for (std::size_t page = 0; page < labels_.size() && pages.size() < kComparedPages; ++page)
            if (labels_[page]) pages.push_back(base() + (page << dissect::kPageShift));
        const std::vector<std::uint8_t> timed = slices.sidesOfPages(pages);
        std::size_t differ = 0;
        for (std::size_t i = 0; i < pages.size(); ++i) differ += (group(pages[i]) & 1) != timed[i];
        inverted_ = 2 * differ > pages.size();
        sides_ = slices.sides()->ofSm;
    }

    static constexpr std::size_t kComparedPages = 15;
    dissect::MemoryView view_;
    arch::AddressMap map_;
    dissect::ResidueHash form_;
    std::vector<std::optional<dissect::PageLabel>> labels_;
    std::vector<std::uint8_t> sides_;  ///< of SMs
    bool inverted_ = false;            ///< whether the form's sides are the other way round
};

}  // namespace

MapMemory mapByTiming(gpu::Gpu& gpu, const std::string& mapFile) {
    const dissect::MapFile file = dissect::readMapFile(mapFile);
    if (!file.form) throw Error("{}: has no form of the slice hash: pages cannot be labelled", mapFile);
    return [&gpu, file](gpu::Context&, Bytes bytes) { return std::make_unique<TimedMemory>(gpu, bytes, file); };
}

}  // namespace bulkhead::corun
