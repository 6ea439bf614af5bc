// What keeps blocks on their SMs, and what it does to their times.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "driver/simulator_api.h"
#include "sim/observer.h"
#include "sm_sets.h"
#include "walls/green_place.h"
#include "walls/walls.h"

namespace bulkhead::walls {
namespace {

/// Each block notes its SM and stays for some cycles.
const char* const kStayPtx = R"(
.version 6.3
.target sm_60
.address_size 64
.visible .entry stay(.param .u64 sms, .param .u64 cycles)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [sms];
	ld.param.u64 %rd2, [cycles];
	mov.u64 %rd3, %clock64;
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %rd4, %r1, 4;
	add.u64 %rd5, %rd1, %rd4;
	mov.u32 %r2, %smid;
	st.global.u32 [%rd5], %r2;
$wait:
	mov.u64 %rd6, %clock64;
	sub.u64 %rd7, %rd6, %rd3;
	setp.lt.u64 %p1, %rd7, %rd2;
	@%p1 bra $wait;
	ret;
}
)";

WalledGpu siteWith(gpu::Gpu& gpu, BlockPlacement placement) {
    WalledGpuOptions options;
    options.placement = placement;
    return {gpu, options};
}

/// The SM of each block.
std::vector<std::uint32_t> stay(gpu::Context& context, unsigned blocks, std::uint64_t cycles = 2000) {
    gpu::Kernel kernel = context.load(kStayPtx).kernel("stay");
    auto sms = context.array(std::vector<std::uint32_t>(blocks, ~0u));
    gpu::Stream stream = context.createStream();
    kernel.launch(stream, {blocks}, {64}, 0, sms, cycles);
    stream.synchronize();
    return sms.download();
}

std::set<unsigned> different(const std::vector<std::uint32_t>& sms) {
    return {sms.begin(), sms.end()};
}

TEST(PlacementByDriver, BlocksStayInside) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled = siteWith(gpu, BlockPlacement::driver);
    const std::set<unsigned> first = {1, 4, 5, 17}, second = {0, 2};
    PartitionContext a = walled.enclose({setOf(walled, first), {}, 0}),
                     b = walled.enclose({setOf(walled, second), {}, 0});
    EXPECT_EQ(a.placement(), BlockPlacement::driver);
    EXPECT_EQ(a.context().info().sms, 4);
    EXPECT_EQ(different(stay(a.context(), 200)), first);
    EXPECT_EQ(different(stay(b.context(), 200)), second);
    EXPECT_EQ(a.smsUsed(), setOf(walled, first));
}

TEST(PlacementByDriver, GroupsOfTwoAreToldApart) {
    auto gpu = gpu::Gpu::open("sim:v100");
    WalledGpu walled = siteWith(gpu, BlockPlacement::driver);
    const std::set<unsigned> inside = {6, 7, 30, 31, 78, 79};
    PartitionContext tenant = walled.enclose({setOf(walled, inside), {}, 0});
    EXPECT_EQ(different(stay(tenant.context(), 400)), inside);
}

TEST(PlacementByDriver, HalvesOfAGroupCannotBeHad) {
    auto gpu = gpu::Gpu::open("sim:v100");
    WalledGpu walled = siteWith(gpu, BlockPlacement::driver);
    EXPECT_THROW(walled.enclose({setOf(walled, {6}), {}, 0}), Error);
}

TEST(PlacementByEither, BlocksPlaceThemselvesWhereTheDriverCannot) {
    auto gpu = gpu::Gpu::open("sim:v100");
    WalledGpu walled = siteWith(gpu, BlockPlacement::automatic);
    PartitionContext halves = walled.enclose({setOf(walled, {6, 9}), {}, 0}),
                     whole = walled.enclose({setOf(walled, {2, 3}), {}, 0});
    EXPECT_EQ(halves.placement(), BlockPlacement::blocks);
    EXPECT_EQ(whole.placement(), BlockPlacement::driver);
    EXPECT_EQ(different(stay(halves.context(), 100)), (std::set<unsigned>{6, 9}));
    EXPECT_EQ(different(stay(whole.context(), 100)), (std::set<unsigned>{2, 3}));
}

TEST(PlacementByDriver, PagesKeepTheirColor) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpuOptions options;
    options.coloring = Coloring::pages;
    options.placement = BlockPlacement::driver;
    WalledGpu walled(gpu, options);
    PartitionContext tenant = walled.enclose({setOf(walled, {0, 1}), {1}, 0});
    const gpu::Buffer buffer = tenant.context().allocate(1_MiB);
    for (Bytes offset = 0; offset < buffer.bytes(); offset += 4_KiB)
        EXPECT_EQ(tenant.colorOf(buffer.address() + offset), 1u);
}

/// The most blocks that an SM had of a grid of two for each, beside a neighbour that fills the others.
unsigned mostBlocksBesideABusyNeighbour(BlockPlacement placement) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpu walled = siteWith(gpu, placement);
    std::set<unsigned> lower, upper;
    for (unsigned sm = 0; sm < 20; ++sm) (sm < 10 ? lower : upper).insert(sm);
    PartitionContext a = walled.enclose({setOf(walled, lower), {}, 0}),
                     b = walled.enclose({setOf(walled, upper), {}, 0});
    gpu::Kernel neighbour = b.context().load(kStayPtx).kernel("stay");
    constexpr unsigned kNeighbours = 640;
    auto sms = b.context().array(std::vector<std::uint32_t>(kNeighbours, 0));
    gpu::Stream stream = b.context().createStream();
    constexpr std::uint64_t kCycles = 10'000;
    neighbour.launch(stream, {kNeighbours}, {64}, 0, sms, kCycles);
    std::vector<unsigned> blocks(20, 0);
    for (const std::uint32_t sm : stay(a.context(), 20, kCycles)) ++blocks[sm];
    return *std::max_element(blocks.begin(), blocks.end());
}

TEST(PlacementByBlocks, ABusyNeighbourDoesNotCrowdThem) {
    EXPECT_EQ(mostBlocksBesideABusyNeighbour(BlockPlacement::blocks), 2u);
}
TEST(PlacementByDriver, ABusyNeighbourDoesNotCrowdThem) {
    EXPECT_EQ(mostBlocksBesideABusyNeighbour(BlockPlacement::driver), 2u);
}

/// Where a launch's blocks ran, whatever %smid said.
class WhereBlocksRan : public sim::Observer {
  public:
    void blockStarted(Cycles, std::uint32_t sm, std::uint32_t, std::uint32_t, std::uint64_t) override {
        sms.insert(sm);
    }
    std::set<unsigned> sms;
};

// As clients of MPS see it. SMs of sides and halves are told by timing, and two partition contexts share none.
TEST(PlacementByDriver, FindsRegionsWhereEveryContextNumbersAnew) {
    WhereBlocksRan ran;
    gpu::SimulationOptions options;
    options.settings = {"sm.count=32"};
    options.observer = &ran;
    auto gpu = gpu::Gpu::open("sim:h200", options);
    driver::simulatorApi().setNumbering(true);
    WalledGpu walled = siteWith(gpu, BlockPlacement::driver);
    std::vector<PartitionContext> tenants;
    for (const dissect::L2Region region : dissect::kL2Regions) {
        SmSet sms(32, false);
        for (unsigned sm = 0; sm < 32; ++sm) sms[sm] = walled.topology().regionOf[sm] == region;
        tenants.push_back(walled.enclose({sms, {}, 0}));
        EXPECT_EQ(tenants.back().placement(), BlockPlacement::driver);
        ran.sms.clear();
        std::set<unsigned> names;
        for (unsigned name = 0; name < 8; ++name) names.insert(name);
        EXPECT_EQ(different(stay(tenants.back().context(), 64)), names);
        std::set<unsigned> expected;
        for (unsigned sm = 0; sm < 8; ++sm) expected.insert(16 * region.side + 8 * region.half + sm);
        EXPECT_EQ(ran.sms, expected);
    }
    driver::simulatorApi().setNumbering(false);
}

SmSet numbered(std::size_t count, const std::set<unsigned>& sms) {
    SmSet set(count, false);
    for (const unsigned sm : sms) set[sm] = true;
    return set;
}

// SMs 0, 3, 4, 7 are on side 0, the others on side 1; of groups of two, 1 and 2 are on side 0.
TEST(GroupsInPlaceOf, SmsAreThoseOfTheirRegionInOrder) {
    const dissect::L2Region a = {0, 0}, b = {1, 0};
    const std::vector<dissect::L2Region> ofSm = {a, b, b, a, a, b, b, a}, ofGroup = {b, a, a, b};
    const std::vector<unsigned> sizes(4, 2);
    const auto groups = [&](const std::set<unsigned>& sms) {
        return groupsInPlaceOf(numbered(8, sms), ofSm, ofGroup, sizes);
    };
    using Groups = std::vector<std::size_t>;
    EXPECT_EQ(groups({0, 3, 4, 7}), (Groups{1, 2}));
    EXPECT_EQ(groups({0, 3}), Groups{1});
    EXPECT_EQ(groups({4, 7}), Groups{2});
    EXPECT_EQ(groups({1, 2, 4, 7}), (Groups{2, 0}));
    EXPECT_EQ(groups({3, 4}), Groups{}) << "each half of another group";
    EXPECT_EQ(groupsInPlaceOf(numbered(8, {0, 3}), ofSm, {b, a, b, b}, sizes), Groups{}) << "regions of other sizes";
}

}  // namespace
}  // namespace bulkhead::walls
