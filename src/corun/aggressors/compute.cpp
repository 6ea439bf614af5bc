#include "corun/aggressors/patterns.h"

namespace bulkhead::corun {
namespace {

class Compute final : public AccessPattern {
  public:
    void launch(PlacedKernel& kernel, const gpu::Stream& stream, std::uint64_t stop, std::uint64_t ranks,
                const Dials& dials) override {
        kernel.launch(stream, std::tuple(stop, dials), ranks);
    }
    Bytes bytesEach() const override { return 0; }
};

}  // namespace

Pattern computing(const PatternSite&) {
    return std::make_unique<Compute>();
}

}  // namespace bulkhead::corun
