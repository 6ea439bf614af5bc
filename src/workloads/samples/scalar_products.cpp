#include <numeric>

#include "scalar_products.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/linear_algebra.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

class ScalarProducts final : public Instance {
  public:
    ScalarProducts(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        // At test size some blocks have two pairs, and vectors end within a round of partial sums.
        const auto vectors = forSize<std::size_t>(size, 130, 1024, 256, 8192);
        const auto elements = forSize<std::size_t>(size, 1100, 4096, 4096);
        hostA_ = uniformMatrix(random, vectors, elements);
        hostB_ = uniformMatrix(random, vectors, elements);
        kernel_ = context.load(kScalarProductsPtx).kernel("scalarProducts");
        a_ = context.array(hostA_.values);
        b_ = context.array(hostB_.values);
        products_ = context.array<float>(vectors);
    }

    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {kGrid}, {kBlock}, 0, products_, a_, b_, static_cast<int>(hostA_.rows),
                       static_cast<int>(hostA_.columns));
    }

    void check() override {
        std::vector<double> products(hostA_.rows);
        for (std::size_t i = 0; i < hostA_.rows; ++i)
            products[i] = std::inner_product(hostA_.row(i), hostA_.row(i) + hostA_.columns, hostB_.row(i), 0.0,
                                             std::plus<>(), std::multiplies<double>());
        // A tree adds few terms after each other.
        expectNear("product", rounded(products), products_.take(), sumTolerance(16), 0);
    }

    std::size_t footprint() const override { return bytesOf(a_, b_, products_); }

  private:
    static constexpr unsigned kGrid = 128, kBlock = 256;

    Matrix hostA_, hostB_;  ///< a vector a row
    gpu::Kernel kernel_;
    gpu::Array<float> a_, b_, products_;
};

}  // namespace

std::unique_ptr<Instance> createScalarProducts(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<ScalarProducts>(context, size, seed);
}

}  // namespace bulkhead::workloads
