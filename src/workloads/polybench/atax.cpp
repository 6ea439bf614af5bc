#include "atax.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

class Atax final : public Instance {
  public:
    Atax(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        // At test size a matrix that is neither square nor a multiple of a block; the large one has rows for all
        // threads of a GPU with some hundred SMs.
        hostA_ = uniformMatrix(random, forSize<std::size_t>(size, 200, 2048, 4096, 262144),
                               forSize<std::size_t>(size, 296, 2048, 4096, 512));
        hostX_ = uniformFloats(random, hostA_.columns);
        const gpu::Module module = context.load(kAtaxPtx);
        rowsKernel_ = module.kernel("ataxRows");
        columnsKernel_ = module.kernel("ataxColumns");
        a_ = context.array(hostA_.values);
        x_ = context.array(hostX_);
        t_ = context.array<float>(hostA_.rows);
        y_ = context.array<float>(hostA_.columns);
    }

    void run(gpu::Stream& stream) override {
        const int rows = static_cast<int>(hostA_.rows), columns = static_cast<int>(hostA_.columns);
        t_.buffer().fill(0, stream);
        y_.buffer().fill(0, stream);
        rowsKernel_.launch(stream, {blocksFor(hostA_.rows, kBlock)}, {kBlock}, 0, a_, x_, t_, rows, columns);
        columnsKernel_.launch(stream, {blocksFor(hostA_.columns, kBlock)}, {kBlock}, 0, a_, t_, y_, rows, columns);
    }

    void check() override {
        const std::vector<double> t = product(hostA_, widened(hostX_));
        const double tTolerance = sumTolerance(hostA_.columns), yTolerance = sumTolerance(hostA_.rows);
        expectNear("A x", rounded(t), t_.take(), tTolerance, 0);
        expectNear("y", rounded(transposedProduct(hostA_, t)), y_.take(), tTolerance + yTolerance, 0);
    }

    std::size_t footprint() const override { return bytesOf(a_, x_, t_, y_); }

  private:
    static constexpr unsigned kBlock = 256;

    Matrix hostA_;
    std::vector<float> hostX_;
    gpu::Kernel rowsKernel_, columnsKernel_;
    gpu::Array<float> a_, x_, t_, y_;
};

}  // namespace

std::unique_ptr<Instance> createAtax(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Atax>(context, size, seed);
}

}  // namespace bulkhead::workloads
