#include <algorithm>
#include <numeric>

#include "support.h"

namespace bulkhead::driver {
namespace {

class Copies : public DriverTest {
  protected:
    /// Simulated seconds that whatever `work` puts into the stream takes.
    template <class Work>
    double timed(CUstream on, Work&& work) {
        const CUevent start = event(), end = event();
        EXPECT_EQ(api.cuEventRecord(start, on), CUDA_SUCCESS);
        work();
        EXPECT_EQ(api.cuEventRecord(end, on), CUDA_SUCCESS);
        EXPECT_EQ(api.cuEventSynchronize(end), CUDA_SUCCESS) << simulatorApi().lastError();
        return seconds(start, end);
    }
    static constexpr std::size_t kBytes = 12'000'000;
};

TEST_F(Copies, aCopyFromTheHostTakesItsBytesOverTheLink) {
    // 12 MB at 12 GB/s: 1 ms, to within a cycle.
    const CUdeviceptr p = allocate(kBytes);
    const std::vector<std::uint8_t> host(kBytes, 3);
    EXPECT_NEAR(timed(nullptr, [&] { api.cuMemcpyHtoD(p, host.data(), kBytes); }), 1e-3, 2 * cycleSeconds());
}

TEST_F(Copies, aCopyOnTheDeviceReadsAndWritesDram) {
    const CUdeviceptr from = allocate(kBytes), to = allocate(kBytes);
    // 8 channels of 32 bytes at 1251 MHz.
    const double expected = 2.0 * kBytes / (8 * 32 * 1251e6);
    EXPECT_NEAR(timed(nullptr, [&] { api.cuMemcpyDtoD(to, from, kBytes); }), expected, 2 * cycleSeconds());
    EXPECT_NEAR(timed(nullptr, [&] { api.cuMemsetD8(to, 1, kBytes); }), expected / 2, 2 * cycleSeconds());
}

TEST_F(Copies, twoCopiesOneWayShareTheLinkAndTwoWaysDoNot) {
    void *in[2], *out = nullptr;
    for (void*& pinned : in) ASSERT_EQ(api.cuMemAllocHost(&pinned, kBytes), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemAllocHost(&out, kBytes), CUDA_SUCCESS);
    const CUdeviceptr p[] = {allocate(kBytes), allocate(kBytes), allocate(kBytes)};
    const CUstream s[] = {stream(1), stream(1)};
    const auto both = [&](auto first, auto second) {
        const CUevent start = event(), ends[] = {event(), event()};
        api.cuEventRecord(start, s[0]);
        first(s[0]);
        second(s[1]);
        for (int i = 0; i < 2; ++i) api.cuEventRecord(ends[i], s[i]);
        EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
        return std::max(seconds(start, ends[0]), seconds(start, ends[1]));
    };
    const auto upload = [&](int i) {
        return [&, i](CUstream on) { EXPECT_EQ(api.cuMemcpyHtoDAsync(p[i], in[i], kBytes, on), CUDA_SUCCESS); };
    };
    const auto fetch = [&](CUstream on) { EXPECT_EQ(api.cuMemcpyDtoHAsync(out, p[2], kBytes, on), CUDA_SUCCESS); };
    EXPECT_NEAR(both(upload(0), upload(1)), 2e-3, 4 * cycleSeconds());
    EXPECT_NEAR(both(upload(0), fetch), 1e-3, 4 * cycleSeconds());
    for (void* pinned : {in[0], in[1], out}) api.cuMemFreeHost(pinned);
}

TEST_F(Copies, besideAKernelThatLeavesMemoryAloneTheyTakeTheirTime) {
    constexpr std::size_t kSome = 1'200'000;
    const double link = kSome / 12e9, dram = kSome / (8 * 32 * 1251e6);
    const CUdeviceptr from = allocate(kSome), to = allocate(kSome), busy = allocate(4);
    std::vector<std::uint8_t> host(kSome);
    std::iota(host.begin(), host.end(), std::uint8_t{0});
    void* pinned = nullptr;
    ASSERT_EQ(api.cuMemAllocHost(&pinned, kSome), CUDA_SUCCESS);
    std::copy(host.begin(), host.end(), static_cast<std::uint8_t*>(pinned));
    const CUstream kernels = stream(1), copies = stream(1);
    // A round of three instructions takes some ten cycles: the kernel outlives all copies.
    ASSERT_EQ(spin(busy, 200'000, kernels), CUDA_SUCCESS);
    CUDA_MEMCPY2D rows = {};
    rows.srcMemoryType = rows.dstMemoryType = 2;  // CU_MEMORYTYPE_DEVICE
    rows.srcDevice = from, rows.dstDevice = to;
    rows.srcPitch = rows.dstPitch = 4096;
    rows.WidthInBytes = 2048, rows.Height = 256;
    // Rows of DRAM are opened and the last line is awaited, which by itself a copy does not.
    const auto expectAbout = [](double measured, double expected) {
        EXPECT_GE(measured, 0.99 * expected);
        EXPECT_LE(measured, 1.15 * expected + 2e-6);
    };
    expectAbout(timed(copies, [&] { api.cuMemcpyHtoDAsync(from, pinned, kSome, copies); }), link);
    expectAbout(timed(copies, [&] { api.cuMemcpyDtoDAsync(to, from, kSome, copies); }), 2 * dram);
    EXPECT_EQ(download<std::uint8_t>(to, kSome), host);
    expectAbout(timed(copies, [&] { api.cuMemsetD8Async(to, 9, kSome, copies); }), dram);
    expectAbout(timed(copies, [&] { api.cuMemcpy2DAsync(&rows, copies); }), 2.0 * 2048 * 256 / (8 * 32 * 1251e6));
    expectAbout(timed(copies, [&] { api.cuMemcpyDtoHAsync(pinned, to, kSome, copies); }), link);
    EXPECT_EQ(static_cast<std::uint8_t*>(pinned)[2047], host[2047]);
    EXPECT_EQ(static_cast<std::uint8_t*>(pinned)[2048], 9);
    EXPECT_EQ(api.cuStreamQuery(kernels), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    api.cuMemFreeHost(pinned);
}

TEST_F(Copies, pageableMemoryMayChangeAfterTheCallAndPinnedMayNot) {
    const CUstream s = stream(1);
    const CUdeviceptr busy = allocate(4), fromPageable = allocate(4), fromPinned = allocate(4);
    unsigned pageable = 1;
    void* pinned = nullptr;
    ASSERT_EQ(api.cuMemAllocHost(&pinned, 4), CUDA_SUCCESS);
    *static_cast<unsigned*>(pinned) = 1;
    ASSERT_EQ(spin(busy, 100, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyHtoDAsync(fromPageable, &pageable, 4, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyHtoDAsync(fromPinned, pinned, 4, s), CUDA_SUCCESS);
    pageable = 2;
    *static_cast<unsigned*>(pinned) = 2;
    ASSERT_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(fromPageable, 1).at(0), 1u);
    EXPECT_EQ(download<unsigned>(fromPinned, 1).at(0), 2u);
    api.cuMemFreeHost(pinned);
}

TEST_F(Copies, theUnifiedCopyFindsOutWhichSideIsWhose) {
    const std::vector<unsigned> values = {1, 2, 3, 4};
    std::vector<unsigned> back(4);
    const CUdeviceptr a = allocate(16), b = allocate(16);
    EXPECT_EQ(api.cuMemcpy(a, reinterpret_cast<CUdeviceptr>(values.data()), 16), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpy(b, a, 16), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpy(reinterpret_cast<CUdeviceptr>(back.data()), b, 16), CUDA_SUCCESS);
    EXPECT_EQ(back, values);
}

TEST_F(Copies, badRangesAreRefused) {
    const CUdeviceptr p = allocate(1 << 21);
    std::uint8_t host[16] = {};
    EXPECT_EQ(api.cuMemcpyHtoD(p + (1 << 21) - 8, host, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(host), host, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemcpyHtoD(p, nullptr, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemcpyHtoD(p, host, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD32(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuMemFree(p), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemcpyDtoH(host, p, 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copies, fillsRepeatTheirValue) {
    const CUdeviceptr p = upload(std::vector<std::uint8_t>(16, 0xff));
    EXPECT_EQ(api.cuMemsetD16(p + 2, 0x1234, 2), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD32(p + 8, 0xa0b0c0d0, 1), CUDA_SUCCESS);
    const std::vector<std::uint8_t> expected = {0xff, 0xff, 0x34, 0x12, 0x34, 0x12, 0xff, 0xff,
                                                0xd0, 0xc0, 0xb0, 0xa0, 0xff, 0xff, 0xff, 0xff};
    EXPECT_EQ(download<std::uint8_t>(p, 16), expected);
}

TEST_F(Copies, aRectangleIsCopiedRowByRow) {
    // 3 rows of 4 bytes from the middle of an 8 x 6 image into rows 16 bytes apart.
    std::vector<std::uint8_t> image(48);
    std::iota(image.begin(), image.end(), std::uint8_t{0});
    const CUdeviceptr p = allocate(64);
    ASSERT_EQ(api.cuMemsetD2D8(p, 16, 0xee, 16, 4), CUDA_SUCCESS);
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = 1, copy.srcHost = image.data(), copy.srcPitch = 8, copy.srcXInBytes = 2, copy.srcY = 1;
    copy.dstMemoryType = 2, copy.dstDevice = p, copy.dstPitch = 16, copy.dstXInBytes = 1, copy.dstY = 1;
    copy.WidthInBytes = 4, copy.Height = 3;
    ASSERT_EQ(api.cuMemcpy2D(&copy), CUDA_SUCCESS) << simulatorApi().lastError();
    const std::vector<std::uint8_t> got = download<std::uint8_t>(p, 64);
    for (std::size_t y = 0; y < 4; ++y)
        for (std::size_t x = 0; x < 16; ++x) {
            const bool inside = y >= 1 && x >= 1 && x < 5;
            const auto expected = static_cast<std::uint8_t>(inside ? (y - 1 + 1) * 8 + (x - 1 + 2) : 0xee);
            EXPECT_EQ(got[y * 16 + x], expected) << x << " " << y;
        }
}

TEST_F(Copies, aBoxIsCopiedSliceBySlice) {
    std::vector<std::uint8_t> box(4 * 3 * 2);
    std::iota(box.begin(), box.end(), std::uint8_t{0});
    const CUdeviceptr p = upload(box);
    std::vector<std::uint8_t> got(2 * 2 * 2);
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = 4, copy.srcDevice = p, copy.srcPitch = 4, copy.srcHeight = 3, copy.srcXInBytes = 1;
    copy.dstMemoryType = 1, copy.dstHost = got.data(), copy.dstPitch = 2, copy.dstHeight = 2;
    copy.WidthInBytes = 2, copy.Height = 2, copy.Depth = 2;
    ASSERT_EQ(api.cuMemcpy3D(&copy), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(got, (std::vector<std::uint8_t>{1, 2, 5, 6, 13, 14, 17, 18}));
    copy.srcMemoryType = 3;
    EXPECT_EQ(api.cuMemcpy3D(&copy), CUDA_ERROR_INVALID_HANDLE);
    copy.srcMemoryType = 4, copy.Height = std::size_t{1} << 60;
    EXPECT_EQ(api.cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copies, memoryOfAnotherGpuIsReachedByAPeerCopy) {
    const CUdeviceptr here = upload<unsigned>({5, 6, 7});
    const CUdevice otherDevice = simulatorApi().addDevice(profile(), {});
    CUcontext other = nullptr;
    ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&other, otherDevice), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxPushCurrent(other), CUDA_SUCCESS);
    const CUdeviceptr there = allocate(12);
    ASSERT_EQ(api.cuMemcpyPeer(there, other, here, context, 12), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(download<unsigned>(there, 3), (std::vector<unsigned>{5, 6, 7}));
    api.cuCtxPopCurrent(&other);
    simulatorApi().removeDevice(otherDevice);
}

}  // namespace
}  // namespace bulkhead::driver
