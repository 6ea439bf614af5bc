#include <sys/resource.h>

#include "graph_support.h"

extern "C" void __asan_init() __attribute__((weak));

namespace bulkhead::driver {
namespace {

/// The address sanitizer keeps what was freed, to find uses of it.
bool keepsFreedMemory() {
    return &__asan_init != nullptr;
}

/// Kernels that set a condition: its handle is an address with a mark in the topmost byte.
const char* const kSetting = R"(.version 6.0
.target sm_60
.address_size 64
.visible .entry countdown(.param .u64 p, .param .u64 handle)
{
    .reg .b32 %r<2>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [handle]; shl.b64 %rd2, %rd2, 8; shr.u64 %rd2, %rd2, 8;
    ld.global.u32 %r1, [%rd1]; sub.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; st.global.u32 [%rd2], %r1; ret;
}
.visible .entry set(.param .u32 value, .param .u64 handle)
{
    .reg .b32 %r<2>; .reg .b64 %rd<3>;
    ld.param.u32 %r1, [value]; ld.param.u64 %rd2, [handle]; shl.b64 %rd2, %rd2, 8; shr.u64 %rd2, %rd2, 8;
    st.global.u32 [%rd2], %r1; ret;
}
)";

class ConditionalGraphs : public GraphTest {
  protected:
    CUmodule setting = nullptr;

    void SetUp() override {
        GraphTest::SetUp();
        ASSERT_EQ(api.cuModuleLoadData(&setting, kSetting), CUDA_SUCCESS) << simulatorApi().lastError();
    }
    CUgraphConditionalHandle condition(CUgraph in, unsigned initial, unsigned flags) const {
        CUgraphConditionalHandle handle = 0;
        EXPECT_EQ(api.cuGraphConditionalHandleCreate(&handle, in, context, initial, flags), CUDA_SUCCESS);
        return handle;
    }
    template <class Argument>
    CUgraphNode calling(CUgraph in, const char* name, Argument argument, CUgraphConditionalHandle handle,
                        std::vector<CUgraphNode> after = {}) const {
        void* parameters[] = {&argument, &handle};
        CUDA_KERNEL_NODE_PARAMS settings = kernel("twice", 1, parameters);
        EXPECT_EQ(api.cuModuleGetFunction(&settings.func, setting, name), CUDA_SUCCESS);
        CUgraphNode node = nullptr;
        EXPECT_EQ(api.cuGraphAddKernelNode_v2(&node, in, after.data(), after.size(), &settings), CUDA_SUCCESS);
        return node;
    }
    struct Made {
        CUgraphNode node = nullptr;
        std::vector<CUgraph> bodies;
    };
    Made conditional(CUgraph in, CUgraphConditionalHandle handle, CUgraphConditionalNodeType type, unsigned size,
                     std::vector<CUgraphNode> after = {}) const {
        CUgraphNodeParams settings = {};
        settings.type = 13;
        settings.conditional = {handle, type, size, nullptr, context};
        Made made;
        EXPECT_EQ(api.cuGraphAddNode_v2(&made.node, in, after.data(), nullptr, after.size(), &settings), CUDA_SUCCESS)
            << simulatorApi().lastError();
        made.bodies.assign(settings.conditional.phGraph_out, settings.conditional.phGraph_out + size);
        return made;
    }
};

TEST_F(ConditionalGraphs, aLoopWithNothingInItGoesOnWithoutTakingMemory) {
    const CUgraph g = graph();
    const CUgraphConditionalHandle handle = condition(g, 1, 1);
    const Made loop = conditional(g, handle, 1, 1);
    const CUgraphExec exec = instantiate(g);
    CUstream looping = nullptr, other = nullptr;
    ASSERT_EQ(api.cuStreamCreate(&looping, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamCreate(&other, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(exec, looping), CUDA_SUCCESS);

    // A million rounds and more while something else runs.
    const CUdeviceptr word = upload<unsigned>({1});
    const auto peakKilobytes = [] {
        rusage usage = {};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    };
    const long before = peakKilobytes();
    for (int i = 0; i < 300; ++i) {
        CUdeviceptr address = word;
        void* parameters[] = {&address};
        const CUDA_KERNEL_NODE_PARAMS settings = kernel("twice", 1, parameters);
        ASSERT_EQ(api.cuLaunchKernel(settings.func, 1, 1, 1, 1, 1, 1, 0, other, parameters, nullptr), CUDA_SUCCESS);
    }
    ASSERT_EQ(api.cuStreamSynchronize(other), CUDA_SUCCESS);
    if (!keepsFreedMemory()) {
        EXPECT_LT(peakKilobytes() - before, 20000);
    }
    EXPECT_EQ(api.cuStreamQuery(looping), CUDA_ERROR_NOT_READY);

    // The handle is an address with a mark in the topmost byte.
    const unsigned end = 0;
    ASSERT_EQ(api.cuMemcpyHtoDAsync(handle << 8 >> 8, &end, sizeof end, other), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(looping), CUDA_SUCCESS);
}

TEST_F(ConditionalGraphs, aLoopGoesOnUntilAKernelEndsIt) {
    const CUdeviceptr left = upload<unsigned>({5}), word = upload<unsigned>({1});
    const CUgraph g = graph();
    const CUgraphConditionalHandle handle = condition(g, 1, 1);
    const Made loop = conditional(g, handle, 1, 1);
    const CUgraphNode doubled = twice(loop.bodies[0], word, 1);
    calling(loop.bodies[0], "countdown", left, handle, {doubled});
    twice(g, word, 1, {loop.node});
    const CUgraphExec exec = instantiate(g);
    launchAndWait(exec);
    EXPECT_EQ(download<unsigned>(left, 1)[0], 0u);
    EXPECT_EQ(download<unsigned>(word, 1)[0], 1u << 6);
    const unsigned two = 2;
    ASSERT_EQ(api.cuMemcpyHtoD(left, &two, 4), CUDA_SUCCESS);
    launchAndWait(exec);  // the condition is 1 again
    EXPECT_EQ(download<unsigned>(word, 1)[0], 1u << 9);
}

TEST_F(ConditionalGraphs, aConditionChoosesBetweenBodies) {
    const auto chosen = [&](CUgraphConditionalNodeType type, unsigned size, unsigned value) {
        const CUdeviceptr word = upload<unsigned>({99});
        const CUgraph g = graph();
        const CUgraphConditionalHandle handle = condition(g, 0, 0);
        const CUgraphNode set = calling(g, "set", value, handle);
        const Made node = conditional(g, handle, type, size, {set});
        for (unsigned i = 0; i < size; ++i) filling(node.bodies[i], word, i, 1);
        launchAndWait(instantiate(g));
        return download<unsigned>(word, 1)[0];
    };
    EXPECT_EQ(chosen(0, 1, 7), 0u);
    EXPECT_EQ(chosen(0, 1, 0), 99u);
    EXPECT_EQ(chosen(0, 2, 0), 1u);
    EXPECT_EQ(chosen(2, 3, 0), 0u);
    EXPECT_EQ(chosen(2, 3, 2), 2u);
    EXPECT_EQ(chosen(2, 3, 3), 99u);
}

TEST_F(ConditionalGraphs, bodiesAreNestedAndCaptured) {
    const CUdeviceptr left = upload<unsigned>({3}), word = upload<unsigned>({1});
    const CUgraph g = graph();
    const CUgraphConditionalHandle outer = condition(g, 1, 1), inner = condition(g, 1, 1);
    const Made loop = conditional(g, outer, 1, 1);
    const Made branch = conditional(loop.bodies[0], inner, 0, 1);
    calling(loop.bodies[0], "countdown", left, outer, {branch.node});
    const CUstream s = stream(1);
    ASSERT_EQ(api.cuStreamBeginCaptureToGraph(s, branch.bodies[0], nullptr, nullptr, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", word, 1, 1, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamEndCapture(s, nullptr), CUDA_SUCCESS);  // the graph is known
    EXPECT_EQ(count(branch.bodies[0]), 1u);
    launchAndWait(instantiate(g));
    EXPECT_EQ(download<unsigned>(word, 1)[0], 8u);
}

TEST_F(ConditionalGraphs, theLawsOfConditionsAreKept) {
    const CUgraph g = graph();
    const CUgraphConditionalHandle handle = condition(g, 1, 0);
    CUgraphExec exec = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS settings = {};
    EXPECT_EQ(api.cuGraphInstantiateWithParams(&exec, g, &settings), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(settings.result_out, 5);
    CUgraphNodeParams params = {};
    CUgraphNode node = nullptr;
    params.type = 13;
    params.conditional = {handle, 1, 2, nullptr, context};
    EXPECT_EQ(api.cuGraphAddNode_v2(&node, g, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params.conditional = {handle + 1, 0, 1, nullptr, context};
    EXPECT_EQ(api.cuGraphAddNode_v2(&node, g, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    const Made made = conditional(g, handle, 0, 1);
    params.conditional = {handle, 0, 1, nullptr, context};
    EXPECT_EQ(api.cuGraphAddNode_v2(&node, g, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    const CUDA_HOST_NODE_PARAMS nothing = {[](void*) {}, nullptr};
    ASSERT_EQ(api.cuGraphAddHostNode(&node, made.bodies[0], nullptr, 0, &nothing), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphInstantiateWithFlags(&exec, g, 0), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(api.cuGraphInstantiateWithFlags(&exec, g, 4), CUDA_ERROR_NOT_SUPPORTED);
}

/// As nvcc compiles a call of it: a function that its device runtime is to bring.
const char* const kCalling = R"(.version 8.0
.target sm_60
.address_size 64
.extern .func cudaGraphSetConditional
(
    .param .b64 cudaGraphSetConditional_param_0,
    .param .b32 cudaGraphSetConditional_param_1
)
;
.visible .entry countdown(.param .u64 p, .param .u64 handle)
{
    .reg .b32 %r<2>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [handle];
    ld.global.u32 %r1, [%rd1]; sub.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;
    {
        .param .b64 param0; st.param.b64 [param0+0], %rd2;
        .param .b32 param1; st.param.b32 [param1+0], %r1;
        call.uni cudaGraphSetConditional, (param0, param1);
    }
    ret;
}
)";

TEST_F(ConditionalGraphs, takeTheValueThatCodeOfNvccSets) {
    ASSERT_EQ(api.cuModuleLoadData(&setting, kCalling), CUDA_SUCCESS) << simulatorApi().lastError();
    const CUdeviceptr left = upload<unsigned>({4}), numbers = upload<unsigned>({1});
    CUgraph outer = graph();
    const CUgraphConditionalHandle handle = condition(outer, 1, 1);
    constexpr CUgraphConditionalNodeType kWhile = 1;
    const Made loop = conditional(outer, handle, kWhile, 1);
    calling(loop.bodies[0], "countdown", left, handle, {twice(loop.bodies[0], numbers, 1)});
    launchAndWait(instantiate(outer));
    EXPECT_EQ(download<unsigned>(left, 1)[0], 0u);
    EXPECT_EQ(download<unsigned>(numbers, 1)[0], 16u);
}

TEST_F(ConditionalGraphs, endAKernelThatHasAnotherDriversHandle) {
    ASSERT_EQ(api.cuModuleLoadData(&setting, kCalling), CUDA_SUCCESS) << simulatorApi().lastError();
    CUfunction countdown = nullptr;
    ASSERT_EQ(api.cuModuleGetFunction(&countdown, setting, "countdown"), CUDA_SUCCESS);
    CUdeviceptr left = upload<unsigned>({4}), handle = 1;
    void* parameters[] = {&left, &handle};
    EXPECT_EQ(api.cuLaunchKernel(countdown, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace bulkhead::driver
