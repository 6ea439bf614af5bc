#include <algorithm>

#include "support.h"

namespace bulkhead::driver {
namespace {

class Launches : public DriverTest {
  protected:
    CUresult shaped(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz) const {
        return api.cuLaunchKernel(function("bounded"), gx, gy, gz, bx, by, bz, 0, nullptr, nullptr, nullptr);
    }
    CUresult cooperative(CUdeviceptr p, unsigned grid, unsigned block) const {
        void* parameters[] = {&p};
        return api.cuLaunchCooperativeKernel(function("rendezvous"), grid, 1, 1, block, 1, 1, 0, nullptr, parameters);
    }
};

TEST_F(Launches, impossibleShapesAreBadValues) {
    EXPECT_EQ(shaped(1, 1, 1, 64, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(shaped(0, 1, 1, 64, 1, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shaped(1, 1, 1, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shaped(1, 65536, 1, 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shaped(1, 1, 1, 1025, 1, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shaped(1, 1, 1, 1, 1, 65), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shaped(1, 1, 1, 0x10000, 0x10000, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(shaped(1, 1, 1, 65, 1, 1), CUDA_ERROR_INVALID_VALUE);  // .maxntid 64
}

TEST_F(Launches, parametersMayComeInABuffer) {
    // As the kernel lays them out: a pointer, one byte, a number.
    struct {
        CUdeviceptr p;
        std::uint8_t small;
        std::uint64_t large;
    } packed = {allocate(8), 7, 1000};
    std::size_t bytes = sizeof packed;
    void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &bytes, nullptr};
    ASSERT_EQ(api.cuLaunchKernel(function("add"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint64_t>(packed.p, 1).at(0), 1007u);
    bytes = 8;
    EXPECT_EQ(api.cuLaunchKernel(function("add"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuLaunchKernel(function("add"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_ERROR_INVALID_VALUE);
}

/// A GPU whose blocks may have 96 KB of shared memory, of which 48 need no opt-in.
class SharedMemory : public DriverTest {
    arch::DeviceProfile profile() const override { return arch::findProfile("v100"); }
};

TEST_F(SharedMemory, moreThan48KBIsAnOptIn) {
    constexpr int kMaxDynamic = 8;
    const CUdeviceptr p = allocate(4);
    const CUfunction f = function("dynamic");
    int most = 0;
    EXPECT_EQ(api.cuFuncGetAttribute(&most, kMaxDynamic, f), CUDA_SUCCESS);
    EXPECT_EQ(most, 48 << 10);
    EXPECT_EQ(launch("dynamic", p, 1, 1, nullptr, 64 << 10), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuFuncSetAttribute(f, kMaxDynamic, 97 << 10), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuFuncSetAttribute(f, kMaxDynamic, 64 << 10), CUDA_SUCCESS);
    EXPECT_EQ(launch("dynamic", p, 1, 1, nullptr, 64 << 10), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(download<unsigned>(p, 1).at(0), 64u << 10);
    EXPECT_EQ(launch("dynamic", p, 1, 1, nullptr, (64 << 10) + 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Launches, occupancyIsWhatThreadsAndSharedMemoryAllow) {
    // 2048 threads and 96 KB of shared memory an SM.
    const CUfunction f = function("dynamic");
    int blocks = 0;
    EXPECT_EQ(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0), CUDA_SUCCESS);
    EXPECT_EQ(blocks, 2);
    EXPECT_EQ(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 32 << 10), CUDA_SUCCESS);
    EXPECT_EQ(blocks, 3);
    int grid = 0, block = 0;
    EXPECT_EQ(api.cuOccupancyMaxPotentialBlockSize(&grid, &block, f, nullptr, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(block, 1024);
    EXPECT_EQ(grid, 2 * 20);
    EXPECT_EQ(api.cuOccupancyMaxPotentialBlockSize(
                  &grid, &block, f, [](int threads) { return static_cast<std::size_t>(threads) * 96; }, 0, 512),
              CUDA_SUCCESS);
    // 96 KB / 96 B = 1024 threads whatever the block; of equals the largest within the limit.
    EXPECT_EQ(block, 512);
    EXPECT_EQ(grid, 2 * 20);
    std::size_t bytes = 0;
    EXPECT_EQ(api.cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 4, 128), CUDA_SUCCESS);
    EXPECT_EQ(bytes, std::size_t{24} << 10);
}

TEST_F(Launches, aCooperativeGridMeets) {
    // 20 SMs with two blocks of 1024 threads each: all 40 wait for each other.
    const CUdeviceptr p = allocate(40 * 4);
    ASSERT_EQ(cooperative(p, 40, 1024), CUDA_SUCCESS) << simulatorApi().lastError();
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
    for (const unsigned seen : download<unsigned>(p, 40)) EXPECT_GE(seen, 40u);
}

TEST_F(Launches, aCooperativeGridThatDoesNotFitIsTooLarge) {
    const CUdeviceptr p = allocate(41 * 4);
    EXPECT_EQ(cooperative(p, 41, 1024), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(Launches, attributesOfALaunchAreTakenOrRefusedByName) {
    CUdeviceptr p = allocate(8);
    void* parameters[] = {&p};
    CUlaunchAttribute attributes[2] = {};
    attributes[0].id = 2;  // cooperative
    attributes[0].value.cooperative = 1;
    attributes[1].id = 8;  // priority: a hint
    CUlaunchConfig config = {2, 1, 1, 32, 1, 1, 0, nullptr, attributes, 2};
    ASSERT_EQ(api.cuLaunchKernelEx(&config, function("rendezvous"), parameters, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
    attributes[1].id = 4;  // cluster
    attributes[1].value.clusterDim = {2, 1, 1};
    EXPECT_EQ(api.cuLaunchKernelEx(&config, function("rendezvous"), parameters, nullptr), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_NE(simulatorApi().lastError().find("cluster"), std::string::npos);
}

class GreenContexts : public DriverTest {
  protected:
    CUgreenCtx make(unsigned sms) {
        CUdevResource whole = {}, part = {};
        EXPECT_EQ(api.cuDeviceGetDevResource(device, &whole, kDevResourceSm), CUDA_SUCCESS);
        unsigned groups = 1;
        EXPECT_EQ(api.cuDevSmResourceSplitByCount(&part, &groups, &whole, nullptr, 0, sms), CUDA_SUCCESS);
        CUdevResourceDesc description = nullptr;
        EXPECT_EQ(api.cuDevResourceGenerateDesc(&description, &part, 1), CUDA_SUCCESS);
        CUgreenCtx green = nullptr;
        EXPECT_EQ(api.cuGreenCtxCreate(&green, description, device, 1), CUDA_SUCCESS) << simulatorApi().lastError();
        return green;
    }
};

TEST_F(GreenContexts, workStaysOnTheSmsOfItsContext) {
    const CUgreenCtx green = make(4);
    CUstream s = nullptr;
    ASSERT_EQ(api.cuGreenCtxStreamCreate(&s, green, 1, 0), CUDA_SUCCESS);
    constexpr unsigned kBlocks = 64;
    const CUdeviceptr p = allocate(kBlocks * 4);  // of the primary context: the address space is one
    ASSERT_EQ(launch("where", p, kBlocks, 1024, s), CUDA_SUCCESS) << simulatorApi().lastError();
    ASSERT_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
    std::vector<unsigned> used = download<unsigned>(p, kBlocks);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    EXPECT_EQ(used, (std::vector<unsigned>{0, 1, 2, 3}));
    EXPECT_EQ(api.cuGreenCtxDestroy(green), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(GreenContexts, itsContextWorksAsACurrentOne) {
    const CUgreenCtx green = make(3);
    CUcontext own = nullptr;
    ASSERT_EQ(api.cuCtxFromGreenCtx(&own, green), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSetCurrent(own), CUDA_SUCCESS);
    CUdevResource part = {};
    EXPECT_EQ(api.cuCtxGetDevResource(own, &part, kDevResourceSm), CUDA_SUCCESS);
    EXPECT_EQ(part.smCount(), 3u);
    const CUdeviceptr p = upload<unsigned>({1, 2});
    ASSERT_EQ(launch("twice", p, 1, 2), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(download<unsigned>(p, 2), (std::vector<unsigned>{2, 4}));
    api.cuCtxSetCurrent(context);
    EXPECT_EQ(api.cuGreenCtxDestroy(green), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSetCurrent(own), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

/// An H200, whose driver says of itself: 132 SMs, in shares of 8 at least and in multiples of 8.
class HopperShares : public GreenContexts {
    arch::DeviceProfile profile() const override { return arch::findProfile("h200"); }
};

TEST_F(HopperShares, sharesAreRoundedUpToWhatTheHardwareGives) {
    CUdevResource whole = {}, part = {};
    ASSERT_EQ(api.cuDeviceGetDevResource(device, &whole, kDevResourceSm), CUDA_SUCCESS);
    EXPECT_EQ(whole.sm.smCount, 132u);
    EXPECT_EQ(whole.sm.minSmPartitionSize, 8u);
    EXPECT_EQ(whole.sm.smCoscheduledAlignment, 8u);
    unsigned groups = 1;
    ASSERT_EQ(api.cuDevSmResourceSplitByCount(&part, &groups, &whole, nullptr, 0, 3), CUDA_SUCCESS);
    EXPECT_EQ(part.smCount(), 8u);
}

TEST_F(GreenContexts, splittingGivesDisjointGroupsAndTheRest) {
    CUdevResource whole = {}, parts[3] = {}, rest = {};
    ASSERT_EQ(api.cuDeviceGetDevResource(device, &whole, kDevResourceSm), CUDA_SUCCESS);
    unsigned groups = 0;
    EXPECT_EQ(api.cuDevSmResourceSplitByCount(nullptr, &groups, &whole, nullptr, 0, 6), CUDA_SUCCESS);
    EXPECT_EQ(groups, 3u);  // 20 / 6
    EXPECT_EQ(api.cuDevSmResourceSplitByCount(parts, &groups, &whole, &rest, 0, 6), CUDA_SUCCESS);
    EXPECT_EQ(groups, 3u);
    EXPECT_EQ(rest.smCount(), 2u);
    EXPECT_EQ(api.cuDevSmResourceSplitByCount(parts, &groups, &whole, &rest, 0, 21),
              CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CUdevResourceDesc description = nullptr;
    ASSERT_EQ(api.cuDevResourceGenerateDesc(&description, parts, 3), CUDA_SUCCESS);
    CUgreenCtx green = nullptr;
    ASSERT_EQ(api.cuGreenCtxCreate(&green, description, device, 1), CUDA_SUCCESS);
    CUdevResource joined = {};
    EXPECT_EQ(api.cuGreenCtxGetDevResource(green, &joined, kDevResourceSm), CUDA_SUCCESS);
    EXPECT_EQ(joined.smCount(), 18u);
}

TEST_F(GreenContexts, anEventGathersAllOfAContextsStreams) {
    const CUgreenCtx green = make(4);
    CUstream s[2];
    for (CUstream& made : s) ASSERT_EQ(api.cuGreenCtxStreamCreate(&made, green, 1, 0), CUDA_SUCCESS);
    const CUdeviceptr p = allocate(8);
    const CUevent ends[] = {event(), event()}, all = event();
    ASSERT_EQ(spin(p, 100, s[0]), CUDA_SUCCESS);
    ASSERT_EQ(spin(p + 4, 5000, s[1]), CUDA_SUCCESS);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(api.cuEventRecord(ends[i], s[i]), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGreenCtxRecordEvent(green, all), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventSynchronize(all), CUDA_SUCCESS);
    EXPECT_GT(seconds(ends[0], all), 0);
    EXPECT_EQ(seconds(ends[1], all), 0);
}

using Simulator = DriverTest;

TEST_F(Simulator, memoryTakesThePlacementThatWasSet) {
    sim::AllocationOptions options;
    options.pageBytes = 4096;
    options.colors = {1};
    ASSERT_EQ(simulatorApi().setAllocation(options), CUDA_SUCCESS);
    const CUdeviceptr p = allocate(5 * 4096);
    for (int page = 0; page < 5; ++page) {
        std::uint32_t color = 99;
        ASSERT_EQ(simulatorApi().pageColor(&color, p + static_cast<CUdeviceptr>(page) * 4096), CUDA_SUCCESS);
        EXPECT_EQ(color, 1u);
    }
    std::uint64_t physical = 0;
    EXPECT_EQ(simulatorApi().physicalAddress(&physical, 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulator, launchesAreListedInOrderWhileSomebodyKeepsThem) {
    const CUdeviceptr p = allocate(256);
    const auto launched = [&] {
        std::vector<sim::LaunchId> ids;
        EXPECT_EQ(simulatorApi().launches(&ids), CUDA_SUCCESS);
        return ids;
    };
    EXPECT_EQ(simulatorApi().keepLaunches(false), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(launch("twice", p, 1, 32), CUDA_SUCCESS);
    ASSERT_EQ(simulatorApi().keepLaunches(true), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", p, 1, 32), CUDA_SUCCESS);
    ASSERT_EQ(launch("where", p, 2, 32), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    const std::vector<sim::LaunchId> ids = launched();
    ASSERT_EQ(ids.size(), 2u);
    EXPECT_EQ(machine().record(ids[0]).kernel, "twice");
    EXPECT_EQ(machine().counters(ids[1]).blocks, 2u);
    EXPECT_THROW(machine().record(ids[0] - 1), Error);
    ASSERT_EQ(simulatorApi().keepLaunches(false), CUDA_SUCCESS);
    EXPECT_TRUE(launched().empty());
    EXPECT_THROW(machine().record(ids[1]), Error);
}

TEST_F(Simulator, whatIsNotWaitedForIsForgottenOnceItIs) {
    const CUdeviceptr p = allocate(256);
    ASSERT_EQ(simulatorApi().keepLaunches(true), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", p, 1, 32), CUDA_SUCCESS);
    std::vector<sim::LaunchId> ids;
    ASSERT_EQ(simulatorApi().launches(&ids), CUDA_SUCCESS);
    ASSERT_EQ(simulatorApi().keepLaunches(false), CUDA_SUCCESS);
    EXPECT_EQ(machine().record(ids.at(0)).kernel, "twice");
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_THROW(machine().record(ids.at(0)), Error);
    EXPECT_EQ(machine().totals().blocks, 1u);
}

}  // namespace
}  // namespace bulkhead::driver
