#include "mvt.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

std::vector<float> sum(const std::vector<float>& a, const std::vector<double>& b) {
    std::vector<float> out(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) out[i] = static_cast<float>(static_cast<double>(a[i]) + b[i]);
    return out;
}

class Mvt final : public Instance {
  public:
    Mvt(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        const auto n = forSize<std::size_t>(size, 248, 2048, 4096);
        hostA_ = uniformMatrix(random, n, n);
        hostX1_ = uniformFloats(random, n);
        hostX2_ = uniformFloats(random, n);
        hostY1_ = uniformFloats(random, n);
        hostY2_ = uniformFloats(random, n);
        const gpu::Module module = context.load(kMvtPtx);
        rowsKernel_ = module.kernel("mvtRows");
        columnsKernel_ = module.kernel("mvtColumns");
        a_ = context.array(hostA_.values);
        initialX1_ = context.array(hostX1_);
        initialX2_ = context.array(hostX2_);
        x1_ = context.array<float>(n);
        x2_ = context.array<float>(n);
        y1_ = context.array(hostY1_);
        y2_ = context.array(hostY2_);
    }

    void run(gpu::Stream& stream) override {
        const gpu::Dim3 grid = {blocksFor(hostA_.rows, kBlock)};
        const int n = static_cast<int>(hostA_.rows);
        x1_.copyFrom(initialX1_, stream);
        x2_.copyFrom(initialX2_, stream);
        rowsKernel_.launch(stream, grid, {kBlock}, 0, a_, y1_, x1_, n);
        columnsKernel_.launch(stream, grid, {kBlock}, 0, a_, y2_, x2_, n);
    }

    void check() override {
        const double tolerance = sumTolerance(hostA_.rows);
        expectNear("x1", sum(hostX1_, product(hostA_, widened(hostY1_))), x1_.take(), tolerance, 0);
        expectNear("x2", sum(hostX2_, transposedProduct(hostA_, widened(hostY2_))), x2_.take(), tolerance, 0);
    }

    std::size_t footprint() const override { return bytesOf(a_, x1_, x2_, y1_, y2_); }

  private:
    static constexpr unsigned kBlock = 256;

    Matrix hostA_;
    std::vector<float> hostX1_, hostX2_, hostY1_, hostY2_;
    gpu::Kernel rowsKernel_, columnsKernel_;
    gpu::Array<float> a_, initialX1_, initialX2_, x1_, x2_, y1_, y2_;
};

}  // namespace

std::unique_ptr<Instance> createMvt(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Mvt>(context, size, seed);
}

}  // namespace bulkhead::workloads
