#include <numeric>

#include "support.h"

namespace bulkhead::driver {
namespace {

using Memory = DriverTest;

TEST_F(Memory, moreThanThereIsIsOutOfMemory) {
    CUdeviceptr p = 0;
    EXPECT_EQ(api.cuMemAlloc(&p, std::size_t{1} << 40), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(api.cuMemAlloc(&p, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
    void* host = nullptr;
    EXPECT_EQ(api.cuMemAllocHost(&host, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(api.cuMemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemAlloc(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, onlyTheBeginningOfAnAllocationCanBeFreedAndOnlyOnce) {
    const CUdeviceptr p = allocate(4096);
    EXPECT_EQ(api.cuMemFree(p + 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemFree(p), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemFree(0), CUDA_SUCCESS);
}

TEST_F(Memory, anAddressLeadsToItsAllocation) {
    const CUdeviceptr p = allocate(5000);
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(api.cuMemGetAddressRange(&base, &bytes, p + 4999), CUDA_SUCCESS);
    EXPECT_EQ(base, p);
    EXPECT_EQ(bytes, 5000u);
}

TEST_F(Memory, rowsOfAPitchedAllocationBeginAligned) {
    CUdeviceptr p = 0;
    std::size_t pitch = 0;
    ASSERT_EQ(api.cuMemAllocPitch(&p, &pitch, 1000, 10, 4), CUDA_SUCCESS);
    EXPECT_EQ(pitch, 1024u);
    EXPECT_EQ(api.cuMemsetD8(p, 1, pitch * 10), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemAllocPitch(&p, &pitch, 1000, 10, 3), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, kernelsAndHostSeeTheSameManagedBytes) {
    CUdeviceptr p = 0;
    ASSERT_EQ(api.cuMemAllocManaged(&p, 64 * sizeof(unsigned), 1), CUDA_SUCCESS);
    auto* values = reinterpret_cast<unsigned*>(p);
    std::iota(values, values + 64, 0u);
    ASSERT_EQ(launch("twice", p, 1, 64), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
    for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(values[i], 2 * i);
    int isManaged = 0;
    EXPECT_EQ(api.cuPointerGetAttribute(&isManaged, 8, p), CUDA_SUCCESS);
    EXPECT_EQ(isManaged, 1);
    EXPECT_EQ(api.cuMemFree(p), CUDA_SUCCESS);
    EXPECT_EQ(api.cuPointerGetAttribute(&isManaged, 8, p), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, aManagedVariableIsTheHostsToo) {
    const char* const text =
        ".version 6.0\n.target sm_60\n.address_size 64\n"
        ".visible .global .attribute(.managed) .align 4 .u32 shared = 5;\n"
        ".visible .entry raise()\n{\n.reg .b32 %r<2>;\n"
        "ld.global.u32 %r1, [shared]; add.u32 %r1, %r1, 2; st.global.u32 [shared], %r1; ret;\n}\n";
    CUlibrary library = nullptr;
    ASSERT_EQ(api.cuLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    ASSERT_EQ(api.cuLibraryGetManaged(&address, nullptr, library, "shared"), CUDA_SUCCESS)
        << simulatorApi().lastError();
    auto& value = *reinterpret_cast<unsigned*>(address);
    EXPECT_EQ(value, 5u);
    value = 40;
    CUkernel raise = nullptr;
    ASSERT_EQ(api.cuLibraryGetKernel(&raise, library, "raise"), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLaunchKernel(reinterpret_cast<CUfunction>(raise), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(value, 42u);
    EXPECT_EQ(api.cuLibraryUnload(library), CUDA_SUCCESS);
}

TEST_F(Memory, managedMemoryTakesDeviceMemoryAndPinnedDoesNot) {
    std::size_t before = 0, after = 0;
    api.cuMemGetInfo(&before, nullptr);
    CUdeviceptr managed = 0;
    void* pinned = nullptr;
    ASSERT_EQ(api.cuMemAllocManaged(&managed, 8 << 20, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemAllocHost(&pinned, 8 << 20), CUDA_SUCCESS);
    api.cuMemGetInfo(&after, nullptr);
    EXPECT_EQ(before - after, std::size_t{8} << 20);
    EXPECT_EQ(api.cuMemFreeHost(pinned), CUDA_SUCCESS);
}

TEST_F(Memory, aKernelWritesPinnedMemoryInPlace) {
    void* pinned = nullptr;
    ASSERT_EQ(api.cuMemHostAlloc(&pinned, 32 * sizeof(unsigned), 2), CUDA_SUCCESS);
    auto* values = static_cast<unsigned*>(pinned);
    std::iota(values, values + 32, 100u);
    CUdeviceptr p = 0;
    ASSERT_EQ(api.cuMemHostGetDevicePointer(&p, pinned, 0), CUDA_SUCCESS);
    EXPECT_EQ(p, reinterpret_cast<CUdeviceptr>(pinned));
    ASSERT_EQ(launch("twice", p, 1, 32), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(values[i], 2 * (100 + i));
    EXPECT_EQ(api.cuMemFreeHost(pinned), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, registeredMemoryIsTheDevicesUntilItIsUnregistered) {
    std::vector<unsigned> own(256, 7);
    ASSERT_EQ(api.cuMemHostRegister(own.data(), own.size() * sizeof(unsigned), 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemHostRegister(own.data() + 16, 64, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ASSERT_EQ(launch("twice", reinterpret_cast<CUdeviceptr>(own.data()), 1, 256), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(own[255], 14u);
    EXPECT_EQ(api.cuMemHostUnregister(own.data()), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemHostUnregister(own.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ASSERT_EQ(launch("twice", reinterpret_cast<CUdeviceptr>(own.data()), 1, 256), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Memory, pinnedMemoryReachesContextsMadeLater) {
    void* pinned = nullptr;
    ASSERT_EQ(api.cuMemAllocHost(&pinned, 128), CUDA_SUCCESS);
    *static_cast<unsigned*>(pinned) = 21;
    CUcontext second = nullptr;
    ASSERT_EQ(api.cuCtxCreate(&second, 0, device), CUDA_SUCCESS);
    CUmodule own = nullptr;
    CUfunction twice = nullptr;
    ASSERT_EQ(api.cuModuleLoadData(&own, kKernels), CUDA_SUCCESS);
    ASSERT_EQ(api.cuModuleGetFunction(&twice, own, "twice"), CUDA_SUCCESS);
    void* parameters[] = {&pinned};
    ASSERT_EQ(api.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(*static_cast<unsigned*>(pinned), 42u);
    api.cuCtxDestroy(second);
    EXPECT_EQ(api.cuMemFreeHost(pinned), CUDA_SUCCESS);
}

TEST_F(Memory, whatAPointerIsCanBeAsked) {
    const CUdeviceptr p = allocate(100);
    int type = 0, ordinal = -1;
    EXPECT_EQ(api.cuPointerGetAttribute(&type, 2, p + 50), CUDA_SUCCESS);
    EXPECT_EQ(type, 2);
    EXPECT_EQ(api.cuPointerGetAttribute(&ordinal, 9, p), CUDA_SUCCESS);
    EXPECT_EQ(ordinal, device);
    int local = 0;
    EXPECT_EQ(api.cuPointerGetAttribute(&type, 2, reinterpret_cast<CUdeviceptr>(&local)), CUDA_ERROR_INVALID_VALUE);
    CUpointer_attribute wanted[] = {2, 9};
    void* places[] = {&type, &ordinal};
    EXPECT_EQ(api.cuPointerGetAttributes(2, wanted, places, reinterpret_cast<CUdeviceptr>(&local)), CUDA_SUCCESS);
    EXPECT_EQ(type, 0);
    EXPECT_EQ(ordinal, -2);
}

TEST_F(Memory, adviceIsForManagedMemoryOnly) {
    CUdeviceptr managed = 0;
    ASSERT_EQ(api.cuMemAllocManaged(&managed, 4096, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemAdvise(managed, 4096, 1, device), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemPrefetchAsync(managed, 4096, device, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemAdvise(allocate(4096), 4096, 1, device), CUDA_ERROR_INVALID_VALUE);
    // As on an H200.
    EXPECT_EQ(api.cuMemAdvise(managed, 4096, 1, 77), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemPrefetchAsync(managed, 4096, 77, nullptr), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(api.cuMemFree(managed), CUDA_SUCCESS);
}

TEST_F(Memory, aStreamOrderedFreeHappensInItsTurn) {
    const CUstream s = stream(1);
    std::size_t before = 0, during = 0, after = 0;
    api.cuMemGetInfo(&before, nullptr);
    CUdeviceptr p = 0;
    ASSERT_EQ(api.cuMemAllocAsync(&p, 4 << 20, s), CUDA_SUCCESS);
    ASSERT_EQ(spin(p, 100, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemFreeAsync(p, s), CUDA_SUCCESS);
    api.cuMemGetInfo(&during, nullptr);
    EXPECT_EQ(before - during, std::size_t{4} << 20);
    ASSERT_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS) << simulatorApi().lastError();
    api.cuMemGetInfo(&after, nullptr);
    EXPECT_EQ(after, before);
}

TEST_F(Memory, aPoolCountsWhatItGave) {
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(api.cuDeviceGetDefaultMemPool(&pool, device), CUDA_SUCCESS);
    CUdeviceptr p = 0;
    ASSERT_EQ(api.cuMemAllocAsync(&p, 3000, nullptr), CUDA_SUCCESS);
    std::uint64_t used = 0;
    EXPECT_EQ(api.cuMemPoolGetAttribute(pool, 7, &used), CUDA_SUCCESS);
    EXPECT_EQ(used, 3000u);
    EXPECT_EQ(api.cuMemFreeAsync(p, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemPoolGetAttribute(pool, 7, &used), CUDA_SUCCESS);
    EXPECT_EQ(used, 0u);
    EXPECT_EQ(api.cuMemPoolGetAttribute(pool, 8, &used), CUDA_SUCCESS);
    EXPECT_EQ(used, 3000u);
}

}  // namespace
}  // namespace bulkhead::driver
