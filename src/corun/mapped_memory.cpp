#include "corun/mapped_memory.h"

#include "base/error.h"
#include "driver/simulator_api.h"

namespace bulkhead::corun {
namespace {

std::uint64_t physicalAddress(std::uint64_t address) {
    std::uint64_t physical = 0;
    if (driver::simulator().physicalAddress(&physical, address) != driver::CUDA_SUCCESS)
        throw Error("no physical address of {:#x}: {}", address, driver::simulator().lastError());
    return physical;
}

class SimulatedMemory final : public MappedMemory {
  public:
    SimulatedMemory(gpu::Context& context, Bytes bytes, const arch::AddressMap& map)
        : context_(context), buffer_(context.allocate(bytes)), map_(map) {}

    std::uint64_t base() const override { return buffer_.address(); }
    Bytes bytes() const override { return buffer_.bytes(); }
    const arch::AddressMap& map() const override { return map_; }
    arch::AddressMap::Location locate(std::uint64_t address) const override {
        context_.makeCurrent();
        return map_.locate(physicalAddress(address));
    }

  private:
    mutable gpu::Context context_;
    gpu::Buffer buffer_;
    arch::AddressMap map_;
};

}  // namespace

Whereabouts locateSimulated(gpu::Context& context, const arch::AddressMap& map,
                            const std::vector<std::uint64_t>& addresses) {
    context.makeCurrent();
    Whereabouts places;
    for (const std::uint64_t address : addresses) places.push_back(map.locate(physicalAddress(address)));
    return places;
}

MapMemory mapSimulatedMemory(const arch::AddressMap& map) {
    return [map](gpu::Context& context, Bytes bytes) { return std::make_unique<SimulatedMemory>(context, bytes, map); };
}

}  // namespace bulkhead::corun
