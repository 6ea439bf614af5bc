#include "syrk.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

class Syrk final : public Instance {
  public:
    Syrk(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        // At test size not a multiple of a block, and A not square.
        const auto n = forSize<std::size_t>(size, 60, 192, 256), m = forSize<std::size_t>(size, 40, 192, 256);
        hostA_ = uniformMatrix(random, n, m);
        hostC_ = uniformMatrix(random, n, n);
        kernel_ = context.load(kSyrkPtx).kernel("syrk");
        a_ = context.array(hostA_.values);
        initialC_ = context.array(hostC_.values);
        c_ = context.array<float>(n * n);
    }

    void run(gpu::Stream& stream) override {
        const std::size_t n = hostA_.rows;
        c_.copyFrom(initialC_, stream);
        kernel_.launch(stream, {blocksFor(n, kBlock.x), blocksFor(n, kBlock.y)}, kBlock, 0, a_, c_, static_cast<int>(n),
                       static_cast<int>(hostA_.columns), kAlpha, kBeta);
    }

    void check() override {
        std::vector<double> c = product(hostA_, transposed(hostA_));
        for (std::size_t i = 0; i < c.size(); ++i) c[i] = kAlpha * c[i] + kBeta * hostC_.values[i];
        expectNear("C", rounded(c), c_.take(), sumTolerance(hostA_.columns), 0);
    }

    std::size_t footprint() const override { return bytesOf(a_, c_); }

  private:
    static constexpr gpu::Dim3 kBlock = {32, 8};
    static constexpr float kAlpha = 1.5f, kBeta = 1.25f;

    Matrix hostA_, hostC_;
    gpu::Kernel kernel_;
    gpu::Array<float> a_, initialC_, c_;
};

}  // namespace

std::unique_ptr<Instance> createSyrk(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Syrk>(context, size, seed);
}

}  // namespace bulkhead::workloads
