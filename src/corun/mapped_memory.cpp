#include "corun/mapped_memory.h"

namespace bulkhead::corun {
namespace {

class LocatedMemory final : public MappedMemory {
  public:
    LocatedMemory(gpu::Context& context, Bytes bytes, const arch::AddressMap& map)
        : context_(context), buffer_(context.allocate(bytes)), map_(map) {}

    std::uint64_t base() const override { return buffer_.address(); }
    Bytes bytes() const override { return buffer_.bytes(); }
    const arch::AddressMap& map() const override { return map_; }
    arch::AddressMap::Location locate(std::uint64_t address) const override {
        return map_.locate(context_.physicalAddress(address));
    }

  private:
    mutable gpu::Context context_;
    gpu::Buffer buffer_;
    arch::AddressMap map_;
};

}  // namespace

Whereabouts locate(gpu::Context& context, const arch::AddressMap& map, const std::vector<std::uint64_t>& addresses) {
    Whereabouts places;
    for (const std::uint64_t address : addresses) places.push_back(map.locate(context.physicalAddress(address)));
    return places;
}

MapMemory mapByPhysicalAddress(const arch::AddressMap& map) {
    return [map](gpu::Context& context, Bytes bytes) { return std::make_unique<LocatedMemory>(context, bytes, map); };
}

}  // namespace bulkhead::corun
