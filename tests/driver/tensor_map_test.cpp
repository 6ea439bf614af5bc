// Tensor maps: what the driver takes, and a kernel that gets one as its parameter.

#include "support.h"

namespace bulkhead::driver {
namespace {

const char* const kTensorKernel = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry corner(.param .align 64 .b8 map[128], .param .u64 p)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<6>;
    .shared .align 8 .b64 object; .shared .align 128 .b8 box[256];
    mov.b64 %rd1, map; cvta.param.u64 %rd2, %rd1; ld.param.u64 %rd3, [p];
    mov.u32 %r1, %tid.x; mov.u32 %r2, object; mov.u32 %r3, box; setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
    @%p1 prefetch.tensormap [%rd2];
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd2, {4, 2}], [%r2];
W:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra W;
    shl.b32 %r4, %r1, 2; add.u32 %r5, %r3, %r4; ld.shared.u32 %r6, [%r5]; cvt.u64.u32 %rd4, %r4;
    add.u64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], %r6; ret;
}
)";

constexpr int kFloat32 = 7, kUint8 = 0;

class TensorMaps : public DriverTest {
  protected:
    arch::DeviceProfile profile() const override { return arch::findProfile("h200"); }

    CUtensorMap map = {};
    std::uint64_t extents[5] = {64, 32, 8, 4, 2}, strides[4] = {256, 8192, 65536, 262144};
    unsigned box[5] = {16, 4, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
    int type = kFloat32, interleave = 0, swizzle = 0, promotion = 0, fill = 0;
    unsigned rank = 2;
    std::uintptr_t address = 0x1000;

    CUresult tiled(CUtensorMap* to) const {
        return api.cuTensorMapEncodeTiled(to, type, rank, reinterpret_cast<void*>(address), extents, strides, box,
                                          steps, interleave, swizzle, promotion, fill);
    }
    template <class T>
    CUresult with(T& field, T value) {
        const T before = std::exchange(field, value);
        const CUresult result = tiled(&map);
        field = before;
        return result;
    }
};

TEST_F(TensorMaps, areChecked) {
    EXPECT_EQ(tiled(&map), CUDA_SUCCESS);
    EXPECT_EQ(tiled(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(type, 99), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(rank, 0u), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(rank, 6u), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(address, std::uintptr_t{0x1008}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(extents[1], std::uint64_t{0}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(extents[0], std::uint64_t{1} << 32), CUDA_SUCCESS);
    EXPECT_EQ(with(extents[0], (std::uint64_t{1} << 32) + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(strides[0], std::uint64_t{264}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(strides[0], std::uint64_t{1} << 40), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(box[1], 0u), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(box[1], 257u), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(box[0], 6u), CUDA_ERROR_INVALID_VALUE);  // 24 bytes
    EXPECT_EQ(with(steps[1], 0u), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(steps[1], 9u), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(with(swizzle, 1), CUDA_ERROR_INVALID_VALUE);  // 64 bytes exceed 32
    EXPECT_EQ(with(swizzle, 2), CUDA_SUCCESS);
    EXPECT_EQ(with(fill, 1), CUDA_SUCCESS);
    type = kUint8;
    EXPECT_EQ(with(fill, 1), CUDA_ERROR_INVALID_VALUE);
    type = kFloat32;
    // Interleaved channels, with the codes of an H200.
    EXPECT_EQ(with(interleave, 1), CUDA_ERROR_INVALID_VALUE);  // of two dimensions
    rank = 3;
    EXPECT_EQ(with(interleave, 1), CUDA_SUCCESS);
    EXPECT_EQ(with(interleave, 3), CUDA_ERROR_INVALID_VALUE);
    interleave = 2;
    EXPECT_EQ(with(swizzle, 1), CUDA_SUCCESS);
    EXPECT_EQ(with(strides[0], std::uint64_t{272}), CUDA_ERROR_INVALID_VALUE);  // no multiple of 32
    EXPECT_EQ(with(address, std::uintptr_t{0x1010}), CUDA_ERROR_INVALID_VALUE);
    interleave = 1;
    EXPECT_EQ(with(strides[0], std::uint64_t{272}), CUDA_SUCCESS);
    EXPECT_EQ(with(strides[0], std::uint64_t{264}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TensorMaps, ofImagesAreChecked) {
    int lower[3] = {-1, -1, -1}, upper[3] = {1, 1, 1};
    const auto encoded = [&](unsigned dimensions, unsigned channels, unsigned pixels) {
        return api.cuTensorMapEncodeIm2col(&map, kFloat32, dimensions, reinterpret_cast<void*>(address), extents,
                                           strides, lower, upper, channels, pixels, steps, 0, 0, 0, 0);
    };
    EXPECT_EQ(encoded(4, 16, 64), CUDA_SUCCESS);
    EXPECT_EQ(encoded(2, 16, 64), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(encoded(4, 260, 64), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(encoded(4, 16, 1025), CUDA_ERROR_INVALID_VALUE);
    lower[0] = -17;
    EXPECT_EQ(encoded(4, 16, 64), CUDA_SUCCESS);
    EXPECT_EQ(encoded(5, 16, 64), CUDA_ERROR_INVALID_VALUE);  // -16 to 15
}

TEST_F(TensorMaps, areParametersOfKernels) {
    CUmodule module = nullptr;
    CUfunction corner = nullptr;
    ASSERT_EQ(api.cuModuleLoadData(&module, kTensorKernel), CUDA_SUCCESS) << simulatorApi().lastError();
    ASSERT_EQ(api.cuModuleGetFunction(&corner, module, "corner"), CUDA_SUCCESS);
    std::vector<std::uint32_t> data(64 * 32);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint32_t>(i * 3);
    const CUdeviceptr tensor = allocate(data.size() * 4);
    CUdeviceptr out = allocate(256);
    ASSERT_EQ(api.cuMemcpyHtoD(tensor, data.data(), data.size() * 4), CUDA_SUCCESS);
    ASSERT_EQ(tiled(&map), CUDA_SUCCESS);
    ASSERT_EQ(api.cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(tensor + 8)), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(tensor)), CUDA_SUCCESS);
    void* parameters[] = {&map, &out};
    ASSERT_EQ(api.cuLaunchKernel(corner, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
    const auto box = download<std::uint32_t>(out, 64);
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(box[i], ((2 + i / 16) * 64 + 4 + i % 16) * 3) << i;
}

}  // namespace
}  // namespace bulkhead::driver
