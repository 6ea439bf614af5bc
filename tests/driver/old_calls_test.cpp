#include "driver/support.h"

namespace bulkhead::driver {
namespace {

class OldCalls : public DriverTest {};

TEST_F(OldCalls, tellWhatAttributesTell) {
    int major = 0, minor = 0, value = 0;
    EXPECT_EQ(api.cuDeviceComputeCapability(&major, &minor, device), CUDA_SUCCESS);
    EXPECT_EQ(major * 10 + minor, 61);
    CUdevprop properties = {};
    EXPECT_EQ(api.cuDeviceGetProperties(&properties, device), CUDA_SUCCESS);
    EXPECT_EQ(properties.maxThreadsPerBlock, 1024);
    EXPECT_EQ(properties.maxThreadsDim[2], 64);
    EXPECT_EQ(properties.maxGridSize[1], 65535);
    EXPECT_EQ(properties.sharedMemPerBlock, 48 << 10);
    EXPECT_EQ(properties.SIMDWidth, 32);
    EXPECT_EQ(api.cuDeviceGetAttribute(&value, 13, device), CUDA_SUCCESS);
    EXPECT_EQ(properties.clockRate, value);
    EXPECT_EQ(properties.textureAlign, 512);
    EXPECT_EQ(api.cuDeviceComputeCapability(&major, &minor, device + 100), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(api.cuDeviceGetProperties(&properties, device + 100), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(OldCalls, makeALaunchOfManyParts) {
    CUfunction add = function("add");
    CUdeviceptr to = allocate(8);
    unsigned long long large = 1'000'000'000'000;
    unsigned char small = 7;
    ASSERT_EQ(api.cuFuncSetBlockShape(add, 1, 1, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuFuncSetSharedSize(add, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuParamSetv(add, 0, &to, sizeof to), CUDA_SUCCESS);
    ASSERT_EQ(api.cuParamSetv(add, 8, &small, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuParamSetv(add, 16, &large, sizeof large), CUDA_SUCCESS);
    ASSERT_EQ(api.cuParamSetSize(add, 24), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLaunch(add), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(download<unsigned long long>(to, 1)[0], large + small);
}

TEST_F(OldCalls, launchGridsOfTwoDimensions) {
    CUfunction where = function("where");
    CUdeviceptr to = upload<unsigned>({99, 99, 99});
    ASSERT_EQ(api.cuFuncSetBlockShape(where, 32, 1, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuParamSeti(where, 0, static_cast<unsigned>(to)), CUDA_SUCCESS);
    ASSERT_EQ(api.cuParamSeti(where, 4, static_cast<unsigned>(to >> 32)), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLaunchGridAsync(where, 2, 1, stream(0)), CUDA_SUCCESS) << simulatorApi().lastError();
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    const std::vector<unsigned> sms = download<unsigned>(to, 3);
    EXPECT_LT(sms[0], 20u);
    EXPECT_LT(sms[1], 20u);
    EXPECT_EQ(sms[2], 99u);
}

TEST_F(OldCalls, refuseWhatALaunchRefuses) {
    CUfunction twice = function("twice");
    EXPECT_EQ(api.cuFuncSetBlockShape(twice, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuLaunchGrid(twice, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuLaunch(twice), CUDA_ERROR_INVALID_VALUE);  // its parameter is missing
    EXPECT_EQ(api.cuParamSetv(twice, -1, &twice, 8), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuParamSetSize(twice, 1u << 20), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(OldCalls, countTheUsersOfAContext) {
    CUcontext made = nullptr, attached = nullptr, now = nullptr;
    ASSERT_EQ(api.cuCtxCreate_v1(&made, 0, device), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxAttach(&attached, 0), CUDA_SUCCESS);
    EXPECT_EQ(attached, made);
    EXPECT_EQ(api.cuCtxDetach(made), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxGetCurrent(&now), CUDA_SUCCESS);
    EXPECT_EQ(now, made);
    EXPECT_EQ(api.cuCtxDetach(made), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxGetCurrent(&now), CUDA_SUCCESS);
    EXPECT_NE(now, made);
    EXPECT_EQ(api.cuCtxAttach(&attached, 1), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace bulkhead::driver
