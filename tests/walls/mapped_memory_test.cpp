// Memory that programs map themselves, behind a memory wall.

#include <gtest/gtest.h>

#include <numeric>

#include "driver/driver_api.h"
#include "sm_sets.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

constexpr Bytes kShare = 16_MiB, kPiece = 2_MiB;

class Mapped : public testing::Test {
  protected:
    void SetUp() override {
        tenant.context().makeCurrent();
        ASSERT_EQ(api.cuCtxGetDevice(&device), CUDA_SUCCESS);
    }

    CUmemGenericAllocationHandle create(Bytes bytes) {
        CUmemAllocationProp properties = {};
        properties.type = 1;
        properties.location = {1, device};
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(api.cuMemCreate(&handle, bytes, &properties, 0), CUDA_SUCCESS);
        return handle;
    }
    CUdeviceptr reserve(Bytes bytes) {
        CUdeviceptr address = 0;
        EXPECT_EQ(api.cuMemAddressReserve(&address, bytes, 0, 0, 0), CUDA_SUCCESS);
        return address;
    }
    CUresult allow(CUdeviceptr address, Bytes bytes) {
        const CUmemAccessDesc access = {{1, device}, 3};
        return api.cuMemSetAccess(address, bytes, &access, 1);
    }
    Bytes left() {
        std::size_t free = 0, total = 0;
        EXPECT_EQ(api.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
        return free;
    }

    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled{gpu, byPages()};
    PartitionContext tenant = walled.enclose({setOf(walled, {0, 1, 2, 3}), {0}, kShare});
    const DriverApi& api = walledDriver();
    CUdevice device = 0;
};

TEST_F(Mapped, HoldsWhatIsWrittenAndIsOfTheColor) {
    const CUdeviceptr address = reserve(2 * kPiece);
    const auto first = create(kPiece), second = create(kPiece);
    EXPECT_EQ(allow(address, kPiece), CUDA_ERROR_INVALID_VALUE) << "nothing is mapped there yet";
    ASSERT_EQ(api.cuMemMap(address, kPiece, 0, first, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemMap(address + kPiece, kPiece, 0, second, 0), CUDA_SUCCESS);
    EXPECT_EQ(allow(address, 2 * kPiece), CUDA_SUCCESS);
    std::vector<std::uint32_t> numbers(2 * kPiece / 4), back(numbers.size());
    std::iota(numbers.begin(), numbers.end(), 1);
    ASSERT_EQ(api.cuMemcpyHtoD(address, numbers.data(), 2 * kPiece), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyDtoH(back.data(), address, 2 * kPiece), CUDA_SUCCESS);
    EXPECT_EQ(back, numbers);
    for (Bytes at = 0; at < 2 * kPiece; at += kColoredPage) ASSERT_EQ(tenant.colorOf(address + at), 0u);
    // Handles may go before their mappings.
    EXPECT_EQ(api.cuMemRelease(first), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemRelease(second), CUDA_SUCCESS);
    EXPECT_NE(api.cuMemRelease(second), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemUnmap(address, 2 * kPiece), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemAddressFree(address, 2 * kPiece), CUDA_SUCCESS);
    EXPECT_EQ(left(), kShare);
}

TEST_F(Mapped, HasAGranularityAlsoWithoutAContext) {
    ASSERT_EQ(api.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    CUmemAllocationProp properties = {};
    properties.type = 1;
    properties.location = {1, device};
    std::size_t granularity = 0;
    EXPECT_EQ(api.cuMemGetAllocationGranularity(&granularity, &properties, 0), CUDA_SUCCESS);
    EXPECT_EQ(granularity, kPiece) << "as an H200 says";
}

TEST_F(Mapped, CountsAsPartOfTheShare) {
    const CUdeviceptr address = reserve(kShare / 2);
    EXPECT_EQ(left(), kShare / 2);
    CUdeviceptr more = 0;
    EXPECT_EQ(api.cuMemAddressReserve(&more, kShare, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(api.cuMemAddressFree(address, kShare), CUDA_ERROR_INVALID_VALUE) << "not what was reserved";
    EXPECT_EQ(api.cuMemAddressFree(address, kShare / 2), CUDA_SUCCESS);
    EXPECT_EQ(left(), kShare);
}

TEST_F(Mapped, BeginsWhereItIsAskedTo) {
    constexpr Bytes kAlignment = 1_MiB;
    for (int i = 0; i < 3; ++i) {
        CUdeviceptr address = 0;
        ASSERT_EQ(api.cuMemAddressReserve(&address, 1000, kAlignment, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(address % kAlignment, 0u);
    }
    CUdeviceptr address = 0;
    EXPECT_EQ(api.cuMemAddressReserve(&address, 1000, 3000, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Mapped, StaysWhereItWasMappedFirst) {
    const CUdeviceptr one = reserve(kPiece), other = reserve(kPiece);
    const auto memory = create(kPiece);
    ASSERT_EQ(api.cuMemMap(one, kPiece, 0, memory, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemMap(one, kPiece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE) << "the addresses are taken";
    EXPECT_EQ(api.cuMemMap(other, kPiece, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(api.cuMemAddressFree(one, kPiece), CUDA_ERROR_INVALID_VALUE) << "it is mapped there";
    EXPECT_EQ(api.cuMemUnmap(one, kPiece / 2), CUDA_ERROR_INVALID_VALUE) << "no mapping goes in part";
    EXPECT_EQ(api.cuMemUnmap(one, kPiece), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemMap(other, kPiece, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED) << "its content would not move";
    EXPECT_EQ(api.cuMemMap(one, kPiece, 0, memory, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemMap(other, kPiece, kPiece, create(kPiece), 0), CUDA_ERROR_INVALID_VALUE) << "beyond its end";
}

TEST_F(Mapped, IsNotForOtherProcesses) {
    CUmemAllocationProp properties = {};
    properties.type = 1;
    properties.location = {1, device};
    properties.requestedHandleTypes = 1;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(api.cuMemCreate(&handle, kPiece, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace bulkhead::walls
