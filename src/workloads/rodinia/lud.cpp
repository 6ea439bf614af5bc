// Rodinia's LU decomposition, tile by tile along the diagonal.
#include "lud.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/rodinia/dominant_matrix.h"
#include "workloads/rodinia/tile.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

void decompose(std::vector<double>& matrix, std::size_t n) {
    for (std::size_t t = 0; t + 1 < n; ++t)
        for (std::size_t i = t + 1; i < n; ++i) {
            const double factor = matrix[i * n + t] /= matrix[t * n + t];
            for (std::size_t j = t + 1; j < n; ++j) matrix[i * n + j] -= factor * matrix[t * n + j];
        }
}

class Lud : public Instance {
  public:
    Lud(gpu::Context& context, std::size_t tiles, std::uint64_t seed) : tiles_(tiles), n_(tiles * kTile) {
        Random random(seed);
        hostMatrix_ = dominantMatrix(random, n_);
        input_ = context.array(hostMatrix_);
        matrix_ = context.array<float>(n_ * n_);
        const gpu::Module module = context.load(kLudPtx);
        diagonal_ = module.kernel("ludDiagonal");
        perimeter_ = module.kernel("ludPerimeter");
        internal_ = module.kernel("ludInternal");
    }

    void run(gpu::Stream& stream) override {
        matrix_.copyFrom(input_, stream);
        const int n = static_cast<int>(n_);
        for (std::size_t tile = 0; tile < tiles_; ++tile) {
            const int offset = static_cast<int>(tile) * kTile;
            diagonal_.launch(stream, {1}, {kTile}, 0, matrix_, n, offset);
            const auto left = static_cast<unsigned>(tiles_ - tile - 1);
            if (left == 0) break;
            perimeter_.launch(stream, {left}, {2 * kTile}, 0, matrix_, n, offset);
            internal_.launch(stream, {left, left}, {kTile, kTile}, 0, matrix_, n, offset);
        }
    }

    void check() override {
        std::vector<double> matrix = widened(hostMatrix_);
        decompose(matrix, n_);
        expectNear("matrix", rounded(matrix), matrix_.take(), 1e-5, 1e-5);
    }

    std::size_t footprint() const override { return bytesOf(matrix_); }

  private:
    std::size_t tiles_, n_;
    std::vector<float> hostMatrix_;
    gpu::Array<float> input_, matrix_;
    gpu::Kernel diagonal_, perimeter_, internal_;
};

}  // namespace

std::unique_ptr<Instance> createLud(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Lud>(context, forSize<std::size_t>(size, 4, 24, 5), seed);
}

}  // namespace bulkhead::workloads
