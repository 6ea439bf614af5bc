#include <algorithm>
#include <functional>

#include "vector_add.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

class VectorAdd final : public Instance {
  public:
    VectorAdd(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        // The sample's own 50000 elements are over before a GPU is warm.
        const auto n = forSize<std::size_t>(size, 5000, 1 << 22, 50000, 1 << 25);
        hostA_ = uniformFloats(random, n);
        hostB_ = uniformFloats(random, n);
        kernel_ = context.load(kVectorAddPtx).kernel("vectorAdd");
        a_ = context.array(hostA_);
        b_ = context.array(hostB_);
        c_ = context.array<float>(n);
    }

    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {blocksFor(hostA_.size(), kBlock)}, {kBlock}, 0, a_, b_, c_,
                       static_cast<int>(hostA_.size()));
    }

    void check() override {
        std::vector<float> c(hostA_.size());
        std::transform(hostA_.begin(), hostA_.end(), hostB_.begin(), c.begin(), std::plus<>());
        expectEqual("c", c, c_.take());
    }

    std::size_t footprint() const override { return bytesOf(a_, b_, c_); }

  private:
    static constexpr unsigned kBlock = 256;

    std::vector<float> hostA_, hostB_;
    gpu::Kernel kernel_;
    gpu::Array<float> a_, b_, c_;
};

}  // namespace

std::unique_ptr<Instance> createVectorAdd(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<VectorAdd>(context, size, seed);
}

}  // namespace bulkhead::workloads
