#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "driver/simulator_api.h"

namespace bulkhead::driver {

/// Kernels of a few lines, whose effect is plain.
inline const char* const kKernels = R"(.version 6.0
.target sm_60
.address_size 64
.visible .global .align 4 .u32 counter = 41;
.visible .const .align 4 .b8 table[12];
.visible .entry twice(.param .u64 p)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3]; add.u32 %r2, %r2, %r2; st.global.u32 [%rd3], %r2; ret;
}
.visible .entry add(.param .u64 p, .param .u8 small, .param .u64 large)
{
    .reg .b32 %r<3>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [p]; ld.param.u8 %r1, [small]; ld.param.u64 %rd2, [large];
    cvt.u64.u32 %rd3, %r1; add.u64 %rd2, %rd2, %rd3; st.global.u64 [%rd1], %rd2; ret;
}
.visible .entry spin(.param .u64 p, .param .u32 rounds)
{
    .reg .pred %q; .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [rounds]; mov.u32 %r2, 0;
L:  add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, %r1; @%q bra L; st.global.u32 [%rd1], %r2; ret;
}
.visible .entry where(.param .u64 p)
{
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r2, %smid; st.global.u32 [%rd3], %r2; ret;
}
.visible .entry wild(.param .u64 p)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, 1; st.global.u32 [%rd1+1099511627776], %r1; ret;
}
.visible .entry dynamic(.param .u64 p)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %dynamic_smem_size; st.global.u32 [%rd1], %r1; ret;
}
.visible .entry bounded() .maxntid 64, 1, 1
{
    ret;
}
.visible .entry rendezvous(.param .u64 p)
{
    .reg .pred %q<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2;
    cvt.u64.u32 %rd2, %r1; shl.b64 %rd2, %rd2, 32; cvt.u64.u32 %rd3, %r2; or.b64 %rd2, %rd2, %rd3;
    atom.global.add.u32 %r3, [%rd2+4], 1; mov.u32 %r4, %nctaid.x;
W:  ld.volatile.global.u32 %r5, [%rd2+4]; setp.lt.u32 %q0, %r5, %r4; @%q0 bra W;
    mov.u32 %r6, %ctaid.x; mul.wide.u32 %rd4, %r6, 4; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r5; ret;
}
)";

/// A simulated GPU of its own, its primary context current and the kernels loaded.
class DriverTest : public ::testing::Test {
  protected:
    const DriverApi& api = simulatedDriver();
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;

    virtual arch::DeviceProfile profile() const { return arch::findProfile("gtx1080"); }

    void SetUp() override {
        device = simulatorApi().addDevice(profile(), {});
        ASSERT_EQ(api.cuInit(0), CUDA_SUCCESS);
        ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
        ASSERT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
        ASSERT_EQ(api.cuModuleLoadData(&module, kKernels), CUDA_SUCCESS) << simulatorApi().lastError();
    }
    void TearDown() override {
        api.cuCtxSetCurrent(nullptr);
        simulatorApi().removeDevice(device);
    }

    sim::Machine& machine() const { return *simulatorApi().machine(device); }
    CUfunction function(const char* name) const {
        CUfunction f = nullptr;
        EXPECT_EQ(api.cuModuleGetFunction(&f, module, name), CUDA_SUCCESS) << name;
        return f;
    }
    CUdeviceptr allocate(std::size_t bytes) const {
        CUdeviceptr address = 0;
        EXPECT_EQ(api.cuMemAlloc(&address, bytes), CUDA_SUCCESS) << simulatorApi().lastError();
        return address;
    }
    template <class T>
    CUdeviceptr upload(const std::vector<T>& values) const {
        const CUdeviceptr address = allocate(values.size() * sizeof(T));
        EXPECT_EQ(api.cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T)), CUDA_SUCCESS);
        return address;
    }
    template <class T>
    std::vector<T> download(CUdeviceptr address, std::size_t count) const {
        std::vector<T> values(count);
        EXPECT_EQ(api.cuMemcpyDtoH(values.data(), address, count * sizeof(T)), CUDA_SUCCESS)
            << simulatorApi().lastError();
        return values;
    }
    /// One launch of a kernel with one pointer for its only parameter.
    CUresult launch(const char* name, CUdeviceptr p, unsigned grid, unsigned block, CUstream stream = nullptr,
                    unsigned sharedBytes = 0) const {
        void* parameters[] = {&p};
        return api.cuLaunchKernel(function(name), grid, 1, 1, block, 1, 1, sharedBytes, stream, parameters, nullptr);
    }
    /// A kernel that lasts about that many rounds of three instructions.
    CUresult spin(CUdeviceptr p, unsigned rounds, CUstream stream) const {
        void* parameters[] = {&p, &rounds};
        return api.cuLaunchKernel(function("spin"), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
    }
    CUstream stream(unsigned flags) const {
        CUstream made = nullptr;
        EXPECT_EQ(api.cuStreamCreate(&made, flags), CUDA_SUCCESS);
        return made;
    }
    CUevent event(unsigned flags = 0) const {
        CUevent made = nullptr;
        EXPECT_EQ(api.cuEventCreate(&made, flags), CUDA_SUCCESS);
        return made;
    }
    /// Simulated seconds between two events that have happened.
    double seconds(CUevent start, CUevent end) const {
        float milliseconds = -1;
        EXPECT_EQ(api.cuEventElapsedTime(&milliseconds, start, end), CUDA_SUCCESS) << simulatorApi().lastError();
        return static_cast<double>(milliseconds) * 1e-3;
    }
    double cycleSeconds() const { return 1e-6 / static_cast<double>(machine().profile().clock.coreMHz); }
};

}  // namespace bulkhead::driver
