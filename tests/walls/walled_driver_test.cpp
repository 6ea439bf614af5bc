// The calls of the walled driver: none of them leads out, and none of them breaks what CUDA promises.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "driver/driver_api.h"
#include "sm_sets.h"
#include "walls/context_registry.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

constexpr unsigned kBlockingStream = 0, kNonBlockingStream = 1;

/// Waits for so many cycles, then writes a value.
const char* const kLateWritePtx = R"(
.version 6.3
.target sm_60
.address_size 64
.visible .entry lateWrite(.param .u64 target, .param .u32 value, .param .u64 cycles)
{
	.reg .pred %p;
	.reg .b32 %r;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd1, [target];
	ld.param.u32 %r, [value];
	ld.param.u64 %rd2, [cycles];
	mov.u64 %rd3, %clock64;
WAIT:
	mov.u64 %rd4, %clock64;
	sub.u64 %rd5, %rd4, %rd3;
	setp.lt.u64 %p, %rd5, %rd2;
	@%p bra WAIT;
	st.global.u32 [%rd1], %r;
	ret;
}
)";

/// Half of a simulated GPU, with its context current.
class WalledDriver : public testing::Test {
  protected:
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled{gpu, byPages()};
    PartitionContext tenant = walled.enclose({setOf(walled, {0, 1, 2, 3}), {0}, 256_MiB});
    const DriverApi& api = walledDriver();
    CUcontext context = nullptr;
    CUdevice device = 0;

    void SetUp() override {
        tenant.context().makeCurrent();
        ASSERT_EQ(api.cuCtxGetCurrent(&context), CUDA_SUCCESS);
        ASSERT_EQ(api.cuCtxGetDevice(&device), CUDA_SUCCESS);
    }
    CUdeviceptr allocate(std::size_t bytes) {
        CUdeviceptr address = 0;
        EXPECT_EQ(api.cuMemAlloc(&address, bytes), CUDA_SUCCESS) << lastError();
        return address;
    }
    CUstream createStream(unsigned flags) {
        CUstream stream = nullptr;
        EXPECT_EQ(api.cuStreamCreate(&stream, flags), CUDA_SUCCESS) << lastError();
        return stream;
    }
    void lateWrite(CUstream stream, CUdeviceptr target, std::uint32_t value) {
        if (!function_) {
            CUmodule module = nullptr;
            ASSERT_EQ(api.cuModuleLoadData(&module, kLateWritePtx), CUDA_SUCCESS) << lastError();
            ASSERT_EQ(api.cuModuleGetFunction(&function_, module, "lateWrite"), CUDA_SUCCESS) << lastError();
        }
        std::uint64_t cycles = 200'000;
        void* parameters[] = {&target, &value, &cycles};
        ASSERT_EQ(api.cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), CUDA_SUCCESS)
            << lastError();
    }
    std::uint32_t read(CUdeviceptr address) {
        std::uint32_t value = 0;
        EXPECT_EQ(api.cuMemcpyDtoH(&value, address, sizeof value), CUDA_SUCCESS) << lastError();
        return value;
    }

  private:
    CUfunction function_ = nullptr;
};

TEST_F(WalledDriver, GivesOutNoCallOfTheDriverBehind) {
    void* address = nullptr;
    EXPECT_NE(api.cuGetProcAddress("cuMemAlloc", &address, 13000, 0), CUDA_SUCCESS);
    EXPECT_NE(api.cuGetProcAddress_v2("cuMemAlloc", &address, 13000, 0, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(address, nullptr);
#define EXPECT_OWN(name, symbol, variant, parameters, arguments) EXPECT_NE(api.name, gpu.api().name) << #name;
    BULKHEAD_DRIVER_CALLS(EXPECT_OWN)
#undef EXPECT_OWN
}

TEST_F(WalledDriver, MakesNoOtherContext) {
    CUcontext other = nullptr;
    CUgreenCtx green = nullptr;
    CUdevResource resource = {};
    EXPECT_EQ(api.cuCtxCreate(&other, 0, device), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(api.cuCtxCreate_v3(&other, nullptr, 0, 0, device), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(api.cuCtxCreate_v4(&other, nullptr, 0, device), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(api.cuDeviceGetDevResource(device, &resource, kDevResourceSm), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(api.cuGreenCtxCreate(&green, nullptr, device, 1), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(lastError(), "cuGreenCtxCreate is not supported inside walls");
    EXPECT_EQ(other, nullptr);
    EXPECT_EQ(green, nullptr);
}

TEST_F(WalledDriver, ShowsOneDeviceOfTheSizeOfTheShare) {
    int count = 0, sms = 0, cooperative = 1;
    CUdevice first = -1, second = -1;
    ASSERT_EQ(api.cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 1);
    ASSERT_EQ(api.cuDeviceGet(&first, 0), CUDA_SUCCESS);
    EXPECT_EQ(first, device);
    EXPECT_EQ(api.cuDeviceGet(&second, 1), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(second, -1);
    // Also while no context is current, as in a program that asks before it begins.
    ASSERT_EQ(api.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuDeviceGetAttribute(&sms, static_cast<int>(DeviceAttribute::sms), first), CUDA_SUCCESS);
    EXPECT_EQ(sms, 4);
    ASSERT_EQ(api.cuDeviceGetAttribute(&cooperative, static_cast<int>(DeviceAttribute::cooperativeLaunch), first),
              CUDA_SUCCESS);
    EXPECT_EQ(cooperative, 0);
    std::size_t bytes = 0;
    ASSERT_EQ(api.cuDeviceTotalMem(&bytes, first), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 256_MiB);
}

TEST_F(WalledDriver, HasNoContextOnAnotherDevice) {
    auto other = gpu::Gpu::open("sim:gtx480");
    CUdevice elsewhere = 0;
    other.context().makeCurrent();
    ASSERT_EQ(other.api().cuCtxGetDevice(&elsewhere), CUDA_SUCCESS);
    ASSERT_NE(elsewhere, device);
    const auto untouched = reinterpret_cast<CUcontext>(std::uintptr_t{0xdead});
    CUcontext retained = untouched;
    EXPECT_EQ(api.cuDevicePrimaryCtxRetain(&retained, elsewhere), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(retained, untouched);
    int sms = 0;
    EXPECT_EQ(api.cuDeviceGetAttribute(&sms, static_cast<int>(DeviceAttribute::sms), elsewhere),
              CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(WalledDriver, TakesNoMemoryBesideTheShare) {
    CUdeviceptr address = 0;
    EXPECT_EQ(api.cuMemAlloc(&address, 257_MiB), CUDA_ERROR_OUT_OF_MEMORY);
    constexpr CUlimit kHeapBytes = 2;
    EXPECT_EQ(api.cuCtxSetLimit(kHeapBytes, 1_GiB), CUDA_ERROR_NOT_SUPPORTED);
    std::size_t pitch = 0;
    EXPECT_EQ(api.cuMemAllocPitch(&address, &pitch, std::size_t{1} << 40, std::size_t{1} << 40, 4),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemAllocPitch(&address, &pitch, ~std::size_t{0}, 1, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(address, 0u);
}

TEST_F(WalledDriver, ManagedMemoryStaysAtTheHost) {
    constexpr unsigned kGlobal = 1;
    constexpr int kIsManaged = 8, kMemoryType = 2;
    std::size_t before = 0, after = 0, total = 0;
    ASSERT_EQ(api.cuMemGetInfo(&before, &total), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    ASSERT_EQ(api.cuMemAllocManaged(&address, 64 << 10, kGlobal), CUDA_SUCCESS) << lastError();
    ASSERT_EQ(api.cuMemGetInfo(&after, &total), CUDA_SUCCESS);
    EXPECT_EQ(after, before) << "it is not of the share";
    for (const CUdeviceptr within : {address, address + 1000}) {
        int managed = 0;
        unsigned type = 0;
        ASSERT_EQ(api.cuPointerGetAttribute(&managed, kIsManaged, within), CUDA_SUCCESS) << lastError();
        EXPECT_EQ(managed, 1);
        ASSERT_EQ(api.cuPointerGetAttribute(&type, kMemoryType, within), CUDA_SUCCESS) << lastError();
        EXPECT_EQ(type, 2u);  // CU_MEMORYTYPE_DEVICE, as CUDA says of it
    }
    // Host, kernel and copies see the same words.
    auto* words = reinterpret_cast<volatile std::uint32_t*>(address);
    words[1] = 4;
    EXPECT_EQ(read(address + 4), 4u);
    lateWrite(nullptr, address, 7);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << lastError();
    EXPECT_EQ(words[0], 7u);
    ASSERT_EQ(api.cuMemsetD32(address + 8, 9, 1), CUDA_SUCCESS) << lastError();
    EXPECT_EQ(words[2], 9u);
    const CUdeviceptr other = allocate(4096);
    EXPECT_EQ(api.cuMemPrefetchAsync(address, 4096, device, nullptr), CUDA_SUCCESS) << lastError();
    EXPECT_EQ(api.cuMemPrefetchAsync(other, 4096, device, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemFree(address), CUDA_SUCCESS) << lastError();
    EXPECT_EQ(api.cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemAllocManaged(&address, 4096, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemAllocManaged(&address, 0, kGlobal), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(tenant.strayBlocks(), 0u);
}

TEST_F(WalledDriver, ResettingTheDeviceGivesTheShareBackAndKeepsTheWalls) {
    const CUdeviceptr first = allocate(200_MiB);
    createStream(kBlockingStream);
    ASSERT_EQ(api.cuDevicePrimaryCtxReset(device), CUDA_SUCCESS) << lastError();
    EXPECT_EQ(api.cuMemFree(first), CUDA_ERROR_INVALID_VALUE);
    const CUdeviceptr second = allocate(200_MiB);
    lateWrite(nullptr, second, 5);
    EXPECT_EQ(read(second), 5u);
    EXPECT_EQ(tenant.strayBlocks(), 0u);
}

TEST_F(WalledDriver, TheDefaultStreamWaitsForStreamsThatBlock) {
    const CUdeviceptr target = allocate(4);
    ASSERT_EQ(api.cuMemsetD32(target, 1, 1), CUDA_SUCCESS);
    lateWrite(createStream(kBlockingStream), target, 2);
    EXPECT_EQ(read(target), 2u);
    const CUstream gone = createStream(kBlockingStream);
    lateWrite(gone, target, 3);
    ASSERT_EQ(api.cuStreamDestroy(gone), CUDA_SUCCESS);
    EXPECT_EQ(read(target), 3u);
}

TEST_F(WalledDriver, StreamsThatBlockWaitForTheDefaultStream) {
    const CUdeviceptr target = allocate(4);
    const CUstream stream = createStream(kBlockingStream);
    lateWrite(nullptr, target, 1);
    std::uint32_t value = 0;
    ASSERT_EQ(api.cuMemcpyDtoHAsync(&value, target, sizeof value, stream), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(value, 1u);
}

TEST_F(WalledDriver, StreamsThatDoNotBlockGoOnByThemselves) {
    const CUdeviceptr target = allocate(4);
    ASSERT_EQ(api.cuMemsetD32(target, 1, 1), CUDA_SUCCESS);
    const CUstream stream = createStream(kNonBlockingStream);
    lateWrite(stream, target, 2);
    EXPECT_EQ(read(target), 1u);
    ASSERT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(read(target), 2u);
    unsigned flags = 0;
    ASSERT_EQ(api.cuStreamGetFlags(stream, &flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, kNonBlockingStream);
}

TEST_F(WalledDriver, RefusesStreamsThatItDoesNotKnow) {
    const CUstream gone = createStream(kBlockingStream);
    ASSERT_EQ(api.cuStreamDestroy(gone), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(gone), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuStreamDestroy(gone), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(WalledDriver, TellsAThreadThatItsContextWasDestroyed) {
    std::atomic<int> step = 0;
    CUresult before = CUDA_ERROR_UNKNOWN, after = CUDA_SUCCESS, chosen = CUDA_SUCCESS;
    std::thread other([&] {
        before = api.cuCtxSetCurrent(context);
        step = 1;
        step.notify_all();
        step.wait(1);
        CUdeviceptr address = 0;
        after = api.cuMemAlloc(&address, 4096);
        chosen = api.cuCtxSetCurrent(context);
    });
    step.wait(0);
    ASSERT_EQ(api.cuCtxDestroy(context), CUDA_SUCCESS);
    step = 2;
    step.notify_all();
    other.join();
    EXPECT_EQ(before, CUDA_SUCCESS);
    EXPECT_EQ(after, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(chosen, CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(WalledDriver, MayBeDestroyedWhileOtherThreadsAreAtWork) {
    std::atomic<int> working = 0;
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i)
        others.emplace_back([&] {
            ASSERT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
            CUresult result = CUDA_SUCCESS;
            for (int round = 0; result == CUDA_SUCCESS; ++round) {
                CUdeviceptr address = 0;
                CUstream stream = nullptr;
                result = api.cuMemAlloc(&address, 4096);
                if (result == CUDA_SUCCESS) result = api.cuStreamCreate(&stream, kBlockingStream);
                if (result == CUDA_SUCCESS) result = api.cuMemsetD32Async(address, 1, 1024, stream);
                if (result == CUDA_SUCCESS) result = api.cuCtxSynchronize();
                if (result == CUDA_SUCCESS) result = api.cuStreamDestroy(stream);
                if (result == CUDA_SUCCESS) result = api.cuMemFree(address);
                if (round == 2) ++working;
            }
            EXPECT_EQ(result, CUDA_ERROR_CONTEXT_IS_DESTROYED);
        });
    while (working < 3) std::this_thread::yield();
    EXPECT_EQ(api.cuCtxDestroy(context), CUDA_SUCCESS);
    for (std::thread& other : others) other.join();
}

TEST_F(WalledDriver, PassesNoHandleOfItsOwnOnToTheDriverBehind) {
    unsigned version = 0;
    unsigned long long id = 0;
    CUdevice found = -1;
    EXPECT_EQ(api.cuCtxGetApiVersion(context, &version), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxGetId(context, &id), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxGetDevice_v2(&found, context), CUDA_SUCCESS);
    EXPECT_EQ(found, device);
    EXPECT_EQ(api.cuCtxSynchronize_v2(context), CUDA_SUCCESS);
    const CUdeviceptr from = allocate(4), to = allocate(4);
    ASSERT_EQ(api.cuMemsetD32(from, 7, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyPeer(to, context, from, context, 4), CUDA_SUCCESS);
    EXPECT_EQ(read(to), 7u);
    const auto unknown = reinterpret_cast<CUcontext>(std::uintptr_t{0x1000});
    EXPECT_EQ(api.cuCtxGetApiVersion(unknown, &version), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(api.cuCtxSetCurrent(unknown), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(api.cuCtxSynchronize_v2(unknown), CUDA_ERROR_INVALID_CONTEXT);
}

TEST(WalledDriverOnTranslatedMemory, AnswersPointerAttributesInWholeWords) {
    auto gpu = gpu::Gpu::open("sim:h200");
    WalledGpuOptions options;
    options.coloring = Coloring::sides;
    options.memory = 16_MiB;
    WalledGpu walled(gpu, options);
    PartitionContext tenant = walled.enclose({{}, {1}, 4_MiB});
    const auto array = tenant.context().array<std::uint32_t>(1000);
    const DriverApi& api = walledDriver();
    enum : CUpointer_attribute { kIsManaged = 8, kDeviceOrdinal = 9, kMapped = 13 };
    for (const auto& [attribute, expected] : {std::pair(kIsManaged, 0), {kDeviceOrdinal, 0}, {kMapped, 1}}) {
        int value = 0x5a5a5a5a;
        ASSERT_EQ(api.cuPointerGetAttribute(&value, attribute, array.address()), CUDA_SUCCESS) << lastError();
        EXPECT_EQ(value, expected) << attribute;
    }
}

/// Waits until a word is not 0, for so many cycles at most, and writes what it saw last.
const char* const kAwaitPtx = R"(
.version 6.3
.target sm_60
.address_size 64
.visible .entry await(.param .u64 flag, .param .u64 seen, .param .u64 cycles)
{
	.reg .pred %p<3>;
	.reg .b32 %r;
	.reg .b64 %rd<7>;
	ld.param.u64 %rd1, [flag];
	ld.param.u64 %rd2, [seen];
	ld.param.u64 %rd3, [cycles];
	mov.u64 %rd4, %clock64;
WAIT:
	ld.global.cg.u32 %r, [%rd1];
	setp.ne.u32 %p1, %r, 0;
	@%p1 bra DONE;
	mov.u64 %rd5, %clock64;
	sub.u64 %rd6, %rd5, %rd4;
	setp.lt.u64 %p2, %rd6, %rd3;
	@%p2 bra WAIT;
DONE:
	st.global.u32 [%rd2], %r;
	ret;
}
)";

// Launches of a tenant whose blocks place themselves follow each other: a kernel that copied the word would come too
// late.
TEST(WalledDriverOnTranslatedMemory, CopiesAWordWhileAKernelWaitsForIt) {
    auto gpu = gpu::Gpu::open("sim:h200");
    WalledGpuOptions options;
    options.coloring = Coloring::sides;
    options.memory = 16_MiB;
    WalledGpu walled(gpu, options);
    PartitionContext tenant = walled.enclose({setOf(walled, {0, 1}), {1}, 4_MiB});
    gpu::Context& context = tenant.context();
    auto flag = context.array(std::vector<std::uint32_t>{0}), seen = flag;
    seen = context.array(std::vector<std::uint32_t>{0});
    gpu::Kernel kernel = context.load(kAwaitPtx).kernel("await");
    gpu::Stream stream = context.createStream();
    constexpr std::uint64_t kCycles = 1'000'000;
    kernel.launch(stream, {1}, {1}, 0, flag, seen, kCycles);
    EXPECT_EQ(flag.download(), std::vector<std::uint32_t>{0});
    flag.upload(std::vector<std::uint32_t>{5});
    stream.synchronize();
    EXPECT_EQ(seen.download(), std::vector<std::uint32_t>{5});
}

/// In a process of its own, as ctest runs it, no walls stand yet.
TEST(NoWalledDriver, AnswersBeforeThereAreWalls) {
    if (ContextRegistry::instance().inner() != nullptr) GTEST_SKIP() << "another test of this process put up walls";
    int value = 0;
    std::size_t bytes = 0;
    CUcontext context = nullptr;
    EXPECT_EQ(walledDriver().cuDeviceGetAttribute(&value, 16, 0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(walledDriver().cuDeviceTotalMem(&bytes, 0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(walledDriver().cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(walledDriver().cuMemAlloc(&bytes, 4), CUDA_ERROR_NOT_INITIALIZED);
}

}  // namespace
}  // namespace bulkhead::walls
