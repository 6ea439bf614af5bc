#include "syr2k.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

class Syr2k final : public Instance {
  public:
    Syr2k(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        // At test size not a multiple of a block, and A and B not square.
        const auto n = forSize<std::size_t>(size, 60, 128, 2048), m = forSize<std::size_t>(size, 40, 128, 2048);
        hostA_ = uniformMatrix(random, n, m);
        hostB_ = uniformMatrix(random, n, m);
        hostC_ = uniformMatrix(random, n, n);
        kernel_ = context.load(kSyr2kPtx).kernel("syr2k");
        a_ = context.array(hostA_.values);
        b_ = context.array(hostB_.values);
        initialC_ = context.array(hostC_.values);
        c_ = context.array<float>(n * n);
    }

    void run(gpu::Stream& stream) override {
        const std::size_t n = hostA_.rows;
        c_.copyFrom(initialC_, stream);
        kernel_.launch(stream, {blocksFor(n, kBlock.x), blocksFor(n, kBlock.y)}, kBlock, 0, a_, b_, c_,
                       static_cast<int>(n), static_cast<int>(hostA_.columns), kAlpha, kBeta);
    }

    void check() override {
        const std::size_t n = hostA_.rows;
        const std::vector<double> ab = product(hostA_, transposed(hostB_));  // B A' is its transpose
        std::vector<double> c(n * n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                c[i * n + j] = kAlpha * (ab[i * n + j] + ab[j * n + i]) + kBeta * hostC_.values[i * n + j];
        expectNear("C", rounded(c), c_.take(), sumTolerance(hostA_.columns), 0);
    }

    std::size_t footprint() const override { return bytesOf(a_, b_, c_); }

  private:
    static constexpr gpu::Dim3 kBlock = {32, 8};
    static constexpr float kAlpha = 1.5f, kBeta = 1.25f;

    Matrix hostA_, hostB_, hostC_;
    gpu::Kernel kernel_;
    gpu::Array<float> a_, b_, initialC_, c_;
};

}  // namespace

std::unique_ptr<Instance> createSyr2k(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Syr2k>(context, size, seed);
}

}  // namespace bulkhead::workloads
