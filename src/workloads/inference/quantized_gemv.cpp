#include "workloads/inference/quantized_gemv.h"

#include <cmath>

#include "quantized_gemv.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/inference/short_floats.h"
#include "workloads/reference.h"

namespace bulkhead::workloads {
namespace {

constexpr std::size_t kWordWeights = 8, kWeightValues = 16;

/// Of a weight in its word: nibbles of the lower half and of the upper half in turn.
constexpr unsigned shiftOf(std::size_t weight) {
    return static_cast<unsigned>(weight % kWordWeights / 2 * 4 + weight % 2 * 16);
}

class QuantizedGemv final : public Instance {
  public:
    QuantizedGemv(gpu::Context& context, Size size, std::uint64_t seed)
        : rows_(forSize<std::size_t>(size, 64, 4096, 14336, 28672)),
          columns_(forSize<std::size_t>(size, 2048, 4096, 4096, 8192)) {
        Random random(seed);
        words_.resize(rows_ * columns_ / kWordWeights);
        for (std::uint32_t& word : words_) word = static_cast<std::uint32_t>(random.next());
        // Numbers that halves have exactly.
        scales_.resize(rows_ * columns_ / kGemvScaleGroup);
        for (float& scale : scales_) scale = static_cast<float>(64 + random.below(64)) / 4096;
        x_.resize(columns_);
        for (float& x : x_) x = static_cast<float>(random.below(2048)) / 2048;

        kernel_ = context.load(kQuantizedGemvPtx).kernel("quantizedGemv");
        deviceWords_ = context.array(words_);
        deviceScales_ = context.array(halves(scales_));
        deviceX_ = context.array(halves(x_));
        y_ = context.array<float>(rows_);
    }

    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {blocksFor(rows_, kGemvRows * kGemvWarps)}, {kGemvWarps * 32}, 0, y_, deviceWords_,
                       deviceScales_, deviceX_, static_cast<int>(columns_));
    }

    void check() override {
        const Sums& sums = reference_([&] { return multiply(); });
        const std::vector<float> y = y_.take();
        // Four products of a word's half are summed in halves, and rounded each time. Errors of many such sums add up
        // as a random walk does: this is several standard deviations.
        constexpr double kRounding = 8 * 0x1p-11;
        for (std::size_t row = 0; row < rows_; ++row)
            if (!(std::abs(y[row] - sums.exact[row]) <=
                  kRounding * sums.terms[row] / std::sqrt(static_cast<double>(columns_))))
                throw Error("y[{}] is {}, the reference has {}", row, y[row], sums.exact[row]);
    }

    std::size_t footprint() const override { return bytesOf(deviceWords_, deviceScales_, deviceX_, y_); }

  private:
    struct Sums {
        std::vector<double> exact, terms;  ///< and of the absolute values
    };

    static std::vector<std::uint16_t> halves(const std::vector<float>& values) {
        std::vector<std::uint16_t> out(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) out[i] = halfBits(values[i]);
        return out;
    }

    Sums multiply() const {
        Sums sums{std::vector<double>(rows_), std::vector<double>(rows_)};
        for (std::size_t row = 0; row < rows_; ++row)
            for (std::size_t k = 0; k < columns_; ++k) {
                const std::size_t at = row * columns_ + k;
                const unsigned nibble = words_[at / kWordWeights] >> shiftOf(k) & (kWeightValues - 1);
                const double weight = static_cast<double>(nibble) - kWeightValues / 2;
                const double term = weight * static_cast<double>(scales_[at / kGemvScaleGroup]) * x_[k];
                sums.exact[row] += term;
                sums.terms[row] += std::abs(term);
            }
        return sums;
    }

    std::size_t rows_, columns_;
    std::vector<std::uint32_t> words_;
    std::vector<float> scales_, x_;
    gpu::Kernel kernel_;
    gpu::Array<std::uint32_t> deviceWords_;
    gpu::Array<std::uint16_t> deviceScales_, deviceX_;
    gpu::Array<float> y_;
    Reference<Sums> reference_;
};

}  // namespace

std::unique_ptr<Instance> createQuantizedGemv(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<QuantizedGemv>(context, size, seed);
}

}  // namespace bulkhead::workloads
