#include <algorithm>

#include "base/error.h"
#include "corun/aggressors/patterns.h"

namespace bulkhead::corun {
namespace {

constexpr unsigned kVectorBytes = 16;

/// As the kernel numbers them.
enum class Access : unsigned { read, write, readWrite, atomic, readL1 };

/// All threads together, through all of the memory again and again.
class Sweep final : public AccessPattern {
  public:
    Sweep(Access access, gpu::Buffer memory) : access_(access), memory_(std::move(memory)) {}

    void launch(PlacedKernel& kernel, const gpu::Stream& stream, std::uint64_t stop, std::uint64_t ranks,
                const Dials& dials) override {
        const std::uint64_t elements = memory_.bytes() / kVectorBytes;
        kernel.launch(stream,
                      std::tuple(memory_.address(), elements, static_cast<unsigned>(access_),
                                 static_cast<unsigned>(bytesEach()), stop, dials),
                      ranks);
    }
    Bytes bytesEach() const override { return access_ == Access::readWrite ? 2 * kVectorBytes : kVectorBytes; }
    bool sendsOnly() const override { return access_ == Access::write || access_ == Access::atomic; }

  private:
    Access access_;
    gpu::Buffer memory_;
};

/// At least so much.
gpu::Buffer plainMemory(const PatternSite& site, Bytes least) {
    gpu::Buffer memory = site.context.allocate(std::max(site.spec.bytes, least));
    memory.fill(0);
    site.context.synchronize();
    return memory;
}

}  // namespace

gpu::Buffer plainMemory(const PatternSite& site) {
    return plainMemory(site, Bytes{site.spec.layout.blocks} * site.spec.layout.warps * 32 * kVectorBytes);
}

Pattern fillingL1(const PatternSite& site) {
    if (attributeOf(site.context, driver::DeviceAttribute::globalL1) == 0)
        throw Error("aggressor {}: L1 of this GPU does not cache what kernels load", site.spec.kind);
    return std::make_unique<Sweep>(Access::readL1,
                                   plainMemory(site, Bytes{site.spec.layout.warps} * 32 * kVectorBytes));
}

Pattern reading(const PatternSite& site) {
    return std::make_unique<Sweep>(Access::read, plainMemory(site));
}

Pattern writing(const PatternSite& site) {
    return std::make_unique<Sweep>(Access::write, plainMemory(site));
}

Pattern readingAndWriting(const PatternSite& site) {
    return std::make_unique<Sweep>(Access::readWrite, plainMemory(site));
}

Pattern addingAtomically(const PatternSite& site) {
    return std::make_unique<Sweep>(Access::atomic, plainMemory(site));
}

}  // namespace bulkhead::corun
