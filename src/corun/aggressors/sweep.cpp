#include <algorithm>

#include "corun/aggressors/patterns.h"

namespace bulkhead::corun {
namespace {

constexpr unsigned kVectorBytes = 16;

/// As the kernel numbers them.
enum class Access : unsigned { read, write, readWrite, atomic };

/// All threads together, through all of the memory again and again.
class Sweep final : public AccessPattern {
  public:
    Sweep(const PatternSite& site, Access access) : access_(access), memory_(plainMemory(site)) {}

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

}  // namespace

gpu::Buffer plainMemory(const PatternSite& site) {
    const Bytes least = Bytes{site.spec.layout.blocks} * site.spec.layout.warps * 32 * kVectorBytes;
    gpu::Buffer memory = site.context.allocate(std::max(site.spec.bytes, least));
    memory.fill(0);
    site.context.synchronize();
    return memory;
}

Pattern reading(const PatternSite& site) {
    return std::make_unique<Sweep>(site, Access::read);
}

Pattern writing(const PatternSite& site) {
    return std::make_unique<Sweep>(site, Access::write);
}

Pattern readingAndWriting(const PatternSite& site) {
    return std::make_unique<Sweep>(site, Access::readWrite);
}

Pattern addingAtomically(const PatternSite& site) {
    return std::make_unique<Sweep>(site, Access::atomic);
}

}  // namespace bulkhead::corun
