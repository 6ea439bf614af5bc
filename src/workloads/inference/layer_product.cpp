#include "workloads/inference/layer_product.h"

#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/inference/short_floats.h"
#include "workloads/linear_algebra.h"

namespace bulkhead::workloads {

// The largest sizes: 512 tokens of a prompt through a layer of Llama 3 8B, and a square that keeps a GPU of today busy.
LayerProduct::LayerProduct(gpu::Context& context, Size size, std::uint64_t seed)
    : rows_(forSize<std::size_t>(size, 128, 512, 512, 4096)),
      columns_(forSize<std::size_t>(size, 256, 1024, 4096, 4096)),
      depth_(forSize<std::size_t>(size, 192, 1024, 4096, 4096)) {
    Random random(seed);
    // Of one sign, so that no sum cancels and each is checked to its last bits.
    hostA_ = uniformBf16(random, rows_ * depth_, 0, 1);
    hostW_ = uniformBf16(random, columns_ * depth_, 0, 1);
    a_ = context.array(hostA_);
    w_ = context.array(hostW_);
    c_ = context.array<float>(rows_ * columns_);
}

void LayerProduct::check() {
    const auto& c = reference_([&] {
        const Matrix a = {rows_, depth_, bf16Values(hostA_)}, w = {columns_, depth_, bf16Values(hostW_)};
        return rounded(product(a, transposed(w)));
    });
    // A tensor core cuts off what its sums cannot hold, always towards zero: an error that grows with their number.
    constexpr double kCutOff = 0x1p-23;
    constexpr std::size_t kTogether = 16;
    const double steps = static_cast<double>(depth_ / kTogether);
    expectNear("C", c, c_.take(), kCutOff * steps, 0);
}

std::size_t LayerProduct::footprint() const {
    return bytesOf(a_, w_, c_);
}

}  // namespace bulkhead::workloads
