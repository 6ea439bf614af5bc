#include "placed_driver/place.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/error.h"
#include "temporary_directory.h"

// Where work runs that knows nothing of partitions, on a simulated GPU whose driver has green contexts.

namespace bulkhead::placed {
namespace {

using namespace driver;

constexpr unsigned kSms = 8, kShare = 4;

/// Sets the bit of the SM that it runs on.
constexpr const char* kWhere = R"(
.version 6.0
.target sm_60
.address_size 64
.visible .entry where(.param .u64 bits) {
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [bits];
    mov.u32 %r1, %smid;
    mov.u32 %r2, 1;
    shl.b32 %r2, %r2, %r1;
    atom.global.or.b32 %r1, [%rd1], %r2;
    ret;
}
)";

class Places : public testing::Test {
  protected:
    std::unique_ptr<isolate::Tenancy> tenancy(Bytes memory) {
        gpu::SimulationOptions simulation;
        simulation.settings = {fmt::format("sm.count={}", kSms)};
        auto t = std::make_unique<isolate::Tenancy>(gpu::Gpu::open("sim:h200", simulation));
        walls::WalledGpuOptions options;
        options.placement = walls::BlockPlacement::driver;
        t->walled.emplace(t->gpu, options);
        isolate::Share share;
        share.partition = {"A", 0.5, 0.5};
        for (unsigned sm = 0; sm < kShare; ++sm) share.sms.push_back(sm);
        share.memoryBytes = memory;
        share.memoryWall = false;
        isolate::LeaseBook book(folder_.path() / "leases", {"sim:h200", false});
        t->lease = book.join(share);
        t->tenant.emplace(t->walled->enclose(isolate::wallsOf(share, *t->walled)));
        return t;
    }
    /// On how many SMs a launch runs that the whole GPU has room for, in the context that is current.
    static int smsUsed(const DriverApi& api) {
        CUmodule module = nullptr;
        CUfunction where = nullptr;
        CUdeviceptr bits = 0;
        std::uint32_t seen = 0;
        EXPECT_EQ(api.cuModuleLoadData(&module, kWhere), CUDA_SUCCESS);
        EXPECT_EQ(api.cuModuleGetFunction(&where, module, "where"), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemAlloc(&bits, sizeof seen), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemsetD8(bits, 0, sizeof seen), CUDA_SUCCESS);
        void* parameters[] = {&bits};
        EXPECT_EQ(api.cuLaunchKernel(where, 4 * kSms, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemcpyDtoH(&seen, bits, sizeof seen), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemFree(bits), CUDA_SUCCESS);
        EXPECT_EQ(api.cuModuleUnload(module), CUDA_SUCCESS);
        return std::popcount(seen);
    }
    static CUcontext primaryOf(const DriverApi& api) {
        CUcontext primary = nullptr;
        CUdevice device = 0;
        EXPECT_EQ(api.cuDeviceGet(&device, 0), CUDA_SUCCESS);
        EXPECT_EQ(api.cuDevicePrimaryCtxRetain(&primary, device), CUDA_SUCCESS);
        return primary;
    }
    TemporaryDirectory folder_;
};

constexpr Bytes kPlenty = Bytes{1} << 50;

TEST_F(Places, StandForThePrimaryContext) {
    Place place(tenancy(kPlenty));
    const DriverApi& api = place.api();
    CUcontext current = nullptr;
    ASSERT_EQ(api.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr) << "a program begins without a context";
    const CUcontext primary = primaryOf(api);
    ASSERT_EQ(api.cuCtxSetCurrent(primary), CUDA_SUCCESS);
    EXPECT_EQ(smsUsed(api), static_cast<int>(kSms)) << "without a place, all SMs";
    ASSERT_EQ(api.cuCtxSetCurrent(place.inward(primary)), CUDA_SUCCESS);
    EXPECT_EQ(smsUsed(api), static_cast<int>(kShare));
    ASSERT_EQ(api.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_NE(current, primary);
    EXPECT_EQ(place.outward(current), primary) << "the program sees the context that it set";
    EXPECT_EQ(place.inward(nullptr), nullptr);
    EXPECT_EQ(place.sms(), kShare);
    EXPECT_EQ(place.resource().smCount(), kShare);
}

TEST_F(Places, HaveTheContextsThatProgramsMake) {
    Place place(tenancy(kPlenty));
    const DriverApi& api = place.api();
    CUcontext made = nullptr, current = nullptr;
    ASSERT_EQ(place.create(&made), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, made);
    EXPECT_EQ(place.inward(made), made);
    EXPECT_EQ(smsUsed(api), static_cast<int>(kShare));
    EXPECT_EQ(place.destroy(made), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
    EXPECT_NE(place.destroy(made), CUDA_SUCCESS);
    EXPECT_EQ(place.create(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Places, AreThereAgainAfterAReset) {
    Place place(tenancy(kPlenty));
    const DriverApi& api = place.api();
    ASSERT_EQ(api.cuCtxSetCurrent(place.inward(primaryOf(api))), CUDA_SUCCESS);
    CUdevice device = 0;
    ASSERT_EQ(api.cuDeviceGet(&device, 0), CUDA_SUCCESS);
    ASSERT_EQ(place.resetPrimary(device), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSetCurrent(place.inward(primaryOf(api))), CUDA_SUCCESS);
    EXPECT_EQ(smsUsed(api), static_cast<int>(kShare));
}

TEST_F(Places, AreRefusedWhereNobodyKeepsToTheAmountOfMemory) {
    try {
        const Place place(tenancy(1_MiB));
        FAIL() << "a driver without a limit";
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("the 1 MB of partition A"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("MPS"), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace bulkhead::placed
