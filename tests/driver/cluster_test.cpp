// Launches of clusters: which are possible, with CUDA's codes for those that are not, and how many fit.

#include "support.h"

namespace bulkhead::driver {
namespace {

const char* const kClusterKernels = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry ranks(.param .u64 p)
{
    .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank; mad.lo.u32 %r2, %r3, 100, %r2;
    st.global.u32 [%rd3], %r2; ret;
}
.visible .entry fixed(.param .u64 p) .reqnctapercluster 4, 1, 1
{
    .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r2, %cluster_ctarank; st.global.u32 [%rd3], %r2; ret;
}
.visible .entry chosen(.param .u64 p) .explicitcluster .maxclusterrank 4
{
    ret;
}
)";

CUlaunchConfig configOf(unsigned grid, unsigned block, unsigned shared, CUlaunchAttribute& attribute, unsigned x,
                        unsigned y = 1, unsigned z = 1) {
    attribute.id = 4;
    attribute.value.clusterDim = {x, y, z};
    return {grid, 1, 1, block, 1, 1, shared, nullptr, &attribute, x ? 1u : 0u};
}

class Clusters : public DriverTest {
  protected:
    arch::DeviceProfile profile() const override { return arch::findProfile("h200"); }
    void SetUp() override {
        DriverTest::SetUp();
        ASSERT_EQ(api.cuModuleLoadData(&clusters, kClusterKernels), CUDA_SUCCESS);
    }
    CUfunction named(const char* name) const {
        CUfunction found = nullptr;
        EXPECT_EQ(api.cuModuleGetFunction(&found, clusters, name), CUDA_SUCCESS);
        return found;
    }
    CUresult launched(const char* name, unsigned grid, unsigned x, unsigned y = 1) const {
        CUlaunchAttribute attribute = {};
        const CUlaunchConfig config = configOf(grid, 32, 0, attribute, x, y);
        CUdeviceptr p = words;
        void* parameters[] = {&p};
        return api.cuLaunchKernelEx(&config, named(name), parameters, nullptr);
    }
    int active(unsigned shared, unsigned x, CUresult expected = CUDA_SUCCESS) const {
        CUlaunchAttribute attribute = {};
        const CUlaunchConfig config = configOf(64, 1024, shared, attribute, x);
        int clusters = -1;
        EXPECT_EQ(api.cuOccupancyMaxActiveClusters(&clusters, named("ranks"), &config), expected);
        return clusters;
    }

    CUmodule clusters = nullptr;
    CUdeviceptr words = 0;
};

TEST_F(Clusters, areLaunchedByAttributeOrAsCompiled) {
    words = allocate(4 * 16);
    ASSERT_EQ(launched("ranks", 16, 8), CUDA_SUCCESS);
    for (std::uint32_t b = 0; b < 16; ++b) EXPECT_EQ(download<std::uint32_t>(words, 16)[b], 800 + b % 8);
    ASSERT_EQ(launched("ranks", 16, 0), CUDA_SUCCESS);
    for (std::uint32_t b = 0; b < 16; ++b) EXPECT_EQ(download<std::uint32_t>(words, 16)[b], 100u);
    CUdeviceptr p = words;
    void* parameters[] = {&p};
    ASSERT_EQ(api.cuLaunchKernel(named("fixed"), 16, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    for (std::uint32_t b = 0; b < 16; ++b) EXPECT_EQ(download<std::uint32_t>(words, 16)[b], b % 4);
}

TEST_F(Clusters, thatCannotBeAreRefused) {
    words = allocate(4 * 64);
    EXPECT_EQ(launched("ranks", 15, 8), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_EQ(launched("ranks", 16, 2, 2), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_EQ(launched("ranks", 16, 16), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_EQ(launched("ranks", 16, 4, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_EQ(launched("fixed", 16, 2), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_EQ(launched("fixed", 16, 4), CUDA_SUCCESS);
    EXPECT_EQ(launched("chosen", 16, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_EQ(launched("chosen", 16, 8), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_EQ(launched("chosen", 16, 4), CUDA_SUCCESS);
    constexpr int kNonPortable = 14;
    ASSERT_EQ(api.cuFuncSetAttribute(named("ranks"), kNonPortable, 1), CUDA_SUCCESS);
    EXPECT_EQ(launched("ranks", 16, 16), CUDA_SUCCESS);
    EXPECT_EQ(launched("ranks", 64, 32), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

TEST_F(Clusters, functionsTellWhatTheyRequire) {
    constexpr int kMustBeSet = 10, kWidth = 11, kHeight = 12, kDepth = 13;
    const auto value = [&](const char* name, int attribute) {
        int found = -1;
        EXPECT_EQ(api.cuFuncGetAttribute(&found, attribute, named(name)), CUDA_SUCCESS);
        return found;
    };
    EXPECT_EQ(value("fixed", kWidth), 4);
    EXPECT_EQ(value("fixed", kHeight), 1);
    EXPECT_EQ(value("ranks", kWidth), 0);
    EXPECT_EQ(value("chosen", kMustBeSet), 1);
    EXPECT_EQ(api.cuFuncSetAttribute(named("fixed"), kWidth, 2), CUDA_ERROR_NOT_PERMITTED);
    for (const auto& [attribute, blocks] : {std::pair{kWidth, 2}, {kHeight, 1}, {kDepth, 1}})
        EXPECT_EQ(api.cuFuncSetAttribute(named("ranks"), attribute, blocks), CUDA_SUCCESS);
    words = allocate(4 * 4);
    ASSERT_EQ(launched("ranks", 4, 0), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(words, 4), (std::vector<std::uint32_t>{200, 201, 200, 201}));
    EXPECT_EQ(launched("ranks", 4, 4), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

TEST_F(Clusters, occupancyCountsThoseThatFit) {
    constexpr int kMaxDynamic = 8, kNonPortable = 14;
    ASSERT_EQ(api.cuFuncSetAttribute(named("ranks"), kMaxDynamic, 200 << 10), CUDA_SUCCESS);
    // One block an SM. Four GPCs have 18 SMs, three 16 and one 12; an H200 answers 15 and 7.
    EXPECT_EQ(active(200 << 10, 2), 66);
    EXPECT_EQ(active(200 << 10, 8), 15);
    EXPECT_EQ(active(200 << 10, 16, CUDA_ERROR_INVALID_CLUSTER_SIZE), -1);
    // Two blocks of 1024 threads an SM.
    EXPECT_EQ(active(0, 8), 2 * (36 / 8) + 5 * (32 / 8) + 16 / 8);
    CUlaunchAttribute attribute = {};
    const CUlaunchConfig config = configOf(64, 1024, 200 << 10, attribute, 0);
    int size = 0;
    EXPECT_EQ(api.cuOccupancyMaxPotentialClusterSize(&size, named("ranks"), &config), CUDA_SUCCESS);
    EXPECT_EQ(size, 8);
    ASSERT_EQ(api.cuFuncSetAttribute(named("ranks"), kNonPortable, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuOccupancyMaxPotentialClusterSize(&size, named("ranks"), &config), CUDA_SUCCESS);
    EXPECT_EQ(size, 16);
    EXPECT_EQ(active(200 << 10, 16), 7);
}

class WithoutClusters : public DriverTest {
    arch::DeviceProfile profile() const override { return arch::findProfile("v100"); }
};

TEST_F(WithoutClusters, olderGpusHaveNone) {
    int has = -1;
    EXPECT_EQ(api.cuDeviceGetAttribute(&has, 120, device), CUDA_SUCCESS);
    EXPECT_EQ(has, 0);
    CUlaunchAttribute attribute = {};
    const CUlaunchConfig config = configOf(4, 32, 0, attribute, 2);
    EXPECT_EQ(api.cuLaunchKernelEx(&config, function("bounded"), nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace bulkhead::driver
