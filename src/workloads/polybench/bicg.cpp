#include "bicg.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

class Bicg final : public Instance {
  public:
    Bicg(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        // At test size a matrix that is neither square nor a multiple of a block.
        hostA_ = uniformMatrix(random, forSize<std::size_t>(size, 296, 2048, 4096),
                               forSize<std::size_t>(size, 200, 2048, 4096));
        hostR_ = uniformFloats(random, hostA_.rows);
        hostP_ = uniformFloats(random, hostA_.columns);
        const gpu::Module module = context.load(kBicgPtx);
        columnsKernel_ = module.kernel("bicgColumns");
        rowsKernel_ = module.kernel("bicgRows");
        a_ = context.array(hostA_.values);
        r_ = context.array(hostR_);
        p_ = context.array(hostP_);
        s_ = context.array<float>(hostA_.columns);
        q_ = context.array<float>(hostA_.rows);
    }

    void run(gpu::Stream& stream) override {
        const int rows = static_cast<int>(hostA_.rows), columns = static_cast<int>(hostA_.columns);
        s_.buffer().fill(0, stream);
        q_.buffer().fill(0, stream);
        columnsKernel_.launch(stream, {blocksFor(hostA_.columns, kBlock)}, {kBlock}, 0, a_, r_, s_, rows, columns);
        rowsKernel_.launch(stream, {blocksFor(hostA_.rows, kBlock)}, {kBlock}, 0, a_, p_, q_, rows, columns);
    }

    void check() override {
        expectNear("s", rounded(transposedProduct(hostA_, widened(hostR_))), s_.take(), sumTolerance(hostA_.rows), 0);
        expectNear("q", rounded(product(hostA_, widened(hostP_))), q_.take(), sumTolerance(hostA_.columns), 0);
    }

    std::size_t footprint() const override { return bytesOf(a_, r_, p_, s_, q_); }

  private:
    static constexpr unsigned kBlock = 256;

    Matrix hostA_;
    std::vector<float> hostR_, hostP_;
    gpu::Kernel columnsKernel_, rowsKernel_;
    gpu::Array<float> a_, r_, p_, s_, q_;
};

}  // namespace

std::unique_ptr<Instance> createBicg(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Bicg>(context, size, seed);
}

}  // namespace bulkhead::workloads
