#include "fast_walsh.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/reference.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

constexpr int kLog2SharedRun = 11;       // the longest run that is transformed in shared memory
constexpr std::size_t kFilter = 1 << 7;  // elements of the filter that are not zero

/// Dyadic convolution with a filter by three transforms: of the data, of the filter, and back.
class FastWalsh final : public Instance {
  public:
    FastWalsh(gpu::Context& context, Size size, std::uint64_t seed) : log2Length_(forSize(size, 13, 20, 23, 24)) {
        Random random(seed);
        const std::size_t n = std::size_t{1} << log2Length_;
        hostData_ = uniformFloats(random, n);
        hostFilter_ = uniformFloats(random, kFilter);
        std::vector<float> paddedFilter = hostFilter_;
        paddedFilter.resize(n);
        const gpu::Module module = context.load(kFastWalshPtx);
        levels_ = module.kernel("walshLevels");
        runs_ = module.kernel("walshRuns");
        modulate_ = module.kernel("walshModulate");
        initialData_ = context.array(hostData_);
        initialFilter_ = context.array(paddedFilter);
        data_ = context.array<float>(n);
        filter_ = context.array<float>(n);
    }

    void run(gpu::Stream& stream) override {
        data_.copyFrom(initialData_, stream);
        filter_.copyFrom(initialFilter_, stream);
        transform(stream, data_);
        transform(stream, filter_);
        modulate_.launch(stream, {kModulateGrid}, {kBlock}, 0, data_, filter_, 1 << log2Length_);
        transform(stream, data_);
    }

    void check() override {
        // Every level rounds once; one wrong element of the data shows as 1/128 of a sum.
        expectNear("convolution", reference_([&] { return convolution(); }), data_.take(), 1e-5, 0);
    }

    std::size_t footprint() const override { return bytesOf(data_, filter_); }

  private:
    static constexpr unsigned kBlock = 256, kModulateGrid = 128;

    std::vector<float> convolution() const {
        std::vector<float> convolution(hostData_.size());
        for (std::size_t i = 0; i < convolution.size(); ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < kFilter; ++k) sum += static_cast<double>(hostData_[i ^ k]) * hostFilter_[k];
            convolution[i] = static_cast<float>(sum);
        }
        return convolution;
    }
    void transform(gpu::Stream& stream, gpu::Array<float>& data) {
        const unsigned n = 1u << log2Length_;
        int log2Run = log2Length_;
        for (; log2Run > kLog2SharedRun; log2Run -= 2)
            levels_.launch(stream, {n / 4 / kBlock}, {kBlock}, 0, data, 1 << (log2Run - 2));
        const unsigned run = 1u << log2Run;
        runs_.launch(stream, {n / run}, {run / 4}, run * sizeof(float), data, log2Run);
    }

    int log2Length_;
    std::vector<float> hostData_, hostFilter_;
    gpu::Kernel levels_, runs_, modulate_;
    gpu::Array<float> initialData_, initialFilter_, data_, filter_;
    Reference<std::vector<float>> reference_;
};

}  // namespace

std::unique_ptr<Instance> createFastWalsh(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<FastWalsh>(context, size, seed);
}

}  // namespace bulkhead::workloads
