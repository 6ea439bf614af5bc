#include <cmath>

#include "corr.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

constexpr gpu::Dim3 kReduceBlock = {32, 8};

/// Columns that lean on a common one, so that they correlate to different degrees, in both directions.
Matrix correlatedMatrix(Random& random, std::size_t rows, std::size_t columns) {
    const std::vector<float> common = uniformFloats(random, rows), share = uniformFloats(random, columns, -1, 1);
    Matrix out = uniformMatrix(random, rows, columns);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) out.values[i * columns + j] += share[j] * common[i];
    return out;
}

/// Columns of mean 0 and length 1.
Matrix normalised(const Matrix& data) {
    std::vector<double> mean(data.columns), variance(data.columns);
    const auto rows = static_cast<double>(data.rows);
    for (std::size_t i = 0; i < data.rows; ++i)
        for (std::size_t j = 0; j < data.columns; ++j) mean[j] += data.row(i)[j] / rows;
    const auto deviation = [&](std::size_t i, std::size_t j) { return data.row(i)[j] - mean[j]; };
    for (std::size_t i = 0; i < data.rows; ++i)
        for (std::size_t j = 0; j < data.columns; ++j) variance[j] += deviation(i, j) * deviation(i, j) / rows;
    Matrix out = data;
    for (std::size_t i = 0; i < data.rows; ++i)
        for (std::size_t j = 0; j < data.columns; ++j)
            out.values[i * data.columns + j] = static_cast<float>(deviation(i, j) / std::sqrt(variance[j] * rows));
    return out;
}

class Corr final : public Instance {
  public:
    Corr(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        data_ = correlatedMatrix(random, forSize<std::size_t>(size, 48, 256, 512),
                                 forSize<std::size_t>(size, 70, 256, 512));
        // Rows are one element longer than their columns need, as the suite's are, which count from one: they begin
        // anywhere in a line.
        pitch_ = data_.columns + 1;
        const gpu::Module module = context.load(kCorrPtx);
        meanKernel_ = module.kernel("corrMean");
        deviationKernel_ = module.kernel("corrDeviation");
        reduceKernel_ = module.kernel("corrReduce");
        productsKernel_ = module.kernel("corrProducts");
        initial_ = context.array(padded(data_));
        reduced_ = context.array<float>(data_.rows * pitch_);
        mean_ = context.array<float>(data_.columns);
        deviation_ = context.array<float>(data_.columns);
        correlation_ = context.array<float>(data_.columns * pitch_);
    }

    void run(gpu::Stream& stream) override {
        const gpu::Dim3 grid = {blocksFor(data_.columns, kBlock)};
        const gpu::Dim3 reduceGrid = {blocksFor(data_.columns, kReduceBlock.x), blocksFor(data_.rows, kReduceBlock.y)};
        const int columns = static_cast<int>(data_.columns), rows = static_cast<int>(data_.rows);
        const int pitch = static_cast<int>(pitch_);
        reduced_.copyFrom(initial_, stream);
        meanKernel_.launch(stream, grid, {kBlock}, 0, mean_, reduced_, columns, rows, pitch);
        deviationKernel_.launch(stream, grid, {kBlock}, 0, mean_, deviation_, reduced_, columns, rows, pitch);
        reduceKernel_.launch(stream, reduceGrid, kReduceBlock, 0, mean_, deviation_, reduced_, columns, rows, pitch);
        productsKernel_.launch(stream, grid, {kBlock}, 0, correlation_, reduced_, columns, rows, pitch);
    }

    void check() override {
        const Matrix reference = normalised(data_);
        const std::vector<double> correlation = product(transposed(reference), reference);
        // Coefficients are at most 1 in size, sums of terms of both signs.
        expectNear("correlation", rounded(correlation), withoutPadding(correlation_.take()), 0,
                   sumTolerance(data_.rows));
    }

    std::size_t footprint() const override { return bytesOf(reduced_, mean_, deviation_, correlation_); }

  private:
    static constexpr unsigned kBlock = 256;

    std::vector<float> padded(const Matrix& matrix) const {
        std::vector<float> out(matrix.rows * pitch_);
        for (std::size_t i = 0; i < matrix.rows; ++i)
            std::copy_n(matrix.row(i), matrix.columns, out.begin() + static_cast<std::ptrdiff_t>(i * pitch_));
        return out;
    }

    std::vector<float> withoutPadding(const std::vector<float>& values) const {
        std::vector<float> out;
        for (std::size_t i = 0; i < values.size(); ++i)
            if (i % pitch_ < data_.columns) out.push_back(values[i]);
        return out;
    }

    Matrix data_;
    std::size_t pitch_ = 0;
    gpu::Kernel meanKernel_, deviationKernel_, reduceKernel_, productsKernel_;
    gpu::Array<float> initial_, reduced_, mean_, deviation_, correlation_;
};

}  // namespace

std::unique_ptr<Instance> createCorr(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Corr>(context, size, seed);
}

}  // namespace bulkhead::workloads
