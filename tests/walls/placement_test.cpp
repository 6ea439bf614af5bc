// What keeps blocks on their multiprocessors, and what it does to their times.

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

/// Each block notes its multiprocessor and stays for some cycles.
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

Site siteWith(gpu::Gpu& gpu, Placement placement) {
    SiteOptions options;
    options.placement = placement;
    return {gpu, options};
}

/// The multiprocessor of each block.
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
    Site site = siteWith(gpu, Placement::driver);
    const std::set<unsigned> first = {1, 4, 5, 17}, second = {0, 2};
    Enclosure a = site.enclose({setOf(site, first), {}, 0}), b = site.enclose({setOf(site, second), {}, 0});
    EXPECT_EQ(a.placement(), Placement::driver);
    EXPECT_EQ(a.context().info().multiprocessors, 4);
    EXPECT_EQ(different(stay(a.context(), 200)), first);
    EXPECT_EQ(different(stay(b.context(), 200)), second);
    EXPECT_EQ(a.multiprocessorsUsed(), setOf(site, first));
}

TEST(PlacementByDriver, GroupsOfTwoAreToldApart) {
    auto gpu = gpu::Gpu::open("sim:v100");
    Site site = siteWith(gpu, Placement::driver);
    const std::set<unsigned> inside = {6, 7, 30, 31, 78, 79};
    Enclosure enclosure = site.enclose({setOf(site, inside), {}, 0});
    EXPECT_EQ(different(stay(enclosure.context(), 400)), inside);
}

TEST(PlacementByDriver, HalvesOfAGroupCannotBeHad) {
    auto gpu = gpu::Gpu::open("sim:v100");
    Site site = siteWith(gpu, Placement::driver);
    EXPECT_THROW(site.enclose({setOf(site, {6}), {}, 0}), Error);
}

TEST(PlacementByEither, BlocksPlaceThemselvesWhereTheDriverCannot) {
    auto gpu = gpu::Gpu::open("sim:v100");
    Site site = siteWith(gpu, Placement::automatic);
    Enclosure halves = site.enclose({setOf(site, {6, 9}), {}, 0}), whole = site.enclose({setOf(site, {2, 3}), {}, 0});
    EXPECT_EQ(halves.placement(), Placement::blocks);
    EXPECT_EQ(whole.placement(), Placement::driver);
    EXPECT_EQ(different(stay(halves.context(), 100)), (std::set<unsigned>{6, 9}));
    EXPECT_EQ(different(stay(whole.context(), 100)), (std::set<unsigned>{2, 3}));
}

TEST(PlacementByDriver, PagesKeepTheirColor) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    SiteOptions options;
    options.coloring = Coloring::pages;
    options.placement = Placement::driver;
    Site site(gpu, options);
    Enclosure enclosure = site.enclose({setOf(site, {0, 1}), {1}, 0});
    const gpu::Buffer buffer = enclosure.context().allocate(1_MiB);
    for (Bytes offset = 0; offset < buffer.bytes(); offset += 4_KiB)
        EXPECT_EQ(enclosure.colorOf(buffer.address() + offset), 1u);
}

/// The most blocks that a multiprocessor had of a grid of two for each, beside a neighbour that fills the others.
unsigned mostBlocksBesideABusyNeighbour(Placement placement) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    Site site = siteWith(gpu, placement);
    std::set<unsigned> lower, upper;
    for (unsigned sm = 0; sm < 20; ++sm) (sm < 10 ? lower : upper).insert(sm);
    Enclosure a = site.enclose({setOf(site, lower), {}, 0}), b = site.enclose({setOf(site, upper), {}, 0});
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
    EXPECT_EQ(mostBlocksBesideABusyNeighbour(Placement::blocks), 2u);
}
TEST(PlacementByDriver, ABusyNeighbourDoesNotCrowdThem) {
    EXPECT_EQ(mostBlocksBesideABusyNeighbour(Placement::driver), 2u);
}

/// Where a launch's blocks ran, whatever %smid said.
class WhereBlocksRan : public sim::Observer {
  public:
    void blockStarted(Cycles, std::uint32_t sm, std::uint32_t, std::uint32_t, std::uint64_t) override {
        sms.insert(sm);
    }
    std::set<unsigned> sms;
};

// As clients of MPS see it. Multiprocessors of sides and halves are told by timing, and two enclosures share none.
TEST(PlacementByDriver, FindsQuartersWhereEveryContextNumbersAnew) {
    WhereBlocksRan ran;
    gpu::SimulationOptions options;
    options.settings = {"sm.count=32"};
    options.observer = &ran;
    auto gpu = gpu::Gpu::open("sim:h200", options);
    driver::simulator().setNumbering(true);
    Site site = siteWith(gpu, Placement::driver);
    std::vector<Enclosure> enclosures;
    for (unsigned quarter = 0; quarter < 4; ++quarter) {
        SmSet sms(32, false);
        for (unsigned sm = 0; sm < 32; ++sm) sms[sm] = site.topology().quarterOf[sm] == quarter;
        enclosures.push_back(site.enclose({sms, {}, 0}));
        EXPECT_EQ(enclosures.back().placement(), Placement::driver);
        ran.sms.clear();
        std::set<unsigned> names;
        for (unsigned name = 0; name < 8; ++name) names.insert(name);
        EXPECT_EQ(different(stay(enclosures.back().context(), 64)), names);
        std::set<unsigned> expected;
        for (unsigned sm = 0; sm < 8; ++sm) expected.insert(8 * quarter + sm);
        EXPECT_EQ(ran.sms, expected);
    }
    driver::simulator().setNumbering(false);
}

SmSet numbered(std::size_t count, const std::set<unsigned>& sms) {
    SmSet set(count, false);
    for (const unsigned sm : sms) set[sm] = true;
    return set;
}

// Multiprocessors 0, 3, 4, 7 are in quarter 0, the others in quarter 2; of groups of two, 1 and 2 are in quarter 0.
TEST(GroupsInPlaceOf, MultiprocessorsAreThoseOfTheirQuarterInOrder) {
    const std::vector<std::uint8_t> ofSm = {0, 2, 2, 0, 0, 2, 2, 0}, ofGroup = {2, 0, 0, 2};
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
    EXPECT_EQ(groupsInPlaceOf(numbered(8, {0, 3}), ofSm, {2, 0, 2, 2}, sizes), Groups{}) << "quarters of other sizes";
}

}  // namespace
}  // namespace bulkhead::walls
