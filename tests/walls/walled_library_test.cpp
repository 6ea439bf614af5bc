// Libraries of device code inside walls.

#include <gtest/gtest.h>

#include "driver/driver_api.h"
#include "sm_sets.h"
#include "walls/context_registry.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

constexpr const char* kPtx = R"(
.version 6.3
.target sm_60
.address_size 64
.visible .global .u32 number = 7;
.visible .entry write(.param .u64 target, .param .u32 value)
{
	.reg .b32 %r;
	.reg .b64 %rd;
	ld.param.u64 %rd, [target];
	ld.param.u32 %r, [value];
	st.global.u32 [%rd], %r;
	ret;
}
)";

class WalledLibrary : public testing::Test {
  protected:
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled{gpu, byPages()};
    PartitionContext tenant = walled.enclose({setOf(walled, {0, 1, 2, 3}), {0}, 16_MiB});
    const DriverApi& api = walledDriver();
};

TEST_F(WalledLibrary, IsLoadedWithoutAContextAndItsKernelsKeepWithinWalls) {
    tenant.context().makeCurrent();
    CUdevice device = 0;
    ASSERT_EQ(api.cuCtxGetDevice(&device), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(api.cuCtxGetCurrent(&context), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    CUlibrary library = nullptr, same = nullptr;
    CUkernel kernel = nullptr, listed = nullptr;
    ASSERT_EQ(api.cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS)
        << lastError();
    ASSERT_EQ(api.cuLibraryGetKernel(&kernel, library, "write"), CUDA_SUCCESS) << lastError();
    EXPECT_NE(api.cuLibraryGetKernel(&listed, library, "read"), CUDA_SUCCESS);
    unsigned count = 0;
    EXPECT_EQ(api.cuLibraryGetKernelCount(&count, library), CUDA_SUCCESS);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(api.cuLibraryEnumerateKernels(&listed, 1, library), CUDA_SUCCESS);
    EXPECT_EQ(listed, kernel);
    EXPECT_EQ(api.cuKernelGetLibrary(&same, kernel), CUDA_SUCCESS);
    EXPECT_EQ(same, library);
    const char* name = nullptr;
    EXPECT_EQ(api.cuKernelGetName(&name, kernel), CUDA_SUCCESS);
    EXPECT_STREQ(name, "write");
    std::size_t offset = 0, bytes = 0;
    EXPECT_EQ(api.cuKernelGetParamInfo(kernel, 1, &offset, &bytes), CUDA_SUCCESS);
    EXPECT_EQ(offset, 8u);
    EXPECT_EQ(bytes, 4u);
    EXPECT_EQ(api.cuKernelGetParamInfo(kernel, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE)
        << "what walls add is not the program's";

    ASSERT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
    CUdeviceptr target = 0, number = 0;
    ASSERT_EQ(api.cuMemAlloc(&target, 4), CUDA_SUCCESS);
    std::uint32_t value = 42, back = 0;
    void* parameters[] = {&target, &value};
    // A kernel is launched as it is, or as a function.
    ASSERT_EQ(
        api.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
        CUDA_SUCCESS)
        << lastError();
    ASSERT_EQ(api.cuMemcpyDtoH(&back, target, 4), CUDA_SUCCESS);
    EXPECT_EQ(back, 42u);
    EXPECT_EQ(tenant.strayBlocks(), 0u);
    int threads = 0;
    EXPECT_EQ(api.cuKernelGetAttribute(&threads, 0, kernel, device), CUDA_SUCCESS);
    EXPECT_GE(threads, 32);
    ASSERT_EQ(api.cuLibraryGetGlobal(&number, &bytes, library, "number"), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 4u);
    ASSERT_EQ(api.cuMemcpyDtoH(&back, number, 4), CUDA_SUCCESS);
    EXPECT_EQ(back, 7u);
    EXPECT_EQ(api.cuLibraryUnload(library), CUDA_SUCCESS);
    EXPECT_NE(api.cuLibraryUnload(library), CUDA_SUCCESS);
}

TEST_F(WalledLibrary, OfMachineCodeAloneIsRefused) {
    CUlibrary library = nullptr;
    const char elf[64] =
        "\x7f"
        "ELF";
    EXPECT_EQ(api.cuLibraryLoadData(&library, elf, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_ERROR_NO_BINARY_FOR_GPU);
}

}  // namespace
}  // namespace bulkhead::walls
