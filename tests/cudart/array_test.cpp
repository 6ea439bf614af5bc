#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "cudart/runtime_calls.h"

extern "C" cudaError_t cudaMemcpy2DToArray_ptds(cudaArray_t, std::size_t, std::size_t, const void*, std::size_t,
                                                std::size_t, std::size_t, cudaMemcpyKind);
extern "C" cudaError_t cudaMemcpy2DFromArrayAsync_ptsz(void*, std::size_t, cudaArray_const_t, std::size_t, std::size_t,
                                                       std::size_t, std::size_t, cudaMemcpyKind, cudaStream_t);

namespace {

class Arrays : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        ::setenv("BULKHEAD_GPU", "sim:gtx1080", 1);
        ASSERT_NE(::dlopen(BULKHEAD_LIBRARY_FOLDER "/libcuda.so.1", RTLD_NOW), nullptr) << ::dlerror();
    }
    ~Arrays() override { cudaGetLastError(); }

    static std::vector<int> counted(std::size_t count) {
        std::vector<int> values(count);
        std::iota(values.begin(), values.end(), 1);
        return values;
    }
    const cudaChannelFormatDesc words = {32, 0, 0, 0, cudaChannelFormatKindSigned};
};

TEST_F(Arrays, RowsGoInAndComeOut) {
    cudaArray_t one = nullptr, two = nullptr;
    ASSERT_EQ(cudaMallocArray(&one, &words, 9, 5, 0), cudaSuccess);
    ASSERT_EQ(cudaMallocArray(&two, &words, 9, 5, 0), cudaSuccess);
    const std::vector<int> values = counted(45);
    ASSERT_EQ(cudaMemcpy2DToArray_ptds(one, 0, 0, values.data(), 36, 36, 5, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy2DArrayToArray(two, 4, 0, one, 0, 1, 32, 4, cudaMemcpyDeviceToDevice), cudaSuccess);
    std::vector<int> got(45);
    ASSERT_EQ(cudaMemcpy2DFromArrayAsync_ptsz(got.data(), 36, two, 0, 0, 36, 5, cudaMemcpyDeviceToHost, nullptr),
              cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (std::size_t y = 0; y < 5; ++y)
        for (std::size_t x = 0; x < 9; ++x)
            EXPECT_EQ(got[y * 9 + x], x >= 1 && y < 4 ? values[(y + 1) * 9 + x - 1] : 0) << x << " " << y;
    EXPECT_EQ(cudaMemcpy2DToArray(one, 4, 0, values.data(), 36, 36, 5, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy2DToArray(one, 0, 0, values.data(), 32, 36, 5, cudaMemcpyHostToDevice),
              cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaFreeArray(one), cudaSuccess);
    EXPECT_EQ(cudaFreeArray(two), cudaSuccess);
    EXPECT_NE(cudaFreeArray(two), cudaSuccess);
    EXPECT_EQ(cudaFreeArray(nullptr), cudaSuccess);
}

TEST_F(Arrays, BytesRunOnFromRowToRow) {
    cudaArray_t array = nullptr;
    ASSERT_EQ(cudaMallocArray(&array, &words, 6, 4, 0), cudaSuccess);
    const std::vector<int> values = counted(15);
    // From the third texel of row 0 on: 4 texels there, a whole row, 5 of the next.
    ASSERT_EQ(cudaMemcpyToArray(array, 8, 0, values.data(), 60, cudaMemcpyHostToDevice), cudaSuccess);
    std::vector<int> all(24), some(15);
    ASSERT_EQ(cudaMemcpyFromArray(all.data(), array, 0, 0, 96, cudaMemcpyDeviceToHost), cudaSuccess);
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(all[i], i >= 2 && i < 17 ? values[i - 2] : 0);
    ASSERT_EQ(cudaMemcpyFromArray(some.data(), array, 8, 0, 60, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(some, values);
    cudaArray_t narrow = nullptr;
    ASSERT_EQ(cudaMallocArray(&narrow, &words, 4, 4, 0), cudaSuccess);
    ASSERT_EQ(cudaMemcpyArrayToArray(narrow, 4, 0, array, 8, 0, 60, cudaMemcpyDeviceToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpyFromArray(some.data(), narrow, 4, 0, 60, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(some, values);
    EXPECT_EQ(cudaFreeArray(narrow), cudaSuccess);
    EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

TEST_F(Arrays, BoxesCountTheElementsOfTheArray) {
    cudaArray_t array = nullptr;
    ASSERT_EQ(cudaMalloc3DArray(&array, &words, {5, 4, 3}, 0), cudaSuccess);
    std::vector<int> values = counted(60), got(60);
    cudaMemcpy3DParms in = {};
    in.srcPtr = {values.data(), 20, 5, 4};
    in.dstArray = array;
    in.extent = {5, 4, 3};
    in.kind = cudaMemcpyHostToDevice;
    ASSERT_EQ(cudaMemcpy3D(&in), cudaSuccess);
    cudaMemcpy3DParms out = {};
    out.srcArray = array;
    out.srcPos = {2, 1, 1};
    out.dstPtr = {got.data(), 12, 3, 2};
    out.extent = {3, 2, 2};
    out.kind = cudaMemcpyDeviceToHost;
    ASSERT_EQ(cudaMemcpy3D(&out), cudaSuccess);
    for (std::size_t z = 0; z < 2; ++z)
        for (std::size_t y = 0; y < 2; ++y)
            for (std::size_t x = 0; x < 3; ++x)
                EXPECT_EQ(got[(z * 2 + y) * 3 + x], values[((z + 1) * 4 + y + 1) * 5 + x + 2]);
    out.srcPos.x = 3;
    EXPECT_EQ(cudaMemcpy3D(&out), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

TEST_F(Arrays, LevelsOfAMipmappedArrayHalve) {
    cudaMipmappedArray_t mipmaps = nullptr;
    ASSERT_EQ(cudaMallocMipmappedArray(&mipmaps, &words, {16, 8, 0}, 9, 0), cudaSuccess);
    cudaArray_t level = nullptr;
    ASSERT_EQ(cudaGetMipmappedArrayLevel(&level, mipmaps, 4), cudaSuccess);
    cudaExtent extent = {};
    ASSERT_EQ(cudaArrayGetInfo(nullptr, &extent, nullptr, level), cudaSuccess);
    EXPECT_EQ(extent.width, 1u);
    EXPECT_EQ(extent.height, 1u);
    EXPECT_EQ(cudaGetMipmappedArrayLevel(&level, mipmaps, 5), cudaErrorInvalidValue) << "16 halves four times";
    EXPECT_EQ(cudaFreeMipmappedArray(mipmaps), cudaSuccess);
}

TEST_F(Arrays, StructuresHaveTheSizesThatProgramsWereCompiledWith) {
    // 3 address modes, filter, read mode, sRGB, 4 colors, normalized, anisotropy, mipmap filter, 3 levels, 2 flags.
    EXPECT_EQ(sizeof(cudaTextureDesc), (3 + 1 + 1 + 1 + 4 + 1 + 1 + 1 + 3 + 2) * 4u);
    EXPECT_EQ(offsetof(cudaResourceDesc, res), 8u);
    EXPECT_EQ(offsetof(cudaResourceDesc, res.pitch2D.width), 8 + 8 + 24u);
}

}  // namespace
