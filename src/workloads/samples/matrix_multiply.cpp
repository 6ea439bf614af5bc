#include "workloads/samples/matrix_multiply.h"

#include "matrix_multiply.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/reference.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

class MatrixMultiply final : public Instance {
  public:
    MatrixMultiply(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        // The sample's size is 320 x 320 times 320 x 640; the default is no smaller.
        const auto rows = forSize<std::size_t>(size, 64, 320, 320, 1024);
        const auto inner = forSize<std::size_t>(size, 96, 320, 320, 1024);
        const auto columns = forSize<std::size_t>(size, 128, 640, 640, 1024);
        hostA_ = uniformMatrix(random, rows, inner);
        hostB_ = uniformMatrix(random, inner, columns);
        kernel_ = context.load(kMatrixMultiplyPtx).kernel("matrixMultiply");
        a_ = context.array(hostA_.values);
        b_ = context.array(hostB_.values);
        c_ = context.array<float>(rows * columns);
    }

    void run(gpu::Stream& stream) override {
        const gpu::Dim3 grid = {blocksFor(hostB_.columns, kMultiplyTile), blocksFor(hostA_.rows, kMultiplyTile)};
        kernel_.launch(stream, grid, {kMultiplyTile, kMultiplyTile}, 0, c_, a_, b_, static_cast<int>(hostA_.columns),
                       static_cast<int>(hostB_.columns));
    }

    void check() override {
        const auto& c = reference_([&] { return rounded(product(hostA_, hostB_)); });
        expectNear("C", c, c_.take(), sumTolerance(hostA_.columns), 0);
    }

    std::size_t footprint() const override { return bytesOf(a_, b_, c_); }

  private:
    Matrix hostA_, hostB_;
    gpu::Kernel kernel_;
    gpu::Array<float> a_, b_, c_;
    Reference<std::vector<float>> reference_;
};

}  // namespace

std::unique_ptr<Instance> createMatrixMultiply(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<MatrixMultiply>(context, size, seed);
}

}  // namespace bulkhead::workloads
