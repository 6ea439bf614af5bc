#include <atomic>
#include <thread>

#include "support.h"

namespace bulkhead::driver {
namespace {

using Streams = DriverTest;

TEST_F(Streams, theDefaultStreamWaitsForBlockingOnesOnly) {
    const CUdeviceptr p = allocate(64);
    const CUstream blocking = stream(0), free = stream(1);
    const CUevent onBlocking = event(), onFree = event(), onDefault = event();
    ASSERT_EQ(spin(p, 2000, blocking), CUDA_SUCCESS);
    ASSERT_EQ(spin(p + 4, 20000, free), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(onBlocking, blocking), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(onFree, free), CUDA_SUCCESS);
    ASSERT_EQ(spin(p + 8, 1, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(onDefault, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_GT(seconds(onBlocking, onDefault), 0);
    EXPECT_LT(seconds(onFree, onDefault), 0);
}

TEST_F(Streams, aSynchronousCopyLeavesNonBlockingStreamsRunning) {
    const CUdeviceptr p = allocate(64);
    const CUstream free = stream(1);
    ASSERT_EQ(spin(p, 200000, free), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(p + 8, 1).size(), 1u);
    EXPECT_EQ(api.cuStreamQuery(free), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(api.cuStreamSynchronize(free), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamQuery(free), CUDA_SUCCESS);
}

TEST_F(Streams, aStreamWaitsForTheRecordThatWasLastWhenItWasTold) {
    const CUdeviceptr p = allocate(64);
    const CUstream first = stream(1), second = stream(1);
    const CUevent gate = event(), early = event(), late = event();
    ASSERT_EQ(spin(p, 100, first), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(gate, first), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamWaitEvent(second, gate, 0), CUDA_SUCCESS);
    ASSERT_EQ(spin(p, 50000, first), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(gate, first), CUDA_SUCCESS);
    ASSERT_EQ(spin(p + 4, 1, second), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(early, second), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(late, first), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_GT(seconds(early, late), 0);
}

TEST_F(Streams, pollingLetsTimePass) {
    const CUdeviceptr p = allocate(4);
    const CUstream s = stream(1);
    const CUevent end = event();
    ASSERT_EQ(spin(p, 20000, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(end, s), CUDA_SUCCESS);
    int looks = 0;
    CUresult answer = CUDA_ERROR_NOT_READY;
    while ((answer = api.cuEventQuery(end)) == CUDA_ERROR_NOT_READY && looks < 100'000) ++looks;
    EXPECT_EQ(answer, CUDA_SUCCESS);
    EXPECT_GT(looks, 0);
}

TEST_F(Streams, waitingForAnEventDoesNotWaitForWhatFollows) {
    const CUdeviceptr p = allocate(8);
    const CUstream s = stream(1);
    const CUevent middle = event();
    ASSERT_EQ(spin(p, 10, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(middle, s), CUDA_SUCCESS);
    ASSERT_EQ(spin(p + 4, 200000, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventSynchronize(middle), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
}

TEST_F(Streams, hostFunctionsRunInOrderAndMayNotCallTheDriver) {
    struct Seen {
        const DriverApi* api;
        CUdeviceptr p;
        unsigned before = 0;
        CUresult inside = CUDA_SUCCESS;
    } seen = {&api, upload<unsigned>({3}), 0, CUDA_SUCCESS};
    const CUstream s = stream(1);
    void* pinned = nullptr;
    ASSERT_EQ(api.cuMemAllocHost(&pinned, 4), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", seen.p, 1, 1, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyDtoHAsync(pinned, seen.p, 4, s), CUDA_SUCCESS);
    std::pair<Seen*, void*> both = {&seen, pinned};
    ASSERT_EQ(api.cuLaunchHostFunc(
                  s,
                  [](void* data) {
                      auto& [out, memory] = *static_cast<std::pair<Seen*, void*>*>(data);
                      out->before = *static_cast<unsigned*>(memory);
                      CUdeviceptr unused = 0;
                      out->inside = out->api->cuMemAlloc(&unused, 16);
                  },
                  &both),
              CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(seen.before, 6u);
    EXPECT_EQ(seen.inside, CUDA_ERROR_NOT_PERMITTED);
    api.cuMemFreeHost(pinned);
}

TEST_F(Streams, aCallbackLearnsItsStreamAndStatus) {
    struct Seen {
        CUstream stream = nullptr;
        CUresult status = -1;
    } seen;
    const CUstream s = stream(0);
    ASSERT_EQ(api.cuStreamAddCallback(
                  s,
                  [](CUstream on, CUresult status, void* data) {
                      *static_cast<Seen*>(data) = {on, status};
                  },
                  &seen, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(seen.stream, s);
    EXPECT_EQ(seen.status, CUDA_SUCCESS);
}

TEST_F(Streams, eachThreadHasADefaultStreamOfItsOwn) {
    unsigned long long here = 0, again = 0, there = 0, legacy = 0;
    EXPECT_EQ(api.cuStreamGetId(kPerThreadStream, &here), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamGetId(kPerThreadStream, &again), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamGetId(kLegacyStream, &legacy), CUDA_SUCCESS);
    std::thread([&] {
        api.cuCtxSetCurrent(context);
        api.cuStreamGetId(kPerThreadStream, &there);
    }).join();
    EXPECT_EQ(here, again);
    EXPECT_NE(here, there);
    EXPECT_NE(here, legacy);
}

TEST_F(Streams, perThreadVariantsOfCallsUseThatStream) {
    void* address = nullptr;
    ASSERT_EQ(api.cuGetProcAddress_v2("cuStreamGetId", &address, 13000, 2, nullptr), CUDA_SUCCESS);
    const auto perThread = reinterpret_cast<decltype(api.cuStreamGetId)>(address);
    unsigned long long variant = 0, named = 0, plain = 0;
    EXPECT_EQ(perThread(nullptr, &variant), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamGetId(kPerThreadStream, &named), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamGetId(nullptr, &plain), CUDA_SUCCESS);
    EXPECT_EQ(variant, named);
    EXPECT_NE(variant, plain);
}

TEST_F(Streams, eventsWithoutTimingOrRecordHaveNoTimes) {
    const CUevent untimed = event(2), timed = event(), never = event();
    ASSERT_EQ(api.cuEventRecord(untimed, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(timed, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    float ms = 0;
    EXPECT_EQ(api.cuEventElapsedTime(&ms, untimed, timed), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuEventElapsedTime(&ms, never, timed), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuEventQuery(never), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Streams, handlesOfOneKindAreNotOfAnother) {
    const CUstream s = stream(0);
    const CUevent e = event();
    EXPECT_EQ(api.cuEventRecord(reinterpret_cast<CUevent>(s), s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuStreamSynchronize(reinterpret_cast<CUstream>(e)), CUDA_ERROR_INVALID_HANDLE);
    ASSERT_EQ(api.cuStreamDestroy(s), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
    ASSERT_EQ(api.cuEventDestroy(e), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventDestroy(e), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace bulkhead::driver
