// The driver library as a program with many threads uses it, outside and inside a partition. Which of them it is, the
// process's first call decides: ctest gives each test a process of its own.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "driver/driver_api.h"
#include "isolate/leases.h"
#include "temporary_directory.h"

namespace bulkhead::driver {
#define DECLARE(name, symbol, variant, parameters, arguments) extern "C" CUresult symbol parameters;
BULKHEAD_DRIVER_CALLS(DECLARE)
#undef DECLARE
}  // namespace bulkhead::driver

namespace bulkhead::libcuda {
namespace {

using namespace driver;

constexpr int kThreads = 6, kRounds = 12;

/// Adds one to each of some numbers.
const char* const kPtx = R"(
.version 6.3
.target sm_60
.address_size 64
.visible .entry addOne(.param .u64 numbers)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [numbers];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	mul.wide.u32 %rd2, %r4, 4;
	add.u64 %rd2, %rd1, %rd2;
	ld.global.u32 %r1, [%rd2];
	add.u32 %r1, %r1, 1;
	st.global.u32 [%rd2], %r1;
	ret;
}
)";

#define EXPECT_DONE(call) EXPECT_EQ(call, CUDA_SUCCESS)

/// What one thread of a program does, from its first call to its last.
void work(unsigned seed) {
    constexpr unsigned kBlocks = 4, kBlock = 64, kNumbers = kBlocks * kBlock;
    CUdevice device = -1;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_DONE(cuInit(0));
    EXPECT_DONE(cuDeviceGet(&device, 0));
    EXPECT_DONE(cuDevicePrimaryCtxRetain(&context, device));
    EXPECT_DONE(cuCtxSetCurrent(context));
    EXPECT_DONE(cuModuleLoadData(&module, kPtx));
    EXPECT_DONE(cuModuleGetFunction(&function, module, "addOne"));
    CUstream stream = nullptr;
    CUevent event = nullptr;
    EXPECT_DONE(cuStreamCreate(&stream, seed % 2));
    EXPECT_DONE(cuEventCreate(&event, 0));
    for (unsigned round = 0; round < kRounds; ++round) {
        CUdeviceptr numbers = 0;
        EXPECT_DONE(cuMemAlloc_v2(&numbers, 4 * kNumbers));
        EXPECT_DONE(cuMemsetD32Async(numbers, seed + round, kNumbers, stream));
        void* parameters[] = {&numbers};
        EXPECT_DONE(cuLaunchKernel(function, kBlocks, 1, 1, kBlock, 1, 1, 0, stream, parameters, nullptr));
        EXPECT_DONE(cuEventRecord(event, stream));
        std::vector<unsigned> found(kNumbers);
        if (round % 2) {
            EXPECT_DONE(cuEventSynchronize(event));
            EXPECT_DONE(cuMemcpyDtoH_v2(found.data(), numbers, 4 * kNumbers));
        } else {
            EXPECT_DONE(cuMemcpyDtoHAsync_v2(found.data(), numbers, 4 * kNumbers, stream));
            EXPECT_DONE(cuStreamSynchronize(stream));
        }
        EXPECT_EQ(found, std::vector<unsigned>(kNumbers, seed + round + 1));
        EXPECT_DONE(cuMemFree_v2(numbers));
    }
    EXPECT_DONE(cuEventDestroy_v2(event));
    EXPECT_DONE(cuStreamDestroy_v2(stream));
    EXPECT_DONE(cuModuleUnload(module));
    EXPECT_DONE(cuDevicePrimaryCtxRelease_v2(device));
}

template <class Body>
void inThreads(Body body) {
    std::atomic<bool> go = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&go, &body, i] {
            go.wait(false);
            body(static_cast<unsigned>(100 * i));
        });
    go = true;
    go.notify_all();
    for (std::thread& thread : threads) thread.join();
}

int sms() {
    int count = 0;
    EXPECT_DONE(cuDeviceGetAttribute(&count, static_cast<int>(DeviceAttribute::sms), 0));
    return count;
}

TEST(Threads, BeginTogetherOnASimulatedGpu) {
    setenv("BULKHEAD_GPU", "sim:gtx480", 1);
    inThreads(work);
    EXPECT_EQ(sms(), 15);
}

TEST(Threads, BeginTogetherInsideAPartition) {
    const TemporaryDirectory folder;
    setenv("BULKHEAD_GPU", "sim:gtx1080", 1);
    setenv("BULKHEAD_LEASES", folder.path().c_str(), 1);
    setenv("BULKHEAD_PARTITION", "A", 1);
    isolate::LeaseBook book(folder.path(), {"sim:gtx1080"});
    book.setPartitions(isolate::parsePartitions("A=25%/50%,B=75%/50%"));
    inThreads(work);
    if (sms() == 15) GTEST_SKIP() << "another test of this process came first";
    EXPECT_EQ(sms(), 5);
    EXPECT_EQ(book.occupancy().holders.size(), 1u);
}

TEST(Threads, LookUpCallsTogether) {
    setenv("BULKHEAD_GPU", "sim:gtx480", 1);
    inThreads([](unsigned) {
        for (const char* name : {"cuMemAlloc", "cuLaunchKernel", "cuGetProcAddress", "cuStreamSynchronize_ptsz"}) {
            void* address = nullptr;
            EXPECT_DONE(cuGetProcAddress(name, &address, 13000, 0));
            EXPECT_NE(address, nullptr) << name;
        }
        void* address = &address;
        EXPECT_EQ(cuGetProcAddress("cuNoSuchCall", &address, 13000, 0), CUDA_ERROR_NOT_FOUND);
        EXPECT_EQ(address, nullptr);
    });
}

}  // namespace
}  // namespace bulkhead::libcuda
