#include "gesummv.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

class Gesummv final : public Instance {
  public:
    Gesummv(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        const auto n = forSize<std::size_t>(size, 248, 1536, 4096);
        hostA_ = uniformMatrix(random, n, n);
        hostB_ = uniformMatrix(random, n, n);
        hostX_ = uniformFloats(random, n);
        kernel_ = context.load(kGesummvPtx).kernel("gesummv");
        a_ = context.array(hostA_.values);
        b_ = context.array(hostB_.values);
        x_ = context.array(hostX_);
        y_ = context.array<float>(n);
        t_ = context.array<float>(n);
    }

    void run(gpu::Stream& stream) override {
        t_.buffer().fill(0, stream);
        y_.buffer().fill(0, stream);
        kernel_.launch(stream, {blocksFor(hostA_.rows, kBlock)}, {kBlock}, 0, a_, b_, x_, y_, t_,
                       static_cast<int>(hostA_.rows), kAlpha, kBeta);
    }

    void check() override {
        const std::vector<double> ax = product(hostA_, widened(hostX_)), bx = product(hostB_, widened(hostX_));
        std::vector<double> y(ax.size());
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = kAlpha * ax[i] + kBeta * bx[i];
        const double tolerance = sumTolerance(hostA_.rows);
        expectNear("A x", rounded(ax), t_.take(), tolerance, 0);
        expectNear("y", rounded(y), y_.take(), tolerance, 0);
    }

    std::size_t footprint() const override { return bytesOf(a_, b_, x_, y_, t_); }

  private:
    static constexpr unsigned kBlock = 256;
    static constexpr float kAlpha = 1.5f, kBeta = 1.25f;

    Matrix hostA_, hostB_;
    std::vector<float> hostX_;
    gpu::Kernel kernel_;
    gpu::Array<float> a_, b_, x_, y_, t_;
};

}  // namespace

std::unique_ptr<Instance> createGesummv(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Gesummv>(context, size, seed);
}

}  // namespace bulkhead::workloads
