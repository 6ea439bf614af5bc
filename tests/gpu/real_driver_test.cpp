#include "gpu/real_driver.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "gpu/device_info.h"

namespace bulkhead::gpu {
namespace {

std::string errorWith(const char* library) {
    setenv("BULKHEAD_LIBCUDA", library, 1);
    std::string message;
    try {
        realDriver();  // a failed load is tried again at the next call
    } catch (const Error& e) {
        message = e.what();
    }
    unsetenv("BULKHEAD_LIBCUDA");
    return message;
}

TEST(RealDriver, aMissingDriverIsOneClearLine) {
    EXPECT_EQ(errorWith("/nonexistent/libcuda.so.1"), "no NVIDIA driver: /nonexistent/libcuda.so.1 cannot be loaded");
}

TEST(RealDriver, aDriverThatLacksACallIsTooOld) {
    EXPECT_EQ(errorWith("libm.so.6"), "the NVIDIA driver is too old: libm.so.6 has no cuInit");
}

/// Needs a GPU: copies there and back, and runs a kernel.
TEST(RealDriver, runsAKernel) {
    const driver::DriverApi* api = nullptr;
    try {
        api = &realDriver();
    } catch (const Error& e) {
        GTEST_SKIP() << "no GPU here: " << e.what();
    }
    const auto devices = listDevices(*api);
    ASSERT_FALSE(devices.empty());
    EXPECT_GT(devices[0].multiprocessors, 0);
    EXPECT_GT(devices[0].memoryBytes, 1_GiB);

    driver::CUcontext context = nullptr;
    check(*api, api->cuDevicePrimaryCtxRetain(&context, 0), "retain");
    check(*api, api->cuCtxSetCurrent(context), "set current");
    const char* text =
        ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry twice(.param .u64 p)\n{\n"
        ".reg .b32 %r<4>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, "
        "%tid.x;\n"
        "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; ld.global.u32 %r2, [%rd3]; add.u32 %r2, %r2, %r2;\n"
        "st.global.u32 [%rd3], %r2; ret;\n}\n";
    driver::CUmodule module = nullptr;
    driver::CUfunction function = nullptr;
    check(*api, api->cuModuleLoadData(&module, text), "load");
    check(*api, api->cuModuleGetFunction(&function, module, "twice"), "find");
    std::uint32_t values[64];
    for (std::uint32_t i = 0; i < 64; ++i) values[i] = i * 1000003u;
    driver::CUdeviceptr memory = 0;
    check(*api, api->cuMemAlloc(&memory, sizeof values), "allocate");
    check(*api, api->cuMemcpyHtoD(memory, values, sizeof values), "copy in");
    void* parameters[] = {&memory};
    check(*api, api->cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), "launch");
    check(*api, api->cuCtxSynchronize(), "wait");
    std::memset(values, 0, sizeof values);
    check(*api, api->cuMemcpyDtoH(values, memory, sizeof values), "copy out");
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(values[i], i * 2000006u);
    check(*api, api->cuMemFree(memory), "free");
    check(*api, api->cuModuleUnload(module), "unload");
    check(*api, api->cuDevicePrimaryCtxRelease(0), "release");
}

}  // namespace
}  // namespace bulkhead::gpu
