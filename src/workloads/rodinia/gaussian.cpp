// Rodinia's Gaussian elimination: two kernels a column, back substitution on the host.
#include "gaussian.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/rodinia/dominant_matrix.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

constexpr unsigned kFan1Threads = 512, kFan2Edge = 4;

template <class T>
std::vector<T> backSubstitute(const std::vector<T>& matrix, const std::vector<T>& right) {
    const std::size_t n = right.size();
    std::vector<T> x(n);
    for (std::size_t i = n; i-- > 0;) {
        T rest = right[i];
        for (std::size_t j = i + 1; j < n; ++j) rest -= matrix[i * n + j] * x[j];
        x[i] = rest / matrix[i * n + i];
    }
    return x;
}

void eliminate(std::vector<double>& matrix, std::vector<double>& right) {
    const std::size_t n = right.size();
    for (std::size_t t = 0; t + 1 < n; ++t)
        for (std::size_t i = t + 1; i < n; ++i) {
            const double factor = matrix[i * n + t] / matrix[t * n + t];
            for (std::size_t j = t; j < n; ++j) matrix[i * n + j] -= factor * matrix[t * n + j];
            right[i] -= factor * right[t];
        }
}

class Gaussian : public Instance {
  public:
    Gaussian(gpu::Context& context, std::size_t n, std::uint64_t seed) : n_(n) {
        Random random(seed);
        hostMatrix_ = dominantMatrix(random, n);
        hostRight_ = uniformFloats(random, n, -1, 1);
        inputMatrix_ = context.array(hostMatrix_);
        inputRight_ = context.array(hostRight_);
        matrix_ = context.array<float>(n * n);
        multipliers_ = context.array<float>(n * n);
        right_ = context.array<float>(n);
        const gpu::Module module = context.load(kGaussianPtx);
        fan1_ = module.kernel("gaussianFan1");
        fan2_ = module.kernel("gaussianFan2");
    }

    void run(gpu::Stream& stream) override {
        matrix_.copyFrom(inputMatrix_, stream);
        right_.copyFrom(inputRight_, stream);
        multipliers_.buffer().fill(0, stream);
        const int n = static_cast<int>(n_);
        const unsigned fan1Blocks = blocksFor(n_, kFan1Threads), fan2Blocks = blocksFor(n_, kFan2Edge);
        for (int t = 0; t < n - 1; ++t) {
            fan1_.launch(stream, {fan1Blocks}, {kFan1Threads}, 0, multipliers_, matrix_, n, t);
            fan2_.launch(stream, {fan2Blocks, fan2Blocks}, {kFan2Edge, kFan2Edge}, 0, multipliers_, matrix_, right_, n,
                         t);
        }
    }

    void check() override {
        std::vector<double> matrix = widened(hostMatrix_), right = widened(hostRight_);
        eliminate(matrix, right);
        const std::vector<float> matrixHere = matrix_.take(), rightHere = right_.take();
        expectNear("matrix", rounded(matrix), matrixHere, 1e-5, 1e-5);
        expectNear("right side", rounded(right), rightHere, 1e-5, 1e-5);
        expectNear("solution", rounded(backSubstitute(matrix, right)), backSubstitute(matrixHere, rightHere), 1e-4,
                   1e-6);
    }

    std::size_t footprint() const override { return bytesOf(matrix_, multipliers_, right_); }

  private:
    std::size_t n_;
    std::vector<float> hostMatrix_, hostRight_;
    gpu::Array<float> inputMatrix_, inputRight_;
    gpu::Array<float> matrix_, multipliers_, right_;
    gpu::Kernel fan1_, fan2_;
};

}  // namespace

std::unique_ptr<Instance> createGaussian(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Gaussian>(context, forSize<std::size_t>(size, 40, 128, 208), seed);
}

}  // namespace bulkhead::workloads
