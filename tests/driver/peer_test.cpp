#include "driver/support.h"

namespace bulkhead::driver {
namespace {

/// A second GPU of the same kind, with its primary context.
class Peers : public DriverTest {
  protected:
    CUdevice second = 0;
    CUcontext peer = nullptr;

    void SetUp() override {
        DriverTest::SetUp();
        second = simulatorApi().addDevice(profile(), {});
        ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&peer, second), CUDA_SUCCESS);
    }
    void TearDown() override {
        DriverTest::TearDown();
        simulatorApi().removeDevice(second);
    }
    /// Numbers in the second GPU's memory.
    CUdeviceptr uploadThere(const std::vector<unsigned>& values) const {
        EXPECT_EQ(api.cuCtxPushCurrent(peer), CUDA_SUCCESS);
        const CUdeviceptr there = upload(values);
        EXPECT_EQ(api.cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
        return there;
    }
    std::vector<unsigned> downloadThere(CUdeviceptr there, std::size_t count) const {
        EXPECT_EQ(api.cuCtxPushCurrent(peer), CUDA_SUCCESS);
        const std::vector<unsigned> values = download<unsigned>(there, count);
        EXPECT_EQ(api.cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
        return values;
    }
};

TEST_F(Peers, haveAddressesOfTheirOwn) {
    EXPECT_NE(allocate(4096), uploadThere({1}));
}

TEST_F(Peers, reachMemoryOfEachOtherOnceEnabled) {
    const CUdeviceptr before = uploadThere({1, 2, 3, 4});
    ASSERT_EQ(api.cuCtxEnablePeerAccess(peer, 0), CUDA_SUCCESS) << simulatorApi().lastError();
    const CUdeviceptr after = uploadThere({10, 20, 30, 40});
    EXPECT_EQ(launch("twice", before, 1, 4), CUDA_SUCCESS);
    EXPECT_EQ(launch("twice", after, 1, 4), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(downloadThere(before, 4), (std::vector<unsigned>{2, 4, 6, 8}));
    EXPECT_EQ(downloadThere(after, 4), (std::vector<unsigned>{20, 40, 60, 80}));
}

TEST_F(Peers, reachItInOneDirectionOnly) {
    ASSERT_EQ(api.cuCtxEnablePeerAccess(peer, 0), CUDA_SUCCESS);
    const CUdeviceptr here = upload<unsigned>({1});
    ASSERT_EQ(api.cuCtxSetCurrent(peer), CUDA_SUCCESS);
    CUmodule there = nullptr;
    CUfunction twice = nullptr;
    ASSERT_EQ(api.cuModuleLoadData(&there, kKernels), CUDA_SUCCESS);
    ASSERT_EQ(api.cuModuleGetFunction(&twice, there, "twice"), CUDA_SUCCESS);
    CUdeviceptr argument = here;
    void* parameters[] = {&argument};
    EXPECT_EQ(api.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Peers, areOutOfReachAfterTheyAreDisabled) {
    const CUdeviceptr there = uploadThere({1});
    ASSERT_EQ(api.cuCtxEnablePeerAccess(peer, 0), CUDA_SUCCESS);
    EXPECT_EQ(launch("twice", there, 1, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxDisablePeerAccess(peer), CUDA_SUCCESS);
    EXPECT_EQ(downloadThere(there, 1), std::vector<unsigned>{2});
    EXPECT_EQ(launch("twice", there, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/// Memory of the second GPU's default pool.
class PooledPeers : public Peers {
  protected:
    CUmemoryPool pool = nullptr;

    void SetUp() override {
        Peers::SetUp();
        ASSERT_EQ(api.cuDeviceGetDefaultMemPool(&pool, second), CUDA_SUCCESS);
    }
    CUdeviceptr pooledThere(unsigned value) const {
        EXPECT_EQ(api.cuCtxPushCurrent(peer), CUDA_SUCCESS);
        CUdeviceptr there = 0;
        EXPECT_EQ(api.cuMemAllocAsync(&there, sizeof value, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(api.cuMemcpyHtoD(there, &value, sizeof value), CUDA_SUCCESS);
        EXPECT_EQ(api.cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
        return there;
    }
    CUresult set(CUdevice user, CUmemAccess_flags flags) const {
        const CUmemAccessDesc access = {{1, user}, flags};
        return api.cuMemPoolSetAccess(pool, &access, 1);
    }
    CUmemAccess_flags get(CUdevice user) const {
        CUmemLocation location = {1, user};
        CUmemAccess_flags flags = 77;
        EXPECT_EQ(api.cuMemPoolGetAccess(&flags, pool, &location), CUDA_SUCCESS);
        return flags;
    }
    CUresult doubled(CUdeviceptr there) const {
        const CUresult launched = launch("twice", there, 1, 1);
        return launched == CUDA_SUCCESS ? api.cuCtxSynchronize() : launched;
    }
};

TEST_F(PooledPeers, useWhatAPoolLetsThem) {
    const CUdeviceptr before = pooledThere(3);
    EXPECT_EQ(get(device), 0);
    EXPECT_EQ(get(second), 3);
    ASSERT_EQ(set(device, 3), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(get(device), 3);
    const CUdeviceptr after = pooledThere(5);
    EXPECT_EQ(doubled(before), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(doubled(after), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(downloadThere(before, 1), std::vector<unsigned>{6});
    EXPECT_EQ(downloadThere(after, 1), std::vector<unsigned>{10});
    // What is not the pool's stays out of reach.
    EXPECT_EQ(doubled(uploadThere({1})), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(PooledPeers, onlyReadWhatAPoolLetsThemRead) {
    const CUdeviceptr there = pooledThere(3);
    ASSERT_EQ(set(device, 1), CUDA_SUCCESS);
    EXPECT_EQ(get(device), 1);
    EXPECT_EQ(doubled(there), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(downloadThere(there, 1), std::vector<unsigned>{3});
}

TEST_F(PooledPeers, areOutOfReachOnceAPoolSaysSo) {
    const CUdeviceptr there = pooledThere(3);
    ASSERT_EQ(set(device, 3), CUDA_SUCCESS);
    ASSERT_EQ(doubled(there), CUDA_SUCCESS);
    ASSERT_EQ(set(device, 0), CUDA_SUCCESS);
    EXPECT_EQ(get(device), 0);
    EXPECT_EQ(doubled(there), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(downloadThere(there, 1), std::vector<unsigned>{6});
}

TEST_F(PooledPeers, memoryThatIsFreedIsGoneForAll) {
    const CUdeviceptr there = pooledThere(3);
    ASSERT_EQ(set(device, 3), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxPushCurrent(peer), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemFreeAsync(there, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(doubled(there), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(PooledPeers, contextsThatComeLaterHaveItToo) {
    const CUdeviceptr there = pooledThere(3);
    ASSERT_EQ(set(device, 3), CUDA_SUCCESS);
    ASSERT_EQ(api.cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
    ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
    ASSERT_EQ(api.cuModuleLoadData(&module, kKernels), CUDA_SUCCESS);
    EXPECT_EQ(doubled(there), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(downloadThere(there, 1), std::vector<unsigned>{6});
    // The pool's own goes first.
    ASSERT_EQ(api.cuDevicePrimaryCtxReset(second), CUDA_SUCCESS);
    EXPECT_EQ(doubled(there), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(PooledPeers, thatCannotReachThePoolAreRefused) {
    arch::DeviceProfile other = arch::findProfile("gtx480");
    const CUdevice third = simulatorApi().addDevice(other, {});
    EXPECT_EQ(set(third, 3), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(set(12345, 3), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(set(device, 2), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set(second, 0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(set(second, 3), CUDA_SUCCESS);
    EXPECT_EQ(get(third), 0);
    simulatorApi().removeDevice(third);
}

TEST_F(Peers, memoryIsFreedAfterThoseThatUseIt) {
    const CUdeviceptr there = uploadThere({0});
    ASSERT_EQ(api.cuCtxEnablePeerAccess(peer, 0), CUDA_SUCCESS);
    ASSERT_EQ(spin(there, 2000, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxPushCurrent(peer), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFree(there), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
}

TEST_F(Peers, endWithTheirContext) {
    ASSERT_EQ(api.cuCtxEnablePeerAccess(peer, 0), CUDA_SUCCESS);
    const CUdeviceptr there = uploadThere({0});
    ASSERT_EQ(spin(there, 2000, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuDevicePrimaryCtxReset(second), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(api.cuCtxDisablePeerAccess(peer), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(Peers, tellWhatTheyOffer) {
    int value = -1;
    EXPECT_EQ(api.cuDeviceCanAccessPeer(&value, device, second), CUDA_SUCCESS);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(api.cuDeviceCanAccessPeer(&value, device, device), CUDA_SUCCESS);
    EXPECT_EQ(value, 0);
    for (const auto& [attribute, expected] : {std::pair{1, 0}, {2, 1}, {3, 1}, {4, 1}, {5, 0}}) {
        EXPECT_EQ(api.cuDeviceGetP2PAttribute(&value, attribute, device, second), CUDA_SUCCESS);
        EXPECT_EQ(value, expected) << attribute;
    }
    EXPECT_EQ(api.cuDeviceGetP2PAttribute(&value, 2, device, device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(api.cuDeviceGetP2PAttribute(&value, 6, device, second), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Peers, areEnabledAndDisabledOnce) {
    EXPECT_EQ(api.cuCtxEnablePeerAccess(context, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    EXPECT_EQ(api.cuCtxEnablePeerAccess(peer, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuCtxDisablePeerAccess(peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    EXPECT_EQ(api.cuCtxEnablePeerAccess(peer, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxEnablePeerAccess(peer, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    EXPECT_EQ(api.cuCtxDisablePeerAccess(peer), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxDisablePeerAccess(peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

TEST_F(Peers, areOfOneKind) {
    const CUdevice other = simulatorApi().addDevice(arch::findProfile("gtx480"), {});
    CUcontext stranger = nullptr;
    int possible = -1;
    EXPECT_EQ(api.cuDeviceCanAccessPeer(&possible, device, other), CUDA_SUCCESS);
    EXPECT_EQ(possible, 0);
    ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&stranger, other), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxEnablePeerAccess(stranger, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    simulatorApi().removeDevice(other);
}

constexpr Bytes kPiece = 2 << 20;

/// Addresses with a piece of memory of each GPU, one behind the other.
class StripedMemory : public Peers {
  protected:
    CUdeviceptr base = 0;

    void SetUp() override {
        Peers::SetUp();
        ASSERT_EQ(api.cuMemAddressReserve(&base, 2 * kPiece, 0, 0, 0), CUDA_SUCCESS);
        for (const CUdevice on : {device, second}) {
            CUmemAllocationProp properties = {};
            properties.type = 1;
            properties.location = {1, on};
            CUmemGenericAllocationHandle handle = 0;
            ASSERT_EQ(api.cuMemCreate(&handle, kPiece, &properties, 0), CUDA_SUCCESS);
            ASSERT_EQ(api.cuMemMap(base + (on == second ? kPiece : 0), kPiece, 0, handle, 0), CUDA_SUCCESS)
                << simulatorApi().lastError();
            ASSERT_EQ(api.cuMemRelease(handle), CUDA_SUCCESS);
        }
    }
    CUresult give(CUdevice to, CUmemAccess_flags flags) const {
        const CUmemAccessDesc access = {{1, to}, flags};
        return api.cuMemSetAccess(base, 2 * kPiece, &access, 1);
    }
};

TEST_F(StripedMemory, isOneRangeToThoseWhoAreGivenIt) {
    constexpr CUmemAccess_flags kReadAndWrite = 3;
    ASSERT_EQ(give(device, kReadAndWrite), CUDA_SUCCESS) << simulatorApi().lastError();
    ASSERT_EQ(give(second, kReadAndWrite), CUDA_SUCCESS) << simulatorApi().lastError();
    const unsigned three = 3, five = 5;
    const CUdeviceptr here = base + kPiece - 4, there = base + kPiece;
    ASSERT_EQ(api.cuMemcpyHtoD(here, &three, 4), CUDA_SUCCESS) << simulatorApi().lastError();
    ASSERT_EQ(api.cuMemcpyHtoD(there, &five, 4), CUDA_SUCCESS) << simulatorApi().lastError();
    ASSERT_EQ(launch("twice", here, 1, 2), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(downloadThere(here, 2), (std::vector<unsigned>{6, 10}));
    unsigned long long flags = 0;
    const CUmemLocation location = {1, second};
    EXPECT_EQ(api.cuMemGetAccess(&flags, &location, there), CUDA_SUCCESS);
    EXPECT_EQ(flags, 3u);
    EXPECT_EQ(give(second, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemGetAccess(&flags, &location, there), CUDA_SUCCESS);
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(api.cuMemUnmap(base, 2 * kPiece), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(api.cuMemAddressFree(base, 2 * kPiece), CUDA_SUCCESS);
}

TEST_F(StripedMemory, endsWithTheDeviceThatHasIt) {
    ASSERT_EQ(give(device, 3), CUDA_SUCCESS);
    simulatorApi().removeDevice(second);
    EXPECT_EQ(launch("twice", base, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(launch("twice", base + kPiece, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(StripedMemory, isNotGivenToAnotherKindOfGpu) {
    const CUdevice other = simulatorApi().addDevice(arch::findProfile("gtx480"), {});
    EXPECT_EQ(give(other, 3), CUDA_ERROR_INVALID_DEVICE);
    simulatorApi().removeDevice(other);
}

}  // namespace
}  // namespace bulkhead::driver
