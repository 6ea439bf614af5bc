// One program against the table of driver calls: on the simulated driver always, on a real one where there is one.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "arch/device_profile.h"
#include "base/error.h"
#include "driver/simulated_driver.h"
#include "driver/simulator_api.h"
#include "gpu/device_info.h"
#include "gpu/real_driver.h"

namespace bulkhead::gpu {
namespace {

using driver::CUdeviceptr;
using driver::DriverApi;

/// y[i] = 2 x[i] for 64 threads; `spin` runs for a while; `wild` writes far outside.
const char* const kModule =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry twice(.param .u64 p)\n{\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
    "add.u64 %rd3, %rd1, %rd2; ld.global.u32 %r2, [%rd3]; add.u32 %r2, %r2, %r2; st.global.u32 [%rd3], %r2; ret;\n}\n"
    ".visible .entry spin(.param .u64 p, .param .u32 rounds)\n{\n.reg .pred %q; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
    "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [rounds]; mov.u32 %r2, 0;\n"
    "L: add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, %r1; @%q bra L; st.global.u32 [%rd1], %r2; ret;\n}\n"
    ".visible .entry wild(.param .u64 p)\n{\n.reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, 1; st.global.u32 [%rd1+1099511627776], %r1; ret;\n}\n";

class Driver : public ::testing::TestWithParam<const char*> {
  protected:
    const DriverApi* api = nullptr;
    driver::CUdevice device = 0;
    driver::CUcontext context = nullptr;
    driver::CUmodule module = nullptr;

    void SetUp() override {
        if (std::string(GetParam()) == "real") {
            try {
                api = &realDriver();
            } catch (const Error& e) {
                GTEST_SKIP() << "no GPU here: " << e.what();
            }
        } else {
            device = driver::simulatorApi().addDevice(arch::findProfile(GetParam()), {});
            api = &driver::simulatedDriver();
            check(*api, api->cuInit(0), "init");
        }
        check(*api, api->cuDevicePrimaryCtxRetain(&context, device), "retain");
        check(*api, api->cuCtxSetCurrent(context), "set current");
        check(*api, api->cuModuleLoadData(&module, kModule), "load");
    }
    driver::CUfunction function(const char* name) {
        driver::CUfunction f = nullptr;
        check(*api, api->cuModuleGetFunction(&f, module, name), "find");
        return f;
    }
    CUdeviceptr allocate(std::size_t bytes) {
        CUdeviceptr at = 0;
        check(*api, api->cuMemAlloc(&at, bytes), "allocate");
        return at;
    }
    void spin(CUdeviceptr at, unsigned rounds, driver::CUstream stream) {
        void* parameters[] = {&at, &rounds};
        check(*api, api->cuLaunchKernel(function("spin"), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "launch");
    }
};
INSTANTIATE_TEST_SUITE_P(Drivers, Driver, ::testing::Values("gtx1080", "h200", "real"));

TEST_P(Driver, describesItsDevices) {
    EXPECT_FALSE(listDevices(*api).empty());
    const DeviceInfo info = describeDevice(*api, device);
    EXPECT_GT(info.sms, 0);
    EXPECT_GT(info.memoryBytes, 1_GiB);
    EXPECT_GT(info.l2Bytes, 1_MiB);
    if (std::string(GetParam()) == "gtx1080") {
        EXPECT_EQ(info.name, "sim:gtx1080");
        EXPECT_EQ(info.sms, 20);
        EXPECT_EQ(info.memoryBusBits * 2 * info.memoryMHz / 8 / 1000, arch::findProfile("gtx1080").dramGBps());
    }
}

TEST_P(Driver, runsAKernelOnDataFromTheHost) {
    std::uint32_t values[64];
    for (std::uint32_t i = 0; i < 64; ++i) values[i] = i * 1000003u;
    CUdeviceptr memory = allocate(sizeof values);
    check(*api, api->cuMemcpyHtoD(memory, values, sizeof values), "copy in");
    void* parameters[] = {&memory};
    check(*api, api->cuLaunchKernel(function("twice"), 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), "launch");
    check(*api, api->cuCtxSynchronize(), "wait");
    std::memset(values, 0, sizeof values);
    check(*api, api->cuMemcpyDtoH(values, memory, sizeof values), "copy out");
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(values[i], i * 2000006u);
    check(*api, api->cuMemsetD8(memory, 0xab, 16), "set");
    check(*api, api->cuMemcpyDtoH(values, memory, sizeof values), "copy out");
    EXPECT_EQ(values[3], 0xababababu);
    EXPECT_EQ(values[4], 4 * 2000006u);
    check(*api, api->cuMemFree(memory), "free");
}

TEST_P(Driver, eventsTellHowLongAKernelTook) {
    const CUdeviceptr at = allocate(4);
    driver::CUevent begin = nullptr, middle = nullptr, end = nullptr;
    for (driver::CUevent* event : {&begin, &middle, &end}) check(*api, api->cuEventCreate(event, 0), "event");
    spin(at, 1000, nullptr);  // warm
    check(*api, api->cuEventRecord(begin, nullptr), "record");
    spin(at, 200000, nullptr);
    check(*api, api->cuEventRecord(middle, nullptr), "record");
    spin(at, 400000, nullptr);
    check(*api, api->cuEventRecord(end, nullptr), "record");
    check(*api, api->cuEventSynchronize(end), "wait");
    float first = 0, second = 0;
    check(*api, api->cuEventElapsedTime(&first, begin, middle), "elapsed");
    check(*api, api->cuEventElapsedTime(&second, middle, end), "elapsed");
    EXPECT_GT(first, 0.05f);
    EXPECT_NEAR(second / first, 2.0, 0.2);
    for (driver::CUevent event : {begin, middle, end}) check(*api, api->cuEventDestroy(event), "destroy");
}

TEST_P(Driver, streamsOverlapUnlessTheDefaultStreamComesBetween) {
    const CUdeviceptr a = allocate(4), b = allocate(4);
    driver::CUstream one = nullptr, two = nullptr;
    check(*api, api->cuStreamCreate(&one, 0), "stream");
    check(*api, api->cuStreamCreate(&two, 0), "stream");
    driver::CUevent begin = nullptr, end = nullptr;
    check(*api, api->cuEventCreate(&begin, 0), "event");
    check(*api, api->cuEventCreate(&end, 0), "event");
    const auto timed = [&](bool between) {
        check(*api, api->cuCtxSynchronize(), "wait");
        check(*api, api->cuEventRecord(begin, nullptr), "record");
        spin(a, 400000, one);
        if (between) spin(a, 1, nullptr);
        spin(b, 400000, two);
        check(*api, api->cuEventRecord(end, nullptr), "record");
        check(*api, api->cuEventSynchronize(end), "wait");
        float ms = 0;
        check(*api, api->cuEventElapsedTime(&ms, begin, end), "elapsed");
        return ms;
    };
    timed(false);  // warm
    EXPECT_NEAR(timed(true) / timed(false), 2.0, 0.3);
    check(*api, api->cuStreamDestroy(one), "destroy");
    check(*api, api->cuStreamDestroy(two), "destroy");
}

TEST_P(Driver, badCallsAnswerWithTheDriversCodes) {
    const auto name = [&](driver::CUresult result) {
        const char* text = nullptr;
        api->cuGetErrorName(result, &text);
        return std::string(text ? text : "?");
    };
    driver::CUfunction f = nullptr;
    driver::CUmodule m = nullptr;
    CUdeviceptr at = 0;
    int value = 0;
    EXPECT_EQ(name(api->cuModuleGetFunction(&f, module, "nosuch")), "CUDA_ERROR_NOT_FOUND");
    EXPECT_EQ(name(api->cuModuleLoadData(&m, ".version 6.0\n.target sm_60\n.address_size 64\nnonsense")),
              "CUDA_ERROR_INVALID_PTX");
    EXPECT_EQ(name(api->cuMemAlloc(&at, std::size_t{1} << 50)), "CUDA_ERROR_OUT_OF_MEMORY");
    EXPECT_EQ(name(api->cuMemAlloc(&at, 0)), "CUDA_ERROR_INVALID_VALUE");
    EXPECT_EQ(name(api->cuDeviceGetAttribute(&value, 1, 1000)), "CUDA_ERROR_INVALID_DEVICE");
    CUdeviceptr some = allocate(4);
    void* parameters[] = {&some};
    EXPECT_EQ(name(api->cuLaunchKernel(function("twice"), 1, 1, 1, 4096, 1, 1, 0, nullptr, parameters, nullptr)),
              "CUDA_ERROR_INVALID_VALUE");
}

/// Only simulated: on a real GPU the process's context would be lost to the tests that follow.
TEST(SimulatedDriver, aFaultStaysWithItsContextAndIsExplained) {
    const int device = driver::simulatorApi().addDevice(arch::findProfile("gtx480"), {});
    const DriverApi& api = driver::simulatedDriver();
    driver::CUcontext context = nullptr;
    driver::CUmodule module = nullptr;
    driver::CUfunction wild = nullptr;
    CUdeviceptr at = 0;
    check(api, api.cuInit(0), "init");
    check(api, api.cuDevicePrimaryCtxRetain(&context, device), "retain");
    check(api, api.cuCtxSetCurrent(context), "set current");
    check(api, api.cuModuleLoadData(&module, kModule), "load");
    check(api, api.cuModuleGetFunction(&wild, module, "wild"), "find");
    check(api, api.cuMemAlloc(&at, 4), "allocate");
    void* parameters[] = {&at};
    check(api, api.cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), "launch");
    EXPECT_EQ(api.cuCtxSynchronize(), 700);  // CUDA_ERROR_ILLEGAL_ADDRESS
    const std::string why = driver::simulatorApi().lastError();
    EXPECT_NE(why.find("kernel wild"), std::string::npos) << why;
    EXPECT_NE(why.find("block (0,0,0), thread (0,0,0)"), std::string::npos) << why;
    EXPECT_EQ(api.cuMemAlloc(&at, 4), 700);
    // Another device is not touched by it.
    const int other = driver::simulatorApi().addDevice(arch::findProfile("gtx480"), {});
    check(api, api.cuDevicePrimaryCtxRetain(&context, other), "retain");
    check(api, api.cuCtxSetCurrent(context), "set current");
    check(api, api.cuMemAlloc(&at, 4), "allocate");
}

}  // namespace
}  // namespace bulkhead::gpu
