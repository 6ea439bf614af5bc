// Windows of accesses and the L2 that is set aside for them: codes and values as on an H200
// (results/h200/l2-persisting.json).

#include "support.h"

namespace bulkhead::driver {
namespace {

constexpr CUlimit kPersisting = 6;
constexpr CUlaunchAttributeID kWindow = 1, kCluster = 4;

class AccessPolicy : public DriverTest {
  protected:
    arch::DeviceProfile profile() const override { return arch::findProfile("h200"); }

    CUresult set(void* base, std::size_t bytes, float ratio, int hit, int miss) {
        CUlaunchAttributeValue value = {};
        value.accessPolicyWindow = {base, bytes, ratio, hit, miss};
        return api.cuStreamSetAttribute(nullptr, kWindow, &value);
    }
    std::size_t limit() {
        std::size_t value = 0;
        EXPECT_EQ(api.cuCtxGetLimit(&value, kPersisting), CUDA_SUCCESS);
        return value;
    }
};

TEST_F(AccessPolicy, L2IsSetAsideBySixteenths) {
    const auto step = static_cast<std::size_t>(profile().l2.bytes) / 16;
    EXPECT_EQ(limit(), 3 * step);
    ASSERT_EQ(api.cuCtxSetLimit(kPersisting, 1), CUDA_SUCCESS);
    EXPECT_EQ(limit(), step);
    EXPECT_EQ(api.cuCtxSetLimit(kPersisting, 100 << 20), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(limit(), step);
    ASSERT_EQ(api.cuCtxSetLimit(kPersisting, 0), CUDA_SUCCESS);
    EXPECT_EQ(limit(), 0u);
    EXPECT_EQ(api.cuCtxResetPersistingL2Cache(), CUDA_SUCCESS);
}

TEST_F(AccessPolicy, WindowsAreCheckedAsOnTheCard) {
    CUdeviceptr memory = 0;
    ASSERT_EQ(api.cuMemAlloc(&memory, 1 << 20), CUDA_SUCCESS);
    const auto base = reinterpret_cast<void*>(memory);
    EXPECT_EQ(set(base, 200 << 20, 1, 2, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set(base, 1 << 20, 1.5, 2, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set(base, 1 << 20, -0.5, 2, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set(base, 1 << 20, 1, 2, 2), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set(base, 1 << 20, 1, 7, 0), CUDA_SUCCESS);
    EXPECT_EQ(set(nullptr, 0, 0, 0, 0), CUDA_SUCCESS);
    CUlaunchAttributeValue value = {};
    EXPECT_EQ(api.cuStreamSetAttribute(nullptr, kCluster, &value), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuStreamSetAttribute(nullptr, kWindow, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(AccessPolicy, AStreamTellsAndPassesOnWhatItHas) {
    CUstream other = nullptr;
    ASSERT_EQ(api.cuStreamCreate(&other, 0), CUDA_SUCCESS);
    CUlaunchAttributeValue value = {};
    value.priority = 1;
    ASSERT_EQ(api.cuStreamGetAttribute(other, kWindow, &value), CUDA_SUCCESS);
    EXPECT_EQ(value.accessPolicyWindow.num_bytes, 0u);
    ASSERT_EQ(set(nullptr, 4096, 0.25, 2, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamCopyAttributes(other, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamGetAttribute(other, kWindow, &value), CUDA_SUCCESS);
    EXPECT_EQ(value.accessPolicyWindow.num_bytes, 4096u);
    EXPECT_EQ(value.accessPolicyWindow.hitRatio, 0.25f);
    EXPECT_EQ(value.accessPolicyWindow.missProp, 1);
}

class NoAccessPolicy : public DriverTest {};

TEST_F(NoAccessPolicy, OlderGpusHaveNone) {
    int most = -1;
    ASSERT_EQ(api.cuDeviceGetAttribute(&most, 108, device), CUDA_SUCCESS);
    EXPECT_EQ(most, 0);
    EXPECT_EQ(api.cuCtxSetLimit(kPersisting, 1 << 20), CUDA_ERROR_UNSUPPORTED_LIMIT);
}

}  // namespace
}  // namespace bulkhead::driver
