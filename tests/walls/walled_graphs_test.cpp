// Graphs of a tenant: what they compute is what the calls would have, and all of it stays inside.

#include <gtest/gtest.h>

#include <numeric>

#include "driver/driver_api.h"
#include "sm_sets.h"
#include "walls/context_registry.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

/// Every element becomes twice itself and a value more, so the order of launches shows.
constexpr const char* kPtx = R"(
.version 6.3
.target sm_60
.address_size 64
.visible .entry twiceAnd(.param .u64 array, .param .u32 count, .param .u32 value)
{
	.reg .pred %p;
	.reg .b32 %r<8>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd0, [array];
	ld.param.u32 %r0, [count];
	ld.param.u32 %r1, [value];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.u32 %r2, %r2, %r3, %r4;
	setp.ge.u32 %p, %r2, %r0;
	@%p ret;
	mul.wide.u32 %rd1, %r2, 4;
	add.u64 %rd0, %rd0, %rd1;
	ld.global.u32 %r5, [%rd0];
	add.u32 %r5, %r5, %r5;
	add.u32 %r5, %r5, %r1;
	st.global.u32 [%rd0], %r5;
	ret;
}
)";

struct Where {
    const char* name;
    const char* gpu;
    Coloring coloring;
    BlockPlacement placement;
};

void PrintTo(const Where& where, std::ostream* out) {
    *out << where.name;
}

constexpr unsigned kCount = 3000, kBlock = 128, kBlocks = (kCount + kBlock - 1) / kBlock;
constexpr unsigned kNonBlocking = 1;
constexpr CUstreamCaptureMode kGlobal = 0;

class WalledGraphsOn : public testing::TestWithParam<Where> {
  protected:
    static WalledGpuOptions options() {
        WalledGpuOptions options;
        options.coloring = GetParam().coloring;
        options.placement = GetParam().placement;
        options.memory = 16_MiB;
        return options;
    }
    void SetUp() override {
        tenant.context().makeCurrent();
        CUmodule module = nullptr;
        ASSERT_EQ(api.cuModuleLoadData(&module, kPtx), CUDA_SUCCESS) << lastError();
        ASSERT_EQ(api.cuModuleGetFunction(&twiceAnd, module, "twiceAnd"), CUDA_SUCCESS) << lastError();
        ASSERT_EQ(api.cuMemAlloc(&array, kCount * 4), CUDA_SUCCESS) << lastError();
        ASSERT_EQ(api.cuStreamCreate(&stream, kNonBlocking), CUDA_SUCCESS) << lastError();
        std::iota(in.begin(), in.end(), 1u);
    }
    void launch(CUstream in, CUdeviceptr where, unsigned value) {
        unsigned count = kCount;
        void* arguments[] = {&where, &count, &value};
        ASSERT_EQ(api.cuLaunchKernel(twiceAnd, kBlocks, 1, 1, kBlock, 1, 1, 0, in, arguments, nullptr), CUDA_SUCCESS)
            << lastError();
    }
    CUgraphExec instantiate(CUgraph graph) {
        CUgraphExec exec = nullptr;
        EXPECT_EQ(api.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS) << lastError();
        return exec;
    }
    void run(CUgraphExec exec) {
        ASSERT_EQ(api.cuGraphLaunch(exec, stream), CUDA_SUCCESS) << lastError();
        ASSERT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS) << lastError();
    }
    /// Copies in, launches twice, copies out.
    CUgraph captured(unsigned first, unsigned second) {
        CUgraph graph = nullptr;
        EXPECT_EQ(api.cuStreamBeginCapture(stream, kGlobal), CUDA_SUCCESS) << lastError();
        EXPECT_EQ(api.cuMemcpyHtoDAsync(array, in.data(), kCount * 4, stream), CUDA_SUCCESS) << lastError();
        launch(stream, array, first);
        launch(stream, array, second);
        EXPECT_EQ(api.cuMemcpyDtoHAsync(out.data(), array, kCount * 4, stream), CUDA_SUCCESS) << lastError();
        EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS) << lastError();
        return graph;
    }
    void expectOut(unsigned first, unsigned second) {
        for (unsigned i = 0; i < kCount; ++i) ASSERT_EQ(out[i], 2 * (2 * in[i] + first) + second) << i;
    }
    CUDA_KERNEL_NODE_PARAMS kernelNode(void** arguments) const {
        CUDA_KERNEL_NODE_PARAMS node = {};
        node.func = twiceAnd;
        node.gridDimX = kBlocks;
        node.blockDimX = kBlock;
        node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
        node.kernelParams = arguments;
        return node;
    }
    CUDA_MEMCPY3D copyOut() {
        CUDA_MEMCPY3D copy = {};
        copy.srcMemoryType = 2;
        copy.srcDevice = array;
        copy.dstMemoryType = 1;
        copy.dstHost = out.data();
        copy.WidthInBytes = kCount * 4;
        copy.Height = copy.Depth = 1;
        return copy;
    }

    gpu::Gpu gpu = gpu::Gpu::open(GetParam().gpu);
    WalledGpu walled{gpu, options()};
    SmSet inside = setOf(walled, {0, 1, 2, 3});
    PartitionContext tenant = walled.enclose({inside, {0}, 4_MiB});
    const DriverApi& api = walledDriver();
    CUfunction twiceAnd = nullptr;
    CUdeviceptr array = 0;
    CUstream stream = nullptr;
    std::vector<std::uint32_t> in = std::vector<std::uint32_t>(kCount), out = std::vector<std::uint32_t>(kCount);
};

TEST_P(WalledGraphsOn, DoesWhatWasCapturedAtEveryLaunch) {
    const CUgraph graph = captured(5, 7);
    EXPECT_EQ(out, std::vector<std::uint32_t>(kCount)) << "nothing runs while it is captured";
    const CUgraphExec exec = instantiate(graph);
    run(exec);
    expectOut(5, 7);
    std::iota(in.begin(), in.end(), 1000u);
    run(exec);
    expectOut(5, 7);
    // Between other launches.
    launch(stream, array, 1);
    run(exec);
    expectOut(5, 7);
    EXPECT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_P(WalledGraphsOn, StaysInside) {
    const CUgraphExec exec = instantiate(captured(5, 7));
    run(exec);
    EXPECT_EQ(tenant.strayBlocks(), 0);
    const SmSet used = tenant.smsUsed();
    for (std::size_t sm = 0; sm < used.size(); ++sm) EXPECT_LE(used[sm], inside[sm]) << sm;
    EXPECT_NE(std::count(used.begin(), used.end(), true), 0);
}

TEST_P(WalledGraphsOn, JoinsStreamsThatACaptureForks) {
    CUdeviceptr other = 0;
    CUstream second = nullptr;
    CUevent fork = nullptr, join = nullptr;
    CUgraph graph = nullptr;
    ASSERT_EQ(api.cuMemAlloc(&other, kCount * 4), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamCreate(&second, kNonBlocking), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventCreate(&fork, 2), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventCreate(&join, 2), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamBeginCapture(stream, kGlobal), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuMemsetD32Async(array, 3, kCount, stream), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuMemsetD32Async(other, 4, kCount, stream), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuEventRecord(fork, stream), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuStreamWaitEvent(second, fork, 0), CUDA_SUCCESS) << lastError();
    launch(second, other, 1);
    launch(stream, array, 2);
    ASSERT_EQ(api.cuEventRecord(join, second), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuStreamWaitEvent(stream, join, 0), CUDA_SUCCESS) << lastError();
    // Where both are known.
    ASSERT_EQ(api.cuMemcpyDtoDAsync(array + kCount * 2, other, kCount * 2, stream), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuMemcpyDtoHAsync(out.data(), array, kCount * 4, stream), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS) << lastError();
    run(instantiate(graph));
    for (unsigned i = 0; i < kCount; ++i) ASSERT_EQ(out[i], i < kCount / 2 ? 8u : 9u) << i;
    EXPECT_EQ(tenant.strayBlocks(), 0);
}

TEST_P(WalledGraphsOn, TakesNodesByHand) {
    CUgraph graph = nullptr;
    CUgraphNode fill = nullptr, kernel = nullptr, copy = nullptr;
    ASSERT_EQ(api.cuGraphCreate(&graph, 0), CUDA_SUCCESS) << lastError();
    CUDA_MEMSET_NODE_PARAMS filling = {array, 0, 11, 4, kCount, 1};
    ASSERT_EQ(api.cuGraphAddMemsetNode(&fill, graph, nullptr, 0, &filling, nullptr), CUDA_SUCCESS) << lastError();
    unsigned count = kCount, value = 6;
    void* arguments[] = {&array, &count, &value};
    CUDA_KERNEL_NODE_PARAMS launching = kernelNode(arguments);
    ASSERT_EQ(api.cuGraphAddKernelNode_v2(&kernel, graph, &fill, 1, &launching), CUDA_SUCCESS) << lastError();
    value = 99;  // its arguments are those of the call
    const CUDA_MEMCPY3D copying = copyOut();
    ASSERT_EQ(api.cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &copying, nullptr), CUDA_SUCCESS) << lastError();

    const std::pair<CUgraphNode, NodeType> types[] = {
        {fill, NodeType::fill}, {kernel, NodeType::kernel}, {copy, NodeType::copy}};
    for (const auto& [node, expected] : types) {
        CUgraphNodeType type = -1;
        ASSERT_EQ(api.cuGraphNodeGetType(node, &type), CUDA_SUCCESS) << lastError();
        EXPECT_EQ(type, static_cast<CUgraphNodeType>(expected));
    }
    CUDA_KERNEL_NODE_PARAMS found = {};
    ASSERT_EQ(api.cuGraphKernelNodeGetParams_v2(kernel, &found), CUDA_SUCCESS) << lastError();
    EXPECT_EQ(found.func, twiceAnd);
    EXPECT_EQ(found.gridDimX, kBlocks);
    EXPECT_EQ(*static_cast<unsigned*>(found.kernelParams[2]), 6);

    const CUgraphExec exec = instantiate(graph);
    run(exec);
    EXPECT_EQ(out, std::vector<std::uint32_t>(kCount, 2 * 11 + 6));

    // Other arguments, in what was instantiated and in the graph itself.
    value = 8;
    filling.value = 20;
    ASSERT_EQ(api.cuGraphExecKernelNodeSetParams_v2(exec, kernel, &launching), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuGraphExecMemsetNodeSetParams(exec, fill, &filling, nullptr), CUDA_SUCCESS) << lastError();
    run(exec);
    EXPECT_EQ(out, std::vector<std::uint32_t>(kCount, 2 * 20 + 8));
    filling.value = 30;
    ASSERT_EQ(api.cuGraphMemsetNodeSetParams(fill, &filling), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuGraphKernelNodeSetParams_v2(kernel, &launching), CUDA_SUCCESS) << lastError();
    run(instantiate(graph));
    EXPECT_EQ(out, std::vector<std::uint32_t>(kCount, 2 * 30 + 8));
}

TEST_P(WalledGraphsOn, IsUpdatedByAnotherCapture) {
    const CUgraphExec exec = instantiate(captured(5, 7));
    run(exec);
    expectOut(5, 7);
    CUgraphExecUpdateResultInfo result = {};
    ASSERT_EQ(api.cuGraphExecUpdate_v2(exec, captured(50, 70), &result), CUDA_SUCCESS) << lastError();
    run(exec);
    expectOut(50, 70);
}

TEST_P(WalledGraphsOn, RefusesWhatWouldLeadOutOrBreakACapture) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    EXPECT_EQ(api.cuStreamBeginCapture(nullptr, kGlobal), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    // A kernel of the driver behind.
    CUfunction foreign = nullptr;
    CUmodule module = nullptr;
    gpu.context().makeCurrent();
    ASSERT_EQ(gpu.api().cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
    ASSERT_EQ(gpu.api().cuModuleGetFunction(&foreign, module, "twiceAnd"), CUDA_SUCCESS);
    tenant.context().makeCurrent();
    unsigned count = kCount, value = 6;
    void* arguments[] = {&array, &count, &value};
    CUDA_KERNEL_NODE_PARAMS launching = kernelNode(arguments);
    launching.func = foreign;
    ASSERT_EQ(api.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &launching), CUDA_ERROR_INVALID_HANDLE);
    CUDA_MEM_ALLOC_NODE_PARAMS allocation = {};
    EXPECT_EQ(api.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &allocation), CUDA_ERROR_NOT_SUPPORTED);
    CUgraphNodeParams any = {};
    any.type = static_cast<CUgraphNodeType>(NodeType::allocation);
    EXPECT_EQ(api.cuGraphAddNode(&node, graph, nullptr, 0, &any), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(node, nullptr);

    CUstream blocking = nullptr;
    CUdeviceptr address = 0;
    ASSERT_EQ(api.cuStreamCreate(&blocking, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamBeginCapture(blocking, 2), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD32Async(array, 0, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(api.cuMemAllocAsync(&address, 64, blocking), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(lastError(), "graphs inside walls allocate and free no memory");
    launch(blocking, array, 1);
    ASSERT_EQ(api.cuStreamEndCapture(blocking, &graph), CUDA_SUCCESS) << lastError();
    // And all is as before.
    EXPECT_EQ(api.cuMemsetD32Async(array, 0, kCount, nullptr), CUDA_SUCCESS) << lastError();
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << lastError();
}

INSTANTIATE_TEST_SUITE_P(
    , WalledGraphsOn,
    testing::Values(Where{"PagesAndBlocks", "sim:gtx1080", Coloring::pages, BlockPlacement::blocks},
                    Where{"PagesAndDriver", "sim:gtx1080", Coloring::pages, BlockPlacement::driver},
                    Where{"SidesAndBlocks", "sim:h200", Coloring::sides, BlockPlacement::blocks},
                    Where{"SidesAndDriver", "sim:h200", Coloring::sides, BlockPlacement::driver}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bulkhead::walls
