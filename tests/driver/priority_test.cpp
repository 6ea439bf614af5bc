#include "driver/support.h"

namespace bulkhead::driver {
namespace {

/// Blocks of so many threads that two fill an SM: a GTX 1080 has 20 SMs of 2048 threads, so 40 run at once.
constexpr unsigned kThreads = 1024, kAtOnce = 40, kWaves = 8;

class Priorities : public DriverTest {
  protected:
    CUstream withPriority(int priority) const {
        CUstream made = nullptr;
        EXPECT_EQ(api.cuStreamCreateWithPriority(&made, 1, priority), CUDA_SUCCESS);
        return made;
    }
    CUresult fill(CUdeviceptr p, unsigned blocks, CUstream on) const {
        unsigned rounds = 100;
        void* parameters[] = {&p, &rounds};
        return api.cuLaunchKernel(function("spin"), blocks, 1, 1, kThreads, 1, 1, 0, on, parameters, nullptr);
    }
    /// How much of the time of a grid of eight waves has passed when one of a single wave, launched behind it in
    /// another stream, has ended.
    template <class Launch>
    double shareOfTime(CUstream large, CUstream small, Launch&& launchSmall) const {
        const CUdeviceptr p = allocate(4);
        CUevent begin = event(), largeEnd = event(), smallEnd = event();
        EXPECT_EQ(api.cuEventRecord(begin, large), CUDA_SUCCESS);
        EXPECT_EQ(fill(p, kAtOnce * kWaves, large), CUDA_SUCCESS);
        EXPECT_EQ(api.cuEventRecord(largeEnd, large), CUDA_SUCCESS);
        launchSmall(p, small);
        EXPECT_EQ(api.cuEventRecord(smallEnd, small), CUDA_SUCCESS);
        EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
        return seconds(begin, smallEnd) / seconds(begin, largeEnd);
    }
    auto kernel() const {
        return [this](CUdeviceptr p, CUstream on) { EXPECT_EQ(fill(p, kAtOnce, on), CUDA_SUCCESS); };
    }
};

// Nine waves in all. Without priorities the small grid is the ninth. With one, it is the second, or, where the large
// one had not filled the GPU yet, the first; a third of the time is three waves.
TEST_F(Priorities, ofStreamsDecideWhoseBlocksAreNext) {
    EXPECT_GE(shareOfTime(withPriority(0), withPriority(0), kernel()), 1.0);
    EXPECT_LT(shareOfTime(withPriority(0), withPriority(-1), kernel()), 1.0 / 3);
    EXPECT_GE(shareOfTime(withPriority(-1), withPriority(0), kernel()), 1.0);
}

TEST_F(Priorities, ofALaunchStandBeforeTheStreams) {
    const auto launch = [this](int priority) {
        return [this, priority](CUdeviceptr p, CUstream on) {
            unsigned rounds = 100;
            void* parameters[] = {&p, &rounds};
            CUlaunchAttribute attribute = {};
            attribute.id = 8;
            attribute.value.priority = priority;
            const CUlaunchConfig config = {kAtOnce, 1, 1, kThreads, 1, 1, 0, on, &attribute, 1};
            EXPECT_EQ(api.cuLaunchKernelEx(&config, function("spin"), parameters, nullptr), CUDA_SUCCESS);
        };
    };
    EXPECT_LT(shareOfTime(withPriority(0), withPriority(0), launch(-1)), 1.0 / 3);
    EXPECT_GE(shareOfTime(withPriority(0), withPriority(-1), launch(0)), 1.0);
}

TEST_F(Priorities, ofGraphsAreThoseOfTheirStreamOrOfTheirNodes) {
    const CUdeviceptr p = allocate(4);
    CUstream urgent = withPriority(-1);
    CUgraph graph = nullptr;
    ASSERT_EQ(api.cuStreamBeginCapture(urgent, 2), CUDA_SUCCESS);
    ASSERT_EQ(fill(p, kAtOnce, urgent), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamEndCapture(urgent, &graph), CUDA_SUCCESS);
    const auto launch = [&](unsigned long long flags) {
        CUgraphExec exec = nullptr;
        EXPECT_EQ(api.cuGraphInstantiateWithFlags(&exec, graph, flags), CUDA_SUCCESS);
        return [this, exec](CUdeviceptr, CUstream on) { EXPECT_EQ(api.cuGraphLaunch(exec, on), CUDA_SUCCESS); };
    };
    constexpr unsigned long long kUseNodePriority = 8;
    EXPECT_GE(shareOfTime(withPriority(0), withPriority(0), launch(0)), 1.0);
    EXPECT_LT(shareOfTime(withPriority(0), withPriority(-1), launch(0)), 1.0 / 3);
    EXPECT_LT(shareOfTime(withPriority(0), withPriority(0), launch(kUseNodePriority)), 1.0 / 3);
}

TEST_F(Priorities, haveTheRangeOfTheGpu) {
    int least = 1, greatest = 1, supported = -1, priority = 1;
    EXPECT_EQ(api.cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
    EXPECT_EQ(least, 0);
    EXPECT_EQ(greatest, -1);
    EXPECT_EQ(api.cuDeviceGetAttribute(&supported, 78, device), CUDA_SUCCESS);
    EXPECT_EQ(supported, 1);
    EXPECT_EQ(api.cuStreamGetPriority(withPriority(-7), &priority), CUDA_SUCCESS);
    EXPECT_EQ(priority, -1);
    EXPECT_EQ(api.cuStreamGetPriority(withPriority(3), &priority), CUDA_SUCCESS);
    EXPECT_EQ(priority, 0);
}

/// An H200 said 0 to -5.
class PrioritiesOfAnH200 : public Priorities {
    arch::DeviceProfile profile() const override { return arch::findProfile("h200"); }
};

TEST_F(PrioritiesOfAnH200, haveItsRange) {
    int least = 1, greatest = 1;
    EXPECT_EQ(api.cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
    EXPECT_EQ(least, 0);
    EXPECT_EQ(greatest, -5);
}

}  // namespace
}  // namespace bulkhead::driver
