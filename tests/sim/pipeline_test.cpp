// Timing inside an SM: differences of kernels that differ in one thing, so that launch and prologue cancel out.

#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::repeat;

const Harness::Shape kOneWarp{{1}, {32}};

Cycles extra(Harness& h, const std::string& with, const std::string& without, const Harness::Shape& shape = kOneWarp,
             const std::vector<std::uint64_t>& arguments = {}) {
    return h.cycles(kernelText(with), shape, arguments) - h.cycles(kernelText(without), shape, arguments);
}

// gtx480: one instruction a scheduler and cycle. Where it matters, integer results are there after 4 cycles.
const std::string kFourCycles = "op.integer.latency=4";

TEST(Pipeline, aChainOfDependentAddsTakesTheLatencyEach) {
    Harness h;
    const std::string add = "add.s32 %r1, %r1, %r2;\n";
    EXPECT_EQ(extra(h, repeat(120, add), repeat(20, add)), 100u * h.gpu.profile().latency[0]);
}

TEST(Pipeline, independentInstructionsIssueOneACycle) {
    Harness h("gtx480", {kFourCycles});
    // Eight chains in turn: each register is used again after eight cycles, twice the latency.
    std::string round;
    for (int i = 0; i < 8; ++i)
        round += "add.s32 %r" + std::to_string(10 + i) + ", %r" + std::to_string(10 + i) + ", 1;\n";
    EXPECT_EQ(extra(h, repeat(60, round), repeat(10, round)), 50u * 8);
}

TEST(Pipeline, manyWarpsHideTheLatencyOfAChain) {
    Harness h("gtx480", {kFourCycles});
    const std::string add = "add.s32 %r1, %r1, %r2;\n";
    // 16 warps on 2 schedulers: 8 warps each, more than the latency of 4: one instruction a scheduler and cycle.
    const Cycles grown = extra(h, repeat(120, add), repeat(20, add), {{1}, {512}});
    EXPECT_EQ(grown, 100u * 16 / 2);
}

TEST(Pipeline, theSpecialUnitTakesItsInterval) {
    // Round robin: the oldest would run ahead, and the last warps would wait for themselves.
    Machine::Options lrr;
    lrr.scheduler = "lrr";
    Harness h("gtx480", {"op.special.interval=8", "op.special.latency=20"}, lrr);
    const std::string sine = "sin.approx.f32 %f1, %f1;\n";
    EXPECT_EQ(extra(h, repeat(60, sine), repeat(10, sine)), 50u * 20);
    // Eight warps: the unit, one for the SM, is busy all the time.
    EXPECT_EQ(extra(h, repeat(60, sine), repeat(10, sine), {{1}, {256}}), 50u * 8 * 8);
}

/// Cycles between the ends of two warps, one a scheduler, that do the same.
Cycles apart(const std::string& body, const std::string& declarations = "") {
    Harness h;
    const VirtualAddress ends = h.buffer(8);
    const std::string note =
        "mov.u32 %r1, %clock; mov.u32 %r2, %tid.x; shr.u32 %r2, %r2, 5; mul.wide.u32 %rd4, %r2, 4;\n"
        "add.u64 %rd4, %rd1, %rd4; st.global.u32 [%rd4], %r1;\n";
    h.cycles(kernelText(body + note, declarations), {{1}, {64}}, {ends});
    const auto* end = h.data<std::uint32_t>(ends, 2);
    return end[1] > end[0] ? end[1] - end[0] : end[0] - end[1];
}

TEST(Pipeline, schedulersTakeTurnsAtAUnitThatTheyShare) {
    // Forty instructions of two warps for one unit: were one scheduler always first, the other warp would end forty
    // intervals later. In turn they end one interval apart.
    std::string loads, sines;
    for (int i = 10; i < 50; ++i) {
        loads += "ld.shared.u32 %r" + std::to_string(i) + ", [room];\n";
        sines += "sin.approx.f32 %f" + std::to_string(i) + ", %f1;\n";
    }
    const arch::DeviceProfile profile = arch::findProfile("gtx480");
    const auto& interval = profile.interval;
    EXPECT_LE(apart(loads, ".shared .align 4 .b8 room[4];\n"), interval[static_cast<int>(arch::OpClass::memory)]);
    EXPECT_LE(apart(sines), interval[static_cast<int>(arch::OpClass::special)]);
}

TEST(Pipeline, sharedLoadsPayAPassPerBankConflict) {
    for (unsigned stride : {1u, 2u, 8u, 32u}) {
        Harness h("gtx480", {"shared.latency=20", kFourCycles});
        const std::string setUp =
            "mov.u32 %r1, %tid.x; mul.lo.s32 %r1, %r1, " + std::to_string(4 * stride) + "; mov.u32 %r2, 0;\n";
        // A chain: the address of each load depends on the one before (shared memory holds zeros).
        const std::string load = "add.s32 %r3, %r1, %r2; ld.shared.u32 %r2, [%r3];\n";
        const Harness::Shape shape{{1}, {32}, 8192, {}, 0};
        const std::string declare = ".extern .shared .align 4 .b8 room[];\n";
        const Cycles grown = h.cycles(kernelText(setUp + repeat(60, load), declare), shape) -
                             h.cycles(kernelText(setUp + repeat(10, load), declare), shape);
        // 4 for the add, 20 for the load, and a cycle for every pass beyond the first.
        EXPECT_EQ(grown, 50u * (4 + 20 + stride - 1)) << stride;
    }
}

TEST(Pipeline, aBarrierCostsTheControlLatencyOnceAllAreThere) {
    Harness h("gtx480", {"op.control.latency=6"});
    const std::string wait = "bar.sync 0;\n";
    // One warp: the barrier completes at once and the next instruction follows after the latency.
    EXPECT_EQ(extra(h, repeat(30, wait), repeat(10, wait)), 20u * 6);
}

TEST(Pipeline, warpsArriveAtABarrierOneAfterTheOther) {
    Harness h("gtx480", {"sm.barrierLatency=9", "sm.barrierInterval=2", "op.control.latency=7"});
    const std::string barrier = "bar.sync 0;\n";
    for (const unsigned warps : {1U, 4U, 16U}) {
        const Cycles each = extra(h, repeat(60, barrier), repeat(10, barrier), {{1}, {warps * 32}}) / 50;
        EXPECT_EQ(each, 7u + 9 + 2 * (warps - 1)) << warps << " warps";
    }
}

TEST(Pipeline, aGuardIsThereLaterThanAnOperand) {
    Harness h("gtx480", {"sm.guardLatency=8"});
    const Cycles latency = static_cast<Cycles>(h.gpu.profile().latency[0]);
    const std::string compare = "setp.gt.s32 %p1, %r1, %r2;\n";
    const std::string guarded = compare + "@%p1 add.s32 %r1, %r1, 1;\n",
                      selects = compare + "selp.s32 %r1, %r1, 3, %p1;\n";
    EXPECT_EQ(extra(h, repeat(120, guarded), repeat(20, guarded)), 100u * (2 * latency + 8));
    EXPECT_EQ(extra(h, repeat(120, selects), repeat(20, selects)), 100u * 2 * latency);
}

TEST(Pipeline, issueWidthTwoIssuesPairsOfIndependentInstructions) {
    const std::string pair = "add.s32 %r1, %r1, 1; add.s32 %r2, %r2, 1;\n";
    Harness one("gtx480", {kFourCycles});
    EXPECT_EQ(extra(one, repeat(120, pair), repeat(20, pair)), 100u * 4);  // bound by the chains
    Harness fast("gtx480", {"op.integer.latency=1"}), faster("gtx480", {"op.integer.latency=1", "sm.issueWidth=2"});
    EXPECT_EQ(extra(fast, repeat(120, pair), repeat(20, pair)), 200u);
    EXPECT_EQ(extra(faster, repeat(120, pair), repeat(20, pair)), 100u);
}

// ---- occupancy

Occupancy occupancyFor(const std::string& body, Dim3 block, std::uint32_t shared = 0,
                       const std::vector<std::string>& settings = {}) {
    Harness h("gtx480", settings);
    return h.gpu.record(h.run(kernelText(body), {{1}, block, shared, {}, 0})).occupancy;
}

TEST(Occupancy, eachResourceCanBeTheLimit) {
    // 1536 threads: three blocks of 512. At most 8 blocks. 48 KB: three blocks of 16 KB. 32768 registers.
    EXPECT_EQ(occupancyFor("", {512}).blocksPerSm, 3u);
    EXPECT_EQ(occupancyFor("", {512}).limit, "threads");
    EXPECT_EQ(occupancyFor("", {32}).blocksPerSm, 8u);
    EXPECT_EQ(occupancyFor("", {32}).limit, "blocks");
    EXPECT_EQ(occupancyFor("", {32}, 16384).blocksPerSm, 3u);
    EXPECT_EQ(occupancyFor("", {32}, 16384).limit, "shared memory");
    const Occupancy tight = occupancyFor("", {256}, 0, {"sm.registers=4096"});
    EXPECT_EQ(tight.limit, "registers");
    EXPECT_EQ(tight.blocksPerSm, 4096 / tight.needs.registers);
}

TEST(Occupancy, whatCannotFitIsRefusedAtTheLaunch) {
    Harness h;
    EXPECT_THROW(h.run(kernelText(""), {{1}, {2048}}), Error);
    EXPECT_THROW(h.run(kernelText(""), {{1}, {32}, 1 << 20, {}, 0}), Error);
    EXPECT_THROW(h.run(kernelText(""), {{0}, {32}}), Error);
    EXPECT_THROW(h.run(kernelText(""), {{1}, {0}}), Error);
    EXPECT_NO_THROW(h.cycles(kernelText(""), kOneWarp));
}

TEST(Occupancy, moreValuesAliveNeedMoreRegisters) {
    std::string many;
    for (int i = 0; i < 40; ++i) many += "add.s32 %r" + std::to_string(10 + i) + ", %r1, " + std::to_string(i) + ";\n";
    for (int i = 0; i < 40; ++i) many += "add.s32 %r2, %r2, %r" + std::to_string(10 + i) + ";\n";
    many += "st.global.u32 [%rd1], %r2;\n";
    Harness h;
    const VirtualAddress out = h.buffer(4);
    const LaunchId wide = h.run(kernelText(many), kOneWarp, {out}), narrow = h.run(kernelText(""), kOneWarp);
    EXPECT_GE(h.gpu.record(wide).occupancy.needs.registers, h.gpu.record(narrow).occupancy.needs.registers + 32 * 32);
}

// ---- schedulers

TEST(Pipeline, theYoungestWarpStarvesUnlessAWaitHasAnEnd) {
    // 31 warps keep LD/ST busy until the last one sets a flag, or 300 times.
    const std::string text =
        "mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; mov.u32 %r3, 0; mad.wide.u32 %rd4, %r1, 128, %rd1;\n"
        "setp.eq.u32 %p1, %r2, 31; @%p1 bra LAST;\n"
        "LOOP: st.global.u32 [%rd4], %r3; ld.volatile.global.u32 %r4, [%rd2]; add.u32 %r3, %r3, 1;\n"
        "setp.lt.u32 %p2, %r3, 300; setp.eq.u32 %p3, %r4, 0; and.pred %p2, %p2, %p3; @%p2 bra LOOP; bra END;\n"
        "LAST: mov.u32 %r5, 1; st.global.u32 [%rd2], %r5;\nEND:\n";
    const auto cycles = [&](const std::string& longest) {
        Harness h("gtx480", {"sm.longestWait=" + longest});
        const VirtualAddress data = h.buffer(1024 * 128), flag = h.buffer(4);
        return h.cycles(kernelText(text), {{1}, {1024}}, {data, flag});
    };
    EXPECT_GT(cycles("0"), 10 * cycles("2000"));
}

TEST(Sleep, takesAsLongAsWasAskedForAndAMillisecondAtMost) {
    Harness h;
    const auto cycles = [&](std::uint64_t ns) {
        return ns * static_cast<std::uint64_t>(h.gpu.profile().clock.coreMHz) / 1000;
    };
    const auto asleep = [&](const std::string& ns) {
        return extra(h, "nanosleep.u32 " + ns + ";", "nanosleep.u32 0;");
    };
    EXPECT_NEAR(asleep("100"), cycles(100), 8);
    EXPECT_NEAR(asleep("20000"), cycles(20000), 8);
    EXPECT_NEAR(asleep("3000000000"), cycles(1'000'000), 8);
}

TEST(Sleep, aWarpWaitsForItsLongestSleeper) {
    Harness h("gtx480", {"op.integerMul.latency=5"});
    const std::string lane = "mov.u32 %r1, %laneid; mul.lo.u32 %r1, %r1, 100;\n";
    EXPECT_NEAR(extra(h, lane + "nanosleep.u32 %r1;", lane + "nanosleep.u32 0;"),
                3.1 * static_cast<double>(h.gpu.profile().clock.coreMHz), 8);
}

TEST(Sleep, othersIssueMeanwhile) {
    Harness h("gtx480", {kFourCycles});
    // Warp 0 sleeps for longer than warp 1 computes.
    const std::string body =
        "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @!%p1 nanosleep.u32 4000; @!%p1 bra END;\n" +
        repeat(400, "add.s32 %r2, %r2, %r1;\n") + "END:";
    EXPECT_NEAR(extra(h, body, "nanosleep.u32 4000;", {{1}, {64}}), 0, 20);
}

TEST(Lrr, takesTheNextReadySlotInTurn) {
    const auto lrr = findScheduler("lrr").make({1, 8});
    EXPECT_EQ(lrr->pick(0, 0b1011), 1);
    EXPECT_EQ(lrr->pick(0, 0b1011), 3);
    EXPECT_EQ(lrr->pick(0, 0b1011), 0);
    EXPECT_EQ(lrr->pick(0, 0b0001), 0);
}

TEST(Gto, staysWithAWarpThenTakesTheOldest) {
    const auto gto = findScheduler("gto").make({1, 8});
    gto->warpStarted(3, 1);
    gto->warpStarted(1, 2);
    gto->warpStarted(0, 5);
    gto->warpStarted(2, 9);
    EXPECT_EQ(gto->pick(0, 0b0110), 1);
    EXPECT_EQ(gto->pick(0, 0b1111), 1);  // greedy, though 3 is older
    EXPECT_EQ(gto->pick(0, 0b1101), 3);  // stalled: the oldest
    EXPECT_EQ(gto->pick(0, 0b0101), 0);
    gto->warpStarted(3, 10);  // another warp has the slot now
    EXPECT_EQ(gto->pick(0, 0b1100), 2);
}

TEST(Schedulers, anUnknownNameListsTheKnownOnes) {
    try {
        findScheduler("fifo");
        FAIL();
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("lrr, gto"), std::string::npos);
    }
}

}  // namespace
}  // namespace bulkhead::sim
