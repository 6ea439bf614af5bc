#include "support.h"

namespace bulkhead::driver {
namespace {

using Contexts = DriverTest;

TEST_F(Contexts, aStackOfContextsGivesBackTheOneBefore) {
    CUcontext second = nullptr, now = nullptr, popped = nullptr;
    ASSERT_EQ(api.cuCtxCreate(&second, 0, device), CUDA_SUCCESS);  // creating makes it current
    EXPECT_EQ(api.cuCtxGetCurrent(&now), CUDA_SUCCESS);
    EXPECT_EQ(now, second);
    EXPECT_EQ(api.cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    EXPECT_EQ(popped, second);
    EXPECT_EQ(api.cuCtxGetCurrent(&now), CUDA_SUCCESS);
    EXPECT_EQ(now, context);
    EXPECT_EQ(api.cuCtxDestroy(second), CUDA_SUCCESS);
}

TEST_F(Contexts, aDestroyedContextIsSaidToBeDestroyed) {
    CUcontext second = nullptr;
    ASSERT_EQ(api.cuCtxCreate(&second, 0, device), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxPushCurrent(second), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxDestroy(second), CUDA_SUCCESS);  // takes the top away, not what lies below
    CUdeviceptr p = 0;
    EXPECT_EQ(api.cuMemAlloc(&p, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(api.cuCtxSetCurrent(second), CUDA_SUCCESS);  // as a real driver has it: only using it fails
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(api.cuCtxSetCurrent(reinterpret_cast<CUcontext>(&p)), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(api.cuCtxPopCurrent(&second), CUDA_SUCCESS);
}

TEST_F(Contexts, withoutOneNothingCanBeAllocated) {
    api.cuCtxSetCurrent(nullptr);
    CUdeviceptr p = 0;
    EXPECT_EQ(api.cuMemAlloc(&p, 16), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Contexts, destroyingOneFreesItsMemory) {
    std::size_t before = 0, with = 0, after = 0, total = 0;
    api.cuMemGetInfo(&before, &total);
    CUcontext second = nullptr;
    ASSERT_EQ(api.cuCtxCreate(&second, 0, device), CUDA_SUCCESS);
    allocate(64 << 20);
    api.cuMemGetInfo(&with, &total);
    api.cuCtxDestroy(second);
    api.cuMemGetInfo(&after, &total);
    EXPECT_EQ(before - with, std::size_t{64} << 20);
    EXPECT_EQ(after, before);
}

TEST_F(Contexts, theLastReleaseEndsThePrimaryContext) {
    unsigned flags = 0;
    int active = -1;
    EXPECT_EQ(api.cuDevicePrimaryCtxGetState(device, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 1);
    EXPECT_EQ(api.cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
    EXPECT_EQ(api.cuDevicePrimaryCtxGetState(device, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
    EXPECT_EQ(api.cuDevicePrimaryCtxRelease(device), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Contexts, aFaultStaysUntilThePrimaryContextIsReset) {
    ASSERT_EQ(launch("wild", allocate(64), 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUdeviceptr p = 0;
    EXPECT_EQ(api.cuMemAlloc(&p, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_NE(simulatorApi().lastError().find("wild"), std::string::npos) << simulatorApi().lastError();
    ASSERT_EQ(api.cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
    ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemAlloc(&p, 16), CUDA_SUCCESS);
}

TEST_F(Contexts, aFaultOfOneLeavesAnotherAlone) {
    CUcontext second = nullptr;
    ASSERT_EQ(api.cuCtxCreate(&second, 0, device), CUDA_SUCCESS);
    CUmodule own = nullptr;
    ASSERT_EQ(api.cuModuleLoadData(&own, kKernels), CUDA_SUCCESS);
    CUfunction wild = nullptr;
    ASSERT_EQ(api.cuModuleGetFunction(&wild, own, "wild"), CUDA_SUCCESS);
    CUdeviceptr p = allocate(64);
    void* parameters[] = {&p};
    ASSERT_EQ(api.cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    api.cuCtxDestroy(second);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(Contexts, aFunctionOfAnotherContextCannotBeLaunched) {
    CUfunction twice = function("twice");
    CUcontext second = nullptr;
    ASSERT_EQ(api.cuCtxCreate(&second, 0, device), CUDA_SUCCESS);
    CUdeviceptr p = allocate(256);
    void* parameters[] = {&p};
    EXPECT_EQ(api.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_ERROR_INVALID_HANDLE);
    api.cuCtxDestroy(second);
}

TEST_F(Contexts, addressesOfTwoContextsDiffer) {
    const CUdeviceptr first = allocate(1 << 20);
    CUcontext second = nullptr;
    ASSERT_EQ(api.cuCtxCreate(&second, 0, device), CUDA_SUCCESS);
    EXPECT_NE(allocate(1 << 20), first);
    // Unified addressing: a pointer of the other context is known for what it is.
    CUcontext owner = nullptr;
    EXPECT_EQ(api.cuPointerGetAttribute(&owner, 1, first), CUDA_SUCCESS);
    EXPECT_EQ(owner, context);
    api.cuCtxDestroy(second);
}

TEST_F(Contexts, limitsAreRememberedAndOthersRefused) {
    std::size_t value = 0;
    EXPECT_EQ(api.cuCtxSetLimit(2, 123 << 20), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxGetLimit(&value, 2), CUDA_SUCCESS);
    EXPECT_EQ(value, std::size_t{123} << 20);
    EXPECT_EQ(api.cuCtxSetLimit(7, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
    EXPECT_EQ(api.cuCtxSetLimit(77, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Contexts, concurrentContextsRunSideBySideAndOthersTakeTurns) {
    // Two kernels of one block each, in two contexts: beside each other they take as long as one.
    const auto elapsed = [&](bool concurrent) {
        CUcontext both[2];
        std::vector<sim::LaunchId> ids[2];
        for (CUcontext& made : both) {
            EXPECT_EQ(simulatorApi().createContext(&made, device, concurrent), CUDA_SUCCESS);
            api.cuCtxSetCurrent(made);
            simulatorApi().keepLaunches(true);
            CUmodule own = nullptr;
            CUfunction f = nullptr;
            api.cuModuleLoadData(&own, kKernels);
            api.cuModuleGetFunction(&f, own, "spin");
            CUdeviceptr p = allocate(4);
            unsigned rounds = 1'000;
            void* parameters[] = {&p, &rounds};
            EXPECT_EQ(api.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
        }
        Cycles started[2], ended[2];
        for (int i = 0; i < 2; ++i) {
            api.cuCtxSetCurrent(both[i]);
            EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
            EXPECT_EQ(simulatorApi().launches(&ids[i]), CUDA_SUCCESS);
            started[i] = machine().record(ids[i].at(0)).started;
            ended[i] = machine().record(ids[i].at(0)).ended;
        }
        const bool overlap = started[1] < ended[0] && ended[1] - started[1] < 2 * (ended[0] - started[0]);
        for (CUcontext made : both) api.cuCtxDestroy(made);
        api.cuCtxSetCurrent(context);
        return overlap;
    };
    EXPECT_TRUE(elapsed(true));
    EXPECT_FALSE(elapsed(false));
}

}  // namespace
}  // namespace bulkhead::driver
