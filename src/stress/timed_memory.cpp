#include "base/error.h"
#include "dissect/map_file.h"
#include "dissect/slice_map.h"
#include "stress/mapped_memory.h"

namespace bulkhead::stress {
namespace {

class TimedMemory final : public MappedMemory {
  public:
    TimedMemory(gpu::Gpu& gpu, Bytes bytes, const dissect::MapFile& file)
        : view_(gpu, bytes), map_(file.map), form_(*file.form) {
        dissect::Probe probe(gpu);
        dissect::Listener silent;
        dissect::SliceMapper mapper(probe, view_, dissect::SliceMapOptions::forGpu(gpu), silent);
        if (!mapper.adopt(form_)) throw Error("slices of {} cannot be told apart by timing", gpu.name());
        form_ = mapper.hash();
        labels_ = mapper.labelPages(view_.bytes() >> dissect::kPageShift);
    }

    std::uint64_t base() const override { return view_.base(); }
    Bytes bytes() const override { return view_.bytes(); }
    const arch::AddressMap& map() const override { return map_; }
    bool knows(std::uint64_t address) const override {
        const std::size_t page = (address - base()) >> dissect::kPageShift;
        return page < labels_.size() && labels_[page].has_value();
    }
    arch::AddressMap::Location locate(std::uint64_t address) const override {
        const std::uint64_t offset = address - base();
        const dissect::PageLabel& label = labels_.at(offset >> dissect::kPageShift).value();
        const std::uint64_t inPage = offset & (dissect::kPageBytes - 1);
        arch::AddressMap::Location at = {};
        at.slice = form_.group(inPage, label) * form_.modulus + form_.residue(inPage, label);
        at.channel = at.slice / map_.roles().slicesPerChannel;
        return at;
    }

  private:
    dissect::MemoryView view_;
    arch::AddressMap map_;
    dissect::ResidueHash form_;
    std::vector<std::optional<dissect::PageLabel>> labels_;
};

}  // namespace

MapMemory mapByTiming(gpu::Gpu& gpu, const std::string& mapFile) {
    const dissect::MapFile file = dissect::readMapFile(mapFile);
    if (!file.form) throw Error("{}: has no form of the slices, which pages could be labelled with", mapFile);
    return [&gpu, file](gpu::Context&, Bytes bytes) { return std::make_unique<TimedMemory>(gpu, bytes, file); };
}

}  // namespace bulkhead::stress
