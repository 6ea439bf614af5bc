// Enclosures keep code that knows nothing of them on their SMs and in their memory.

#include "walls/walls.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "arch/device_profile.h"
#include "base/error.h"
#include "dissect/map_file.h"
#include "sm_sets.h"
#include "walls/context_registry.h"

namespace bulkhead::walls {
namespace {

/// Each block adds one for each of its threads to counts[block], and notes its SM in sms[block].
const char* const kCountPtx = R"(
.version 6.3
.target sm_60
.address_size 64
.visible .entry count(.param .u64 counts, .param .u64 sms)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd1, [counts];
	ld.param.u64 %rd2, [sms];
	mov.u32 %r1, %ctaid.z;
	mov.u32 %r2, %nctaid.y;
	mov.u32 %r3, %ctaid.y;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	mov.u32 %r2, %nctaid.x;
	mov.u32 %r3, %ctaid.x;
	mad.lo.u32 %r4, %r4, %r2, %r3;
	mul.wide.u32 %rd3, %r4, 4;
	add.u64 %rd4, %rd1, %rd3;
	red.global.add.u32 [%rd4], 1;
	mov.u32 %r5, %smid;
	add.u64 %rd5, %rd2, %rd3;
	st.global.u32 [%rd5], %r5;
	ret;
}
)";

/// Runs the counting kernel and checks that every block ran once. Returns the SMs that blocks noted.
std::set<unsigned> countBlocks(gpu::Context& context, gpu::Dim3 grid, gpu::Dim3 block, std::size_t shared = 0) {
    const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
    gpu::Kernel kernel = context.load(kCountPtx).kernel("count");
    auto counts = context.array(std::vector<std::uint32_t>(blocks, 0)), sms = counts;
    sms = context.array(std::vector<std::uint32_t>(blocks, ~0u));
    gpu::Stream stream = context.createStream();
    kernel.launch(stream, grid, block, shared, counts, sms);
    stream.synchronize();
    const std::uint32_t threads = block.x * block.y * block.z;
    EXPECT_EQ(counts.download(), std::vector<std::uint32_t>(blocks, threads));
    const auto noted = sms.download();
    return {noted.begin(), noted.end()};
}

TEST(ComputeWalls, BlocksOfAnyGridRunOnceInside) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled(gpu, {});
    const std::set<unsigned> inside = {1, 4, 5, 17};
    PartitionContext tenant = walled.enclose({setOf(walled, inside), {}, 0});
    EXPECT_EQ(countBlocks(tenant.context(), {1000}, {64}), inside);
    EXPECT_EQ(countBlocks(tenant.context(), {7, 11}, {16, 4}), inside);
    EXPECT_EQ(countBlocks(tenant.context(), {5, 7, 3}, {8, 2, 6}, 20000), inside);
    EXPECT_EQ(countBlocks(tenant.context(), {40}, {1024}), inside);
    EXPECT_EQ(tenant.smsUsed(), setOf(walled, inside));
    EXPECT_EQ(tenant.strayBlocks(), 0u);
}

TEST(ComputeWalls, LaunchesOfManyStreamsAllRunInside) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled(gpu, {});
    const std::set<unsigned> inside = {0, 9};
    PartitionContext tenant = walled.enclose({setOf(walled, inside), {}, 0});
    gpu::Context& context = tenant.context();
    gpu::Kernel kernel = context.load(kCountPtx).kernel("count");
    constexpr std::size_t kBlocks = 300, kStreams = 5;
    std::vector<gpu::Stream> streams;
    std::vector<gpu::Array<std::uint32_t>> counts, sms;
    for (std::size_t i = 0; i < kStreams; ++i) {
        streams.push_back(context.createStream());
        counts.push_back(context.array(std::vector<std::uint32_t>(kBlocks, 0)));
        sms.push_back(context.array(std::vector<std::uint32_t>(kBlocks, ~0u)));
    }
    for (int round = 0; round < 3; ++round)
        for (std::size_t i = 0; i < kStreams; ++i) kernel.launch(streams[i], {kBlocks}, {128}, 0, counts[i], sms[i]);
    context.synchronize();
    for (std::size_t i = 0; i < kStreams; ++i) {
        EXPECT_EQ(counts[i].download(), std::vector<std::uint32_t>(kBlocks, 3 * 128));
        for (const std::uint32_t sm : sms[i].download()) EXPECT_TRUE(inside.count(sm)) << sm;
    }
    EXPECT_EQ(tenant.strayBlocks(), 0u);
}

TEST(ComputeWalls, EnclosuresSideBySideDoNotMeet) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled(gpu, {});
    const std::set<unsigned> first = {0, 2, 4}, second = {1, 3};
    PartitionContext a = walled.enclose({setOf(walled, first), {}, 0}),
                     b = walled.enclose({setOf(walled, second), {}, 0});
    EXPECT_EQ(a.context().info().sms, 3);
    EXPECT_EQ(b.context().info().sms, 2);
    EXPECT_EQ(countBlocks(a.context(), {200}, {64}), first);
    EXPECT_EQ(countBlocks(b.context(), {200}, {64}), second);
    EXPECT_EQ(countBlocks(a.context(), {200}, {64}), first);
}

TEST(ComputeWalls, AKernelThatCannotBeWalledIsRefusedInWords) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled(gpu, {});
    PartitionContext tenant = walled.enclose({setOf(walled, {3}), {}, 0});
    const std::string arrives = kCountPtx + std::string(".visible .entry arrives()\n{\nbar.arrive 1, 64; ret;\n}\n");
    const driver::DriverApi& api = tenant.context().api();
    tenant.context().makeCurrent();
    driver::CUmodule module = nullptr;
    driver::CUfunction function = nullptr;
    ASSERT_EQ(api.cuModuleLoadData(&module, arrives.c_str()), driver::CUDA_SUCCESS);
    EXPECT_EQ(api.cuModuleGetFunction(&function, module, "arrives"), driver::CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_NE(lastError().find("half full"), std::string::npos) << lastError();
    EXPECT_EQ(api.cuModuleGetFunction(&function, module, "count"), driver::CUDA_SUCCESS);
}

/// What a program asks before it chooses a grid or shared memory must hold inside.
TEST(ComputeWalls, OccupancyAndSharedMemoryAreThoseOfTheShare) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled(gpu, {});
    PartitionContext tenant = walled.enclose({setOf(walled, {1, 4, 5, 17}), {}, 0});
    gpu::Context& context = tenant.context();
    std::string text = kCountPtx;
    text.insert(text.find(".visible"), ".extern .shared .align 16 .b8 dynamic[];\n");
    const gpu::Kernel kernel = context.load(text.c_str()).kernel("count");
    context.makeCurrent();
    const driver::DriverApi& api = context.api();
    int grid = 0, block = 0, shared = 0, fit = 0, own = -1;
    driver::CUdevice device = 0;
    ASSERT_EQ(api.cuCtxGetDevice(&device), driver::CUDA_SUCCESS);
    ASSERT_EQ(api.cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel.handle(), nullptr, 0, 0),
              driver::CUDA_SUCCESS);
    EXPECT_EQ(grid * block, 4 * 2048) << "all threads of four SMs";
    constexpr auto kShared = static_cast<driver::CUdevice_attribute>(driver::DeviceAttribute::sharedBytesPerBlock);
    ASSERT_EQ(api.cuDeviceGetAttribute(&shared, kShared, device), driver::CUDA_SUCCESS);
    ASSERT_EQ(
        api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel.handle(), 256, static_cast<std::size_t>(shared)),
        driver::CUDA_SUCCESS);
    EXPECT_GE(fit, 1) << "of blocks with all shared memory that the GPU says it has";
    constexpr auto kOwn = static_cast<driver::CUfunction_attribute>(driver::FunctionAttribute::sharedBytes);
    ASSERT_EQ(api.cuFuncGetAttribute(&own, kOwn, kernel.handle()), driver::CUDA_SUCCESS);
    EXPECT_EQ(own, 0) << "the kernel declares none";
    countBlocks(context, {40}, {256}, static_cast<std::size_t>(shared));
}

/// Which a program counts on without asking, where a block may have more when asked.
TEST(ComputeWalls, All48KBOfDynamicSharedMemoryCanBeHad) {
    auto gpu = gpu::Gpu::open("sim:v100");
    WalledGpu walled(gpu, {});
    const std::set<unsigned> inside = {1, 4};
    PartitionContext tenant = walled.enclose({setOf(walled, inside), {}, 0});
    EXPECT_EQ(countBlocks(tenant.context(), {40}, {256}, 48 * 1024), inside);
    EXPECT_THROW(countBlocks(tenant.context(), {40}, {256}, 48 * 1024 + 1024), Error) << "nor without walls";
}

TEST(ComputeWalls, SharedMemoryThatWallsHaveTakenIsMissedInWords) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled(gpu, {});
    PartitionContext tenant = walled.enclose({setOf(walled, {1, 4}), {}, 0});
    try {
        countBlocks(tenant.context(), {40}, {256}, 48 * 1024);
        FAIL() << "a block of this GPU has no more than 48 KB";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("walls leave count 49148 bytes"), std::string::npos) << error.what();
    }
}

TEST(ComputeWalls, NoSmOrAnUnknownColorIsRefused) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled(gpu, {});
    EXPECT_THROW(walled.enclose({SmSet(20, false), {}, 0}), Error);
    EXPECT_THROW(walled.enclose({SmSet(7, true), {}, 0}), Error);
    EXPECT_THROW(walled.enclose({{}, {0}, 1_MiB}), Error);
}

WalledGpu siteOfPages(gpu::Gpu& gpu) {
    WalledGpuOptions options;
    options.coloring = Coloring::pages;
    return {gpu, options};
}

TEST(MemoryWalls, MoreThanTheShareIsOutOfMemory) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled = siteOfPages(gpu);
    EXPECT_EQ(walled.colors(), 2u);
    PartitionContext tenant = walled.enclose({{}, {1}, 1_MiB});
    std::size_t free = 0, total = 0;
    tenant.context().makeCurrent();
    ASSERT_EQ(tenant.context().api().cuMemGetInfo(&free, &total), driver::CUDA_SUCCESS);
    EXPECT_EQ(total, 1_MiB);
    EXPECT_EQ(free, 1_MiB);
    driver::CUdevice device = 0;
    ASSERT_EQ(tenant.context().api().cuCtxGetDevice(&device), driver::CUDA_SUCCESS);
    ASSERT_EQ(tenant.context().api().cuDeviceTotalMem(&total, device), driver::CUDA_SUCCESS);
    EXPECT_EQ(total, 1_MiB);
    const gpu::Buffer some = tenant.context().allocate(700 * 1024);
    driver::CUdeviceptr more = 0;
    EXPECT_EQ(tenant.context().api().cuMemAlloc(&more, 400 * 1024), driver::CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(tenant.context().api().cuMemAlloc(&more, 300 * 1024), driver::CUDA_SUCCESS);
    ASSERT_EQ(tenant.context().api().cuMemGetInfo(&free, &total), driver::CUDA_SUCCESS);
    EXPECT_EQ(free, 24u * 1024);
    EXPECT_EQ(tenant.context().api().cuMemFree(more), driver::CUDA_SUCCESS);
    EXPECT_EQ(tenant.memoryUsed(), 700u * 1024);
}

TEST(MemoryWalls, AKernelWithAccessesThatCannotBeTranslatedIsRefusedByItself) {
    auto gpu = gpu::Gpu::open("sim:h200");
    WalledGpuOptions options;
    options.coloring = Coloring::sides;
    options.memory = 32_MiB;
    WalledGpu walled(gpu, options);
    PartitionContext tenant = walled.enclose({setOf(walled, {1, 2, 3}), {0}, 8_MiB});
    const std::string samples =
        ".visible .entry samples(.param .u64 view)\n{\n.reg .f32 %f<6>; .reg .b64 %rd;\nld.param.u64 %rd, [view]; "
        "tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd, {%f5}]; ret;\n}\n";
    const gpu::Module module = tenant.context().load((kCountPtx + samples).c_str());
    try {
        module.kernel("samples");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("cannot be translated"), std::string::npos) << error.what();
    }
    EXPECT_NO_THROW(module.kernel("count"));
}

/// Slices that an allocation's bytes are on, asked of the simulated GPU itself.
std::set<std::uint32_t> slicesOf(gpu::Gpu& gpu, const PartitionContext& tenant, const gpu::Buffer& buffer) {
    const arch::AddressMap& map = gpu.profile()->map;
    std::set<std::uint32_t> slices;
    for (std::size_t offset = 0; offset < buffer.bytes(); offset += 128) {
        const auto real = tenant.realAddress(buffer.address() + offset);
        slices.insert(map.locate(gpu.context().physicalAddress(real)).slice);
    }
    return slices;
}

bool disjoint(const std::set<std::uint32_t>& a, const std::set<std::uint32_t>& b) {
    return std::none_of(a.begin(), a.end(), [&](std::uint32_t x) { return b.count(x) != 0; });
}

TEST(MemoryWalls, PagesOfDifferentColorsShareNoSlice) {
    for (const char* name : {"sim:gtx1080", "sim:v100"}) {
        auto gpu = gpu::Gpu::open(name);
        WalledGpu walled = siteOfPages(gpu);
        std::vector<std::set<std::uint32_t>> slices;
        std::vector<PartitionContext> tenants;
        for (unsigned color = 0; color < walled.colors(); ++color) {
            tenants.push_back(walled.enclose({{}, {color}, 4_MiB}));
            const gpu::Buffer buffer = tenants.back().context().allocate(2_MiB);
            EXPECT_EQ(tenants.back().colorOf(buffer.address() + 12345), color);
            slices.push_back(slicesOf(gpu, tenants.back(), buffer));
            for (unsigned other = 0; other < color; ++other) EXPECT_TRUE(disjoint(slices[other], slices[color]));
        }
    }
}

TEST(MemoryWalls, SeveralColorsOfPagesTakeTurns) {
    auto gpu = gpu::Gpu::open("sim:v100");
    WalledGpu walled = siteOfPages(gpu);
    EXPECT_EQ(walled.colors(), 8u);
    PartitionContext tenant = walled.enclose({{}, {2, 5, 6}, 64_MiB});
    auto array = tenant.context().array<std::uint32_t>(8_MiB / 4);
    std::vector<std::uint32_t> content(array.size());
    std::iota(content.begin(), content.end(), 7u);
    array.upload(content);
    std::set<unsigned> colors;
    for (std::size_t offset = 0; offset < 8_MiB; offset += 4096)
        colors.insert(tenant.colorOf(array.address() + offset));
    EXPECT_EQ(colors, (std::set<unsigned>{2, 5, 6}));
    EXPECT_EQ(array.download(), content);
}

/// One walled by sides on a simulated H200, whose driver tells no colors: all that is known comes from timing.
class SideWalls : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        gpu_ = new gpu::Gpu(gpu::Gpu::open("sim:h200"));
        WalledGpuOptions options;
        options.coloring = Coloring::sides;
        options.memory = 64_MiB;
        walled_ = new WalledGpu(*gpu_, options);
    }
    static void TearDownTestSuite() {
        delete walled_;
        delete gpu_;
    }
    static inline gpu::Gpu* gpu_ = nullptr;
    static inline WalledGpu* walled_ = nullptr;
};

TEST_F(SideWalls, SidesOfSmsAreFound) {
    EXPECT_EQ(walled_->topology().sides(), 2u);
    const auto& sides = walled_->topology().sideOf;
    EXPECT_EQ(std::count(sides.begin(), sides.end(), 0), 66);
}

TEST_F(SideWalls, AnAllocationNeverCrossesItsColor) {
    PartitionContext a = walled_->enclose({{}, {0}, 16_MiB}), b = walled_->enclose({{}, {1}, 16_MiB});
    const gpu::Buffer small = a.context().allocate(5000), large = a.context().allocate(10_MiB),
                      other = b.context().allocate(10_MiB);
    const auto first = slicesOf(*gpu_, a, large), second = slicesOf(*gpu_, b, other);
    EXPECT_EQ(first.size(), 47u);
    EXPECT_EQ(second.size(), 47u);
    EXPECT_TRUE(disjoint(first, second));
    EXPECT_TRUE(disjoint(slicesOf(*gpu_, a, small), second));
    EXPECT_EQ(a.colorOf(large.address() + 1234567), 0u);
    EXPECT_EQ(b.colorOf(other.address() + 1234567), 1u);
}

/// Reductions of neighbouring lanes to an address within a sector reach into the next one: the sample would contend
/// with itself and be taken for any slice.
TEST_F(SideWalls, SampledAddressesAreWholeSectorsOfTheAllocation) {
    PartitionContext a = walled_->enclose({{}, {0}, 4_MiB});
    const gpu::Buffer before = a.context().allocate(700), buffer = a.context().allocate(100'000);
    std::set<driver::CUdeviceptr> ofBuffer;
    for (std::size_t offset = 0; offset < buffer.bytes(); ++offset)
        ofBuffer.insert(a.realAddress(buffer.address() + offset));
    const auto sampled = a.sampleSectors(buffer, 500, 3);
    EXPECT_GT(std::set(sampled.begin(), sampled.end()).size(), 400u) << "of some 3000 sectors";
    for (const driver::CUdeviceptr address : sampled) {
        EXPECT_EQ(address % 32, 0u);
        EXPECT_TRUE(ofBuffer.count(address) && ofBuffer.count(address + 31)) << address;
    }
}

TEST_F(SideWalls, TheColorIsTheSideThatSmsAreNearTo) {
    // Slices of side 0 are those that SMs of side 0 reach fast: the profile has them in halves.
    PartitionContext a = walled_->enclose({{}, {0}, 4_MiB});
    const gpu::Buffer buffer = a.context().allocate(1_MiB);
    const auto& profile = *gpu_->profile();
    for (const std::uint32_t slice : slicesOf(*gpu_, a, buffer))
        EXPECT_EQ(slice / (profile.map.slices() / 2), walled_->topology().sideOf.front());
}

TEST_F(SideWalls, CopiesAndFillsReachTheBytes) {
    PartitionContext tenant = walled_->enclose({{}, {1}, 16_MiB});
    gpu::Context& context = tenant.context();
    std::vector<std::uint8_t> content(300'001);
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::uint8_t>(i * 7 + i / 4096);
    auto a = context.array(content), b = context.array<std::uint8_t>(content.size());
    EXPECT_EQ(a.download(), content);
    gpu::Stream stream = context.createStream();
    b.buffer().fill(0x5a, stream);
    stream.synchronize();
    EXPECT_EQ(b.download(), std::vector<std::uint8_t>(content.size(), 0x5a));
    b.copyFrom(a, stream);
    stream.synchronize();
    EXPECT_EQ(b.download(), content);
    a.buffer().copyIn(content.data(), 1000, 4090);
    std::copy_n(content.begin(), 1000, content.begin() + 4090);
    EXPECT_EQ(a.download(), content);
}

TEST_F(SideWalls, RectanglesAreCopied) {
    PartitionContext tenant = walled_->enclose({{}, {0}, 16_MiB});
    gpu::Context& context = tenant.context();
    constexpr std::size_t kWidth = 300, kHeight = 40, kHostPitch = 333, kPitch = 512;
    std::vector<std::uint8_t> from(kHostPitch * kHeight), to(from.size(), 0);
    std::iota(from.begin(), from.end(), std::uint8_t{3});
    const gpu::Buffer buffer = context.allocate(kPitch * kHeight);
    context.makeCurrent();
    driver::CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = 1;
    copy.srcHost = from.data();
    copy.srcPitch = kHostPitch;
    copy.dstMemoryType = 2;
    copy.dstDevice = buffer.address();
    copy.dstPitch = kPitch;
    copy.WidthInBytes = kWidth;
    copy.Height = kHeight;
    ASSERT_EQ(context.api().cuMemcpy2D(&copy), driver::CUDA_SUCCESS);
    copy.srcMemoryType = 2;
    copy.srcDevice = buffer.address();
    copy.srcPitch = kPitch;
    copy.dstMemoryType = 1;
    copy.dstHost = to.data();
    copy.dstPitch = kHostPitch;
    ASSERT_EQ(context.api().cuMemcpy2D(&copy), driver::CUDA_SUCCESS);
    for (std::size_t y = 0; y < kHeight; ++y)
        for (std::size_t x = 0; x < kHostPitch; ++x)
            ASSERT_EQ(to[y * kHostPitch + x], x < kWidth ? from[y * kHostPitch + x] : 0) << x << ", " << y;
}

TEST_F(SideWalls, BoxesAreCopied) {
    PartitionContext tenant = walled_->enclose({{}, {1}, 16_MiB});
    gpu::Context& context = tenant.context();
    constexpr std::size_t kWidth = 100, kHeight = 6, kDepth = 3, kPitch = 128, kRows = 8;  // rows of a layer
    std::vector<std::uint8_t> from(kPitch * kRows * kDepth), to(from.size(), 0);
    std::iota(from.begin(), from.end(), std::uint8_t{7});
    const gpu::Buffer buffer = context.allocate(from.size());
    context.makeCurrent();
    driver::CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = 1;
    copy.srcHost = from.data();
    copy.dstMemoryType = 2;
    copy.dstDevice = buffer.address();
    copy.srcPitch = copy.dstPitch = kPitch;
    copy.srcHeight = copy.dstHeight = kRows;
    copy.srcY = copy.dstY = 1;
    copy.WidthInBytes = kWidth;
    copy.Height = kHeight;
    copy.Depth = kDepth;
    ASSERT_EQ(context.api().cuMemcpy3D(&copy), driver::CUDA_SUCCESS);
    buffer.copyOut(to.data(), to.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t x = i % kPitch, y = i / kPitch % kRows;
        const bool inside = x < kWidth && y >= 1 && y < 1 + kHeight;
        ASSERT_EQ(to[i], inside ? from[i] : 0) << i;
    }
}

TEST_F(SideWalls, KernelsKeepTheirAddresses) {
    PartitionContext tenant = walled_->enclose({setOf(*walled_, {5, 6, 131}), {0}, 16_MiB});
    EXPECT_EQ(countBlocks(tenant.context(), {5000}, {32}), (std::set<unsigned>{5, 6, 131}));
}

TEST_F(SideWalls, ReusedMemoryHoldsNobodysBytes) {
    driver::CUdeviceptr where = 0;
    {
        PartitionContext before = walled_->enclose({{}, {0}, 8_MiB});
        auto secret = before.context().array(std::vector<std::uint32_t>(100'000, 0xdeadbeef));
        where = before.realAddress(secret.address());
    }
    PartitionContext after = walled_->enclose({{}, {0}, 8_MiB});
    auto reused = after.context().array<std::uint32_t>(100'000);
    EXPECT_EQ(after.realAddress(reused.address()), where) << "the test needs the same memory";
    EXPECT_EQ(reused.download(), std::vector<std::uint32_t>(100'000, 0));
}

TEST(Enclosures, OutliveTheirSite) {
    auto gpu = gpu::Gpu::open("sim:h200");
    const auto made = [&] {
        WalledGpuOptions options;
        options.coloring = Coloring::sides;
        options.memory = 16_MiB;
        WalledGpu walled(gpu, options);
        return walled.enclose({{}, {1}, 4_MiB});
    };
    PartitionContext tenant = made();
    auto array = tenant.context().array(std::vector<std::uint32_t>(10'000, 3));
    EXPECT_EQ(array.download(), std::vector<std::uint32_t>(10'000, 3));
}

TEST_F(SideWalls, AllColorsTogetherAreNoWall) {
    PartitionContext tenant = walled_->enclose({setOf(*walled_, {2, 3}), {0, 1}, 8_MiB});
    EXPECT_EQ(countBlocks(tenant.context(), {500}, {32}), (std::set<unsigned>{2, 3}));
    driver::CUdeviceptr more = 0;
    tenant.context().makeCurrent();
    EXPECT_EQ(tenant.context().api().cuMemAlloc(&more, 9_MiB), driver::CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(SideWalls, TenantsOfOneColorHaveDifferentMemory) {
    PartitionContext a = walled_->enclose({{}, {0}, 8_MiB}), b = walled_->enclose({{}, {0}, 8_MiB});
    auto x = a.context().array(std::vector<std::uint32_t>(50'000, 1)),
         y = b.context().array(std::vector<std::uint32_t>(50'000, 2));
    EXPECT_EQ(x.download(), std::vector<std::uint32_t>(50'000, 1));
    EXPECT_EQ(y.download(), std::vector<std::uint32_t>(50'000, 2));
    EXPECT_THROW(walled_->enclose({{}, {0}, 20_MiB}), Error);
}

/// Slices have no names but by a page that serves as an example, so tenants are told apart, and all of their slices are
/// known to the simulated GPU.
TEST(SliceWalls, TenantsShareNoSlice) {
    gpu::SimulationOptions small;
    small.settings = {"sm.count=16"};  // takes less time to probe with
    auto gpu = gpu::Gpu::open("sim:h200", small);
    const dissect::MapFile map = dissect::readMapFile(BULKHEAD_SOURCE_DIR "/results/h200/dissect.json");
    WalledGpuOptions options;
    options.coloring = Coloring::slices;
    options.memory = 4_MiB;
    options.map = &map;
    WalledGpu walled(gpu, options);
    EXPECT_EQ(walled.colors(), 94u);
    for (const dissect::L2Region region : dissect::kL2Regions) {
        std::vector<unsigned> colors;
        for (unsigned color = 0; color < 94; ++color)
            if (walled.regionOf(color) == region) colors.push_back(color);
        PartitionContext inside = walled.enclose({{}, colors, 0});
        const gpu::Buffer buffer = inside.context().allocate(400_KiB);
        for (const std::uint32_t slice : slicesOf(gpu, inside, buffer))
            EXPECT_TRUE(slice / 47 == region.side && (slice % 47 < 24 ? 0 : 1) == region.half) << slice;
    }
    std::vector<std::set<std::uint32_t>> slices;
    std::vector<PartitionContext> tenants;
    for (unsigned tenant = 0; tenant < 3; ++tenant) {
        std::vector<unsigned> colors;
        for (unsigned color = 0; color < 15; ++color) colors.push_back(15 * tenant + color);
        tenants.push_back(walled.enclose({setOf(walled, {tenant, tenant + 8}), colors, 0}));
        const gpu::Buffer buffer = tenants.back().context().allocate(400_KiB);
        slices.push_back(slicesOf(gpu, tenants.back(), buffer));
        EXPECT_EQ(slices.back().size(), 15u);
        EXPECT_EQ(tenants.back().walls().memory, walled.memoryOf(colors));
        EXPECT_EQ(walled.countWrongColors(tenants.back(), buffer, 8, tenant), 0u);
        for (unsigned other = 0; other < tenant; ++other) EXPECT_TRUE(disjoint(slices[other], slices[tenant]));
        EXPECT_EQ(countBlocks(tenants.back().context(), {300}, {32}), (std::set<unsigned>{tenant, tenant + 8}));
    }
    EXPECT_THROW(walled.enclose({{}, {14, 50}, 0}), Error) << "a color that is in use together with others";
}

}  // namespace
}  // namespace bulkhead::walls
