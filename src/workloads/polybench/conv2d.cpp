#include "workloads/polybench/conv2d.h"

#include "conv2d.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

double filtered(const Matrix& in, std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t di = 0; di < 3; ++di)
        for (std::size_t dj = 0; dj < 3; ++dj)
            sum += static_cast<double>(kConv2dFilter[di][dj]) * in.row(i + di - 1)[j + dj - 1];
    return sum;
}

class Conv2d final : public Instance {
  public:
    Conv2d(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        hostIn_ = uniformMatrix(random, forSize<std::size_t>(size, 100, 2048, 4096),
                                forSize<std::size_t>(size, 140, 2048, 4096));
        kernel_ = context.load(kConv2dPtx).kernel("conv2d");
        in_ = context.array(hostIn_.values);
        out_ = context.array<float>(hostIn_.values.size());
        out_.buffer().fill(0);
    }

    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {blocksFor(hostIn_.columns, kBlock.x), blocksFor(hostIn_.rows, kBlock.y)}, kBlock, 0,
                       in_, out_, static_cast<int>(hostIn_.rows), static_cast<int>(hostIn_.columns));
    }

    void check() override {
        std::vector<float> out(hostIn_.values.size());
        for (std::size_t i = 1; i + 1 < hostIn_.rows; ++i)
            for (std::size_t j = 1; j + 1 < hostIn_.columns; ++j)
                out[i * hostIn_.columns + j] = static_cast<float>(filtered(hostIn_, i, j));
        // Terms have both signs and are below 1 in size.
        expectNear("B", out, out_.take(), 0, 1e-6);
    }

    std::size_t footprint() const override { return bytesOf(in_, out_); }

  private:
    static constexpr gpu::Dim3 kBlock = {32, 8};

    Matrix hostIn_;
    gpu::Kernel kernel_;
    gpu::Array<float> in_, out_;
};

}  // namespace

std::unique_ptr<Instance> createConv2d(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Conv2d>(context, size, seed);
}

}  // namespace bulkhead::workloads
