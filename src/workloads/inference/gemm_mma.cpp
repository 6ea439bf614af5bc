#include "gemm_mma.ptx.h"
#include "workloads/host_code.h"
#include "workloads/inference/gemm.h"
#include "workloads/inference/layer_product.h"

namespace bulkhead::workloads {
namespace {

class GemmMma final : public LayerProduct {
  public:
    GemmMma(gpu::Context& context, Size size, std::uint64_t seed)
        : LayerProduct(context, size, seed), kernel_(context.load(kGemmMmaPtx).kernel("gemmMma")) {}

    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {blocksFor(columns_, kGemmTile), blocksFor(rows_, kGemmTile)}, {kMmaThreads}, 0, c_, a_,
                       w_, static_cast<int>(columns_), static_cast<int>(depth_));
    }

  private:
    gpu::Kernel kernel_;
};

}  // namespace

std::unique_ptr<Instance> createGemmMma(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<GemmMma>(context, size, seed);
}

}  // namespace bulkhead::workloads
