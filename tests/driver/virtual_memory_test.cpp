#include <unistd.h>

#include "support.h"

namespace bulkhead::driver {
namespace {

class VirtualMemory : public DriverTest {
  protected:
    static constexpr std::size_t kPiece = 2 << 20;

    CUmemAllocationProp properties() const {
        CUmemAllocationProp p = {};
        p.type = 1;
        p.location = {1, device};
        return p;
    }
    CUmemGenericAllocationHandle create(std::size_t bytes) const {
        CUmemGenericAllocationHandle handle = 0;
        const CUmemAllocationProp p = properties();
        EXPECT_EQ(api.cuMemCreate(&handle, bytes, &p, 0), CUDA_SUCCESS) << simulatorApi().lastError();
        return handle;
    }
    CUdeviceptr reserve(std::size_t bytes) const {
        CUdeviceptr address = 0;
        EXPECT_EQ(api.cuMemAddressReserve(&address, bytes, 0, 0, 0), CUDA_SUCCESS);
        return address;
    }
    CUresult allow(CUdeviceptr address, std::size_t bytes, CUmemAccess_flags flags) const {
        const CUmemAccessDesc access = {{1, device}, flags};
        return api.cuMemSetAccess(address, bytes, &access, 1);
    }
    /// One thread stores into the first word.
    CUresult store(CUdeviceptr address) const {
        if (const CUresult bad = spin(address, 1, nullptr)) return bad;
        return api.cuCtxSynchronize();
    }
};

TEST_F(VirtualMemory, mappedMemoryWithoutAccessFaults) {
    const CUdeviceptr p = reserve(kPiece);
    ASSERT_EQ(api.cuMemMap(p, kPiece, 0, create(kPiece), 0), CUDA_SUCCESS);
    EXPECT_EQ(store(p), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(VirtualMemory, readAccessDoesNotAllowWrites) {
    const CUdeviceptr p = reserve(kPiece);
    ASSERT_EQ(api.cuMemMap(p, kPiece, 0, create(kPiece), 0), CUDA_SUCCESS);
    ASSERT_EQ(allow(p, kPiece, 1), CUDA_SUCCESS);
    EXPECT_EQ(store(p), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(VirtualMemory, twoPiecesOfMemoryAreOneRangeOfAddresses) {
    const CUdeviceptr p = reserve(2 * kPiece);
    ASSERT_EQ(api.cuMemMap(p, kPiece, 0, create(kPiece), 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemMap(p + kPiece, kPiece, 0, create(kPiece), 0), CUDA_SUCCESS);
    ASSERT_EQ(allow(p, 2 * kPiece, 3), CUDA_SUCCESS) << simulatorApi().lastError();
    const std::vector<unsigned> values = {1, 2, 3, 4};
    ASSERT_EQ(api.cuMemcpyHtoD(p + kPiece - 8, values.data(), 16), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(download<unsigned>(p + kPiece - 8, 4), values);
    ASSERT_EQ(launch("twice", p + kPiece - 8, 1, 4), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(p + kPiece - 8, 4), (std::vector<unsigned>{2, 4, 6, 8}));
}

TEST_F(VirtualMemory, oneMemoryIsSeenAtTwoAddresses) {
    const CUmemGenericAllocationHandle memory = create(kPiece);
    const CUdeviceptr a = reserve(kPiece), b = reserve(kPiece);
    for (const CUdeviceptr p : {a, b}) {
        ASSERT_EQ(api.cuMemMap(p, kPiece, 0, memory, 0), CUDA_SUCCESS);
        ASSERT_EQ(allow(p, kPiece, 3), CUDA_SUCCESS);
    }
    ASSERT_EQ(api.cuMemsetD32(a, 77, 1), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(b, 1).at(0), 77u);
    std::uint64_t first = 0, second = 0;
    EXPECT_EQ(simulatorApi().physicalAddress(&first, a), CUDA_SUCCESS);
    EXPECT_EQ(simulatorApi().physicalAddress(&second, b), CUDA_SUCCESS);
    EXPECT_EQ(first, second);
}

TEST_F(VirtualMemory, memoryOutlivesItsHandleWhileItIsMapped) {
    std::size_t before = 0, mapped = 0, after = 0;
    api.cuMemGetInfo(&before, nullptr);
    const CUmemGenericAllocationHandle memory = create(kPiece);
    const CUdeviceptr p = reserve(kPiece);
    ASSERT_EQ(api.cuMemMap(p, kPiece, 0, memory, 0), CUDA_SUCCESS);
    ASSERT_EQ(allow(p, kPiece, 3), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemRelease(memory), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemRelease(memory), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(store(p), CUDA_SUCCESS);
    api.cuMemGetInfo(&mapped, nullptr);
    EXPECT_EQ(before - mapped, kPiece);
    EXPECT_EQ(api.cuMemAddressFree(p, kPiece), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemUnmap(p, kPiece), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemAddressFree(p, kPiece), CUDA_SUCCESS);
    api.cuMemGetInfo(&after, nullptr);
    EXPECT_EQ(after, before);
}

TEST_F(VirtualMemory, accessIsAnsweredPerAddress) {
    const CUdeviceptr p = reserve(2 * kPiece);
    ASSERT_EQ(api.cuMemMap(p, kPiece, 0, create(kPiece), 0), CUDA_SUCCESS);
    ASSERT_EQ(allow(p, kPiece, 3), CUDA_SUCCESS);
    const CUmemLocation here = {1, device};
    unsigned long long flags = 9;
    EXPECT_EQ(api.cuMemGetAccess(&flags, &here, p + 5), CUDA_SUCCESS);
    EXPECT_EQ(flags, 3u);
    EXPECT_EQ(api.cuMemGetAccess(&flags, &here, p + kPiece), CUDA_SUCCESS);
    EXPECT_EQ(flags, 0u);
}

TEST_F(VirtualMemory, memoryThatWasExportedIsTheSameOnceImported) {
    CUmemAllocationProp p = properties();
    p.requestedHandleTypes = 1;
    CUmemGenericAllocationHandle memory = 0, same = 0;
    ASSERT_EQ(api.cuMemCreate(&memory, kPiece, &p, 0), CUDA_SUCCESS) << simulatorApi().lastError();
    int file = -1;
    ASSERT_EQ(api.cuMemExportToShareableHandle(&file, memory, 1, 0), CUDA_SUCCESS) << simulatorApi().lastError();
    ASSERT_EQ(api.cuMemImportFromShareableHandle(&same, reinterpret_cast<void*>(std::intptr_t{file}), 1), CUDA_SUCCESS);
    ::close(file);
    const CUdeviceptr a = reserve(kPiece), b = reserve(kPiece);
    ASSERT_EQ(api.cuMemMap(a, kPiece, 0, memory, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemMap(b, kPiece, 0, same, 0), CUDA_SUCCESS);
    ASSERT_EQ(allow(a, kPiece, 3), CUDA_SUCCESS);
    ASSERT_EQ(allow(b, kPiece, 3), CUDA_SUCCESS);
    const std::vector<unsigned> values = {1, 2, 3, 4};
    ASSERT_EQ(api.cuMemcpyHtoD(a, values.data(), 16), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(b, 4), values);
    // One hold each.
    EXPECT_EQ(api.cuMemRelease(memory), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemRelease(same), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemRelease(same), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(download<unsigned>(b, 4), values) << "what is mapped stays";
}

TEST_F(VirtualMemory, whatWasNotMadeForItIsNotShared) {
    int file = -1;
    EXPECT_EQ(api.cuMemExportToShareableHandle(&file, create(kPiece), 1, 0), CUDA_ERROR_INVALID_VALUE);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(api.cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(std::intptr_t{0}), 1),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(std::intptr_t{-1}), 1),
              CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemory, badSizesAndPlacesAreRefused) {
    const CUmemAllocationProp p = properties();
    std::size_t granularity = 0;
    ASSERT_EQ(api.cuMemGetAllocationGranularity(&granularity, &p, 0), CUDA_SUCCESS);
    EXPECT_EQ(granularity, kPiece);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(api.cuMemCreate(&handle, 4096, &p, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemCreate(&handle, std::size_t{1} << 40, &p, 0), CUDA_ERROR_OUT_OF_MEMORY);
    const CUmemGenericAllocationHandle memory = create(kPiece);
    const CUdeviceptr address = reserve(kPiece);
    EXPECT_EQ(api.cuMemMap(address + kPiece, kPiece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemMap(address, 2 * kPiece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemMap(address, kPiece, 0, memory, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemMap(address, kPiece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace bulkhead::driver
