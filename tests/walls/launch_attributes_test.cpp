// Launches with attributes, and of grids that synchronise, where the driver places blocks.

#include "driver/launch_attributes.h"

#include <gtest/gtest.h>

#include "sm_sets.h"
#include "walls/context_registry.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

/// Every block waits until all have come, which ends only if all are on the GPU at once, and writes how many they were.
constexpr const char* kMeetPtx = R"(
.version 6.3
.target sm_60
.address_size 64
.visible .entry meet(.param .u64 counter, .param .u64 seen)
{
	.reg .pred %p;
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [counter];
	ld.param.u64 %rd2, [seen];
	mov.u32 %r1, %nctaid.x;
	atom.global.add.u32 %r2, [%rd1], 1;
WAIT:
	ld.volatile.global.u32 %r3, [%rd1];
	setp.lt.u32 %p, %r3, %r1;
	@%p bra WAIT;
	mov.u32 %r4, %ctaid.x;
	mul.wide.u32 %rd3, %r4, 4;
	add.u64 %rd3, %rd2, %rd3;
	st.global.u32 [%rd3], %r3;
	ret;
}
)";

constexpr unsigned kSms = 4;

class LaunchAttributes : public testing::TestWithParam<BlockPlacement> {
  protected:
    static WalledGpuOptions options() {
        WalledGpuOptions options = byPages();
        options.placement = GetParam();
        return options;
    }
    void SetUp() override {
        tenant.context().makeCurrent();
        ASSERT_EQ(api.cuModuleLoadData(&module, kMeetPtx), CUDA_SUCCESS) << lastError();
        ASSERT_EQ(api.cuModuleGetFunction(&meet, module, "meet"), CUDA_SUCCESS) << lastError();
    }
    CUresult launch(unsigned blocks, std::vector<CUlaunchAttribute> attributes) {
        EXPECT_EQ(api.cuMemsetD8(counter.address(), 0, 4), CUDA_SUCCESS);
        CUdeviceptr first = counter.address(), second = seen.address();
        void* parameters[] = {&first, &second};
        const CUlaunchConfig config = {
            blocks, 1, 1, 1, 1, 1, 0, nullptr, attributes.data(), static_cast<unsigned>(attributes.size())};
        return api.cuLaunchKernelEx(&config, meet, parameters, nullptr);
    }
    static CUlaunchAttribute attribute(LaunchAttribute id) {
        CUlaunchAttribute a = {};
        a.id = static_cast<CUlaunchAttributeID>(id);
        return a;
    }
    static CUlaunchAttribute cooperative() {
        CUlaunchAttribute a = attribute(LaunchAttribute::cooperative);
        a.value.cooperative = 1;
        return a;
    }
    bool placedByDriver() const { return GetParam() == BlockPlacement::driver; }

    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled{gpu, options()};
    PartitionContext tenant = walled.enclose({setOf(walled, {0, 1, 2, 3}), {0}, 64_MiB});
    const DriverApi& api = walledDriver();
    gpu::Array<std::uint32_t> counter = tenant.context().array(std::vector<std::uint32_t>(1, 0)),
                              seen = tenant.context().array(std::vector<std::uint32_t>(1024, 0));
    CUmodule module = nullptr;
    CUfunction meet = nullptr;
};

TEST_P(LaunchAttributes, GridsSynchroniseWhereTheDriverPlacesThem) {
    int can = -1, perSm = 0;
    CUdevice device = 0;
    ASSERT_EQ(api.cuCtxGetDevice(&device), CUDA_SUCCESS);
    ASSERT_EQ(api.cuDeviceGetAttribute(&can, static_cast<int>(DeviceAttribute::cooperativeLaunch), device),
              CUDA_SUCCESS);
    EXPECT_EQ(can, placedByDriver() ? 1 : 0);
    if (!placedByDriver()) {
        EXPECT_EQ(launch(kSms, {cooperative()}), CUDA_ERROR_NOT_SUPPORTED);
        return;
    }
    ASSERT_EQ(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, meet, 1, 0), CUDA_SUCCESS);
    const auto most = kSms * static_cast<unsigned>(perSm);
    ASSERT_EQ(launch(most, {cooperative()}), CUDA_SUCCESS) << lastError();
    std::vector<std::uint32_t> answers = seen.download();
    answers.resize(most);
    EXPECT_EQ(answers, std::vector<std::uint32_t>(most, most));
    // The whole GPU would have room for more.
    EXPECT_EQ(launch(most + 1, {cooperative()}), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_P(LaunchAttributes, HintsDoNotChangeALaunch) {
    CUlaunchAttribute notCooperative = cooperative(), cluster = attribute(LaunchAttribute::clusterDimension);
    notCooperative.value.cooperative = 0;
    cluster.value.clusterDim = {1, 1, 1};
    ASSERT_EQ(launch(kSms, {attribute(LaunchAttribute::ignore), attribute(LaunchAttribute::accessPolicyWindow),
                            attribute(LaunchAttribute::priority), attribute(LaunchAttribute::memorySyncDomain),
                            attribute(LaunchAttribute::programmaticSerialization), notCooperative, cluster}),
              CUDA_SUCCESS)
        << lastError();
    EXPECT_EQ(seen.download()[kSms - 1], kSms);
}

TEST_P(LaunchAttributes, WhatWouldChangeALaunchIsRefused) {
    CUlaunchAttribute cluster = attribute(LaunchAttribute::clusterDimension);
    cluster.value.clusterDim = {2, 1, 1};
    EXPECT_EQ(launch(kSms, {cluster}), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(launch(kSms, {attribute(LaunchAttribute::launchCompletionEvent)}), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(launch(kSms, {attribute(static_cast<LaunchAttribute>(77))}), CUDA_ERROR_NOT_SUPPORTED);
    CUlaunchConfig config = {};
    config.numAttrs = 1;
    EXPECT_EQ(api.cuLaunchKernelEx(&config, meet, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

/// Each block hands its number to the other one of its cluster, which writes it down.
constexpr const char* kExchangePtx = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry exchange(.param .u64 seen)
{
	.reg .b32 %r<6>;
	.reg .b64 %rd<3>;
	.shared .align 4 .u32 word;
	ld.param.u64 %rd1, [seen];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %cluster_ctarank;
	xor.b32 %r2, %r2, 1;
	mov.u32 %r3, word;
	mapa.shared::cluster.u32 %r4, %r3, %r2;
	st.shared::cluster.u32 [%r4], %r1;
	barrier.cluster.arrive;
	barrier.cluster.wait;
	ld.shared.u32 %r5, [word];
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r5;
	ret;
}
)";

TEST(ClustersInsideWalls, RunWhereTheDriverPlacesThem) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:h200");
    WalledGpuOptions options;
    options.coloring = Coloring::sides;
    options.placement = BlockPlacement::driver;
    options.memory = 16_MiB;
    WalledGpu walled(gpu, options);
    const SmSet inside = setOf(walled, {0, 1, 2, 3});
    PartitionContext tenant = walled.enclose({inside, {0}, 4_MiB});
    tenant.context().makeCurrent();
    const DriverApi& api = walledDriver();
    CUmodule module = nullptr;
    CUfunction exchange = nullptr;
    ASSERT_EQ(api.cuModuleLoadData(&module, kExchangePtx), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuModuleGetFunction(&exchange, module, "exchange"), CUDA_SUCCESS) << lastError();

    constexpr unsigned kBlocks = 64;
    auto seen = tenant.context().array(std::vector<std::uint32_t>(kBlocks, 99));
    CUdeviceptr address = seen.address();
    void* parameters[] = {&address};
    CUlaunchAttribute pairs = {};
    pairs.id = static_cast<CUlaunchAttributeID>(LaunchAttribute::clusterDimension);
    pairs.value.clusterDim = {2, 1, 1};
    const CUlaunchConfig config = {kBlocks, 1, 1, 1, 1, 1, 0, nullptr, &pairs, 1};
    int clusters = 0, perSm = 0;
    ASSERT_EQ(api.cuOccupancyMaxActiveClusters(&clusters, exchange, &config), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, exchange, 1, 0), CUDA_SUCCESS) << lastError();
    EXPECT_GT(clusters, 0);
    EXPECT_LE(2 * clusters, 4 * perSm) << "as many as the partition has room for, not the GPU";
    ASSERT_EQ(api.cuLaunchKernelEx(&config, exchange, parameters, nullptr), CUDA_SUCCESS) << lastError();
    const std::vector<std::uint32_t> found = seen.download();
    for (unsigned block = 0; block < kBlocks; ++block) EXPECT_EQ(found[block], block ^ 1) << block;
    EXPECT_EQ(tenant.strayBlocks(), 0);
}

INSTANTIATE_TEST_SUITE_P(Placements, LaunchAttributes, testing::Values(BlockPlacement::blocks, BlockPlacement::driver),
                         [](const auto& info) { return info.param == BlockPlacement::driver ? "driver" : "blocks"; });

}  // namespace
}  // namespace bulkhead::walls
