#include <algorithm>

#include "gemm_wgmma.ptx.h"
#include "gpu/real_driver.h"
#include "workloads/host_code.h"
#include "workloads/inference/gemm.h"
#include "workloads/inference/layer_product.h"

namespace bulkhead::workloads {
namespace {

class GemmWgmma final : public LayerProduct {
  public:
    GemmWgmma(gpu::Context& context, Size size, std::uint64_t seed) : LayerProduct(context, size, seed) {
        const gpu::Module module = context.load(kGemmWgmmaPtx);
        kernel_ = module.kernel("gemmWgmma");
        const std::size_t room = context.info().sharedPerBlock - kBarrierBytes - kWgmmaAlignment;
        stages_ = static_cast<int>(std::min<std::size_t>(room / kWgmmaStageBytes, kWgmmaMostStages));
        sharedBytes_ = static_cast<std::size_t>(stages_) * kWgmmaStageBytes + kWgmmaAlignment;
        kernel_.permitShared(sharedBytes_);
        const driver::CUtensorMap maps[] = {tileMap(context, a_, rows_), tileMap(context, w_, columns_)};
        const auto [address, bytes] = module.variable("tensorMaps");
        gpu::check(context.api(), context.api().cuMemcpyHtoD(address, maps, bytes), "cannot write tensor maps");
    }

    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {blocksFor(columns_, kGemmTile), blocksFor(rows_, kGemmTile)}, {kWgmmaThreads},
                       sharedBytes_, c_, static_cast<int>(columns_), static_cast<int>(depth_), stages_);
    }

  private:
    static constexpr std::size_t kBarrierBytes = 2 * kWgmmaMostStages * 8;

    /// Of a matrix in tiles of kGemmTile rows, kWgmmaDepth of each, swizzled as wgmma reads them.
    driver::CUtensorMap tileMap(gpu::Context& context, const gpu::Array<std::uint16_t>& matrix,
                                std::size_t rows) const {
        constexpr int kBf16 = 9, kPlain = 0, kSwizzle128 = 3, kNoPromotion = 0, kZeros = 0;
        const std::uint64_t extents[] = {depth_, rows}, strides[] = {depth_ * sizeof(std::uint16_t)};
        const unsigned box[] = {kWgmmaDepth, kGemmTile}, every[] = {1, 1};
        driver::CUtensorMap map;
        context.makeCurrent();
        gpu::check(
            context.api(),
            context.api().cuTensorMapEncodeTiled(&map, kBf16, 2, reinterpret_cast<void*>(matrix.address()), extents,
                                                 strides, box, every, kPlain, kSwizzle128, kNoPromotion, kZeros),
            "cannot describe a matrix to copy engines");
        return map;
    }

    gpu::Kernel kernel_;
    int stages_;
    std::size_t sharedBytes_;
};

}  // namespace

std::unique_ptr<Instance> createGemmWgmma(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<GemmWgmma>(context, size, seed);
}

}  // namespace bulkhead::workloads
