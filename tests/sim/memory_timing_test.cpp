// The way of a load, whole: latencies and bandwidth of every profile, merges, hits under misses, ports, full queues.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::repeat;

const Harness::Shape kOneThread{{1}, {1}};

class EveryProfile : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Profiles, EveryProfile, ::testing::ValuesIn(arch::profileNames()));

/// Cycles a hop of a pointer chase takes, from two lengths of it.
double hop(Harness& h, VirtualAddress start, const std::string& load) {
    const std::string text = load + " %rd1, [%rd1];\n";
    h.cycles(kernelText(text + "add.u64 %rd1, %rd1, 0;"), kOneThread, {start});  // warm
    const Cycles many = h.cycles(kernelText(repeat(60, text)), kOneThread, {start});
    const Cycles few = h.cycles(kernelText(repeat(10, text)), kOneThread, {start});
    return static_cast<double>(many - few) / 50;
}

/// Of a load past L1D: it waits for an L2 sector at the response port, where L1D's own misses may fetch several.
double pastL1(const arch::DeviceProfile& p, std::int64_t latency) {
    const auto edges = [&](std::int64_t bytes) {
        return (bytes + p.crossbar.responseBytesPerCycle - 1) / p.crossbar.responseBytesPerCycle;
    };
    const std::int64_t fewer = edges(std::max(p.l1.sectorBytes, p.l2.sectorBytes)) - edges(p.l2.sectorBytes);
    return static_cast<double>(latency) -
           static_cast<double>(fewer * p.clock.coreMHz) / static_cast<double>(p.clock.l2MHz);
}

TEST_P(EveryProfile, aChaseInL1TakesTheL1Latency) {
    Harness h(GetParam(), {"l1.cachesGlobal=true"});
    const VirtualAddress a = h.buffer(8);
    *h.data<std::uint64_t>(a) = a;
    // The first hop of a kernel goes to L2, and meets an edge of its clock a cycle earlier or later.
    EXPECT_NEAR(hop(h, a, "ld.global.ca.u64"), static_cast<double>(h.gpu.profile().l1.hitLatency), 1.0 / 50);
}

TEST_P(EveryProfile, aChaseInL2TakesTheL2Latency) {
    Harness h(GetParam());
    const VirtualAddress a = h.buffer(8);
    *h.data<std::uint64_t>(a) = a;
    // Where L2 has a clock of its own, an access meets its edges a bit earlier or later.
    const double tolerance = h.gpu.profile().clock.l2MHz == h.gpu.profile().clock.coreMHz ? 0 : 2;
    const auto& profile = h.gpu.profile();
    EXPECT_NEAR(hop(h, a, "ld.global.cg.u64"), pastL1(profile, profile.l2.hitLatency), tolerance);
}

TEST_P(EveryProfile, aChaseThroughClosedBanksTakesTheDramLatency) {
    Harness h(GetParam());
    const auto& profile = h.gpu.profile();
    // One line in each of 60 banks that nobody has touched.
    const Bytes bytes = 256_MiB;
    const VirtualAddress area = h.buffer(bytes);
    std::set<std::pair<std::uint32_t, std::uint32_t>> used;
    std::vector<VirtualAddress> chain;
    const std::size_t banks = std::size_t{profile.map.channels()} * profile.map.banksPerChannel() /
                              static_cast<std::size_t>(profile.l2.sides);
    const std::size_t hops = std::min<std::size_t>(60, banks);
    for (VirtualAddress at = area; at < area + bytes && chain.size() < hops; at += 128) {
        const auto where = profile.map.locate(h.gpu.memory(h.context).space().physical(at));
        const bool near = where.slice < profile.map.slices() / static_cast<std::uint32_t>(profile.l2.sides);
        if (near && used.insert({where.channel, where.bank}).second) chain.push_back(at);
    }
    ASSERT_EQ(chain.size(), hops);
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) *h.data<std::uint64_t>(chain[i]) = chain[i + 1];
    const std::string load = "ld.global.cg.u64 %rd1, [%rd1];\n";
    const int n = static_cast<int>(hops);
    const Cycles all = h.cycles(kernelText(repeat(n, load) + "add.u64 %rd2, %rd1, 0;"), kOneThread, {chain.front()});
    Harness fresh(GetParam());
    const VirtualAddress one = fresh.buffer(8);
    const Cycles none = fresh.cycles(kernelText("add.u64 %rd2, %rd1, 0;"), kOneThread, {one});
    const double each = static_cast<double>(all - none) / n;
    // Crossing into the memory clock and back rounds each way up to an edge: within two core cycles.
    EXPECT_NEAR(each, pastL1(profile, profile.dram.latency), 2.0);
    EXPECT_EQ(h.gpu.totals().dramRowMisses, hops);
    EXPECT_EQ(h.gpu.totals().dramRowConflicts, 0u);
}

TEST_P(EveryProfile, vectorAddSaturatesTheDramsBandwidth) {
    Harness h(GetParam());
    const auto& profile = h.gpu.profile();
    const std::string add =
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r4, %r2, 256, %r1; mul.wide.u32 %rd4, %r4, 4;\n"
        "add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4; add.u64 %rd7, %rd3, %rd4;\n"
        "ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6]; add.f32 %f3, %f1, %f2; st.global.f32 [%rd7], %f3;\n";
    // Three arrays, each larger than L2: what is written must go to DRAM as well.
    const Bytes bytes = std::max<Bytes>(8_MiB, 2 * static_cast<Bytes>(profile.l2.bytes)) / 1024 * 1024;
    const VirtualAddress a = h.buffer(bytes), b = h.buffer(bytes), c = h.buffer(bytes);
    const Cycles cycles = h.cycles(kernelText(add), {{static_cast<std::uint32_t>(bytes / 1024)}, {256}}, {a, b, c});
    const double gbps = static_cast<double>(h.gpu.totals().bytesDram) / (h.gpu.seconds(cycles) * 1e9);
    EXPECT_LE(gbps, profile.dramGBps() * 1.001);
    // Three streams on scattered 4 KB pages (tx2) meet in the same banks more often. An H200 reads 93 % of its peak,
    // and copies 83 % (results/h200/calibrate.json).
    const bool scattered = profile.memory.placement == arch::DeviceProfile::PagePlacement::scattered;
    EXPECT_GE(gbps, profile.dramGBps() * (scattered                   ? 0.80
                                          : profile.l2.copiesFarLines ? 0.90
                                                                      : 0.95))
        << gbps << " of " << profile.dramGBps();
}

// ---- tx2: what the cache-interference paper saw

TEST(Tx2, aSecondPassOverACacheSizedArrayHitsInAThirdToAHalfOfItsLines) {
    // Section 4.2.1: eight arrays of 512 KB, each walked twice; 36 % to 55 % of the second pass are hits (Figure 1).
    Harness h("tx2");
    const std::string walk =
        "mov.u32 %r1, 0;\nL: ld.global.cg.u32 %r2, [%rd1]; add.u64 %rd1, %rd1, 128; add.s32 %r1, %r1, 1; "
        "add.s32 %r3, %r3, %r2; setp.lt.s32 %p1, %r1, 4096; @%p1 bra L;\n";
    double least = 1, most = 0;
    for (int array = 0; array < 8; ++array) {
        const VirtualAddress a = h.buffer(512_KiB);
        h.run(kernelText(walk), kOneThread, {a});
        const Counters& second = h.gpu.counters(h.run(kernelText(walk), kOneThread, {a}));
        EXPECT_EQ(second.l2Hits + second.l2Misses, 4096u);
        const double share = static_cast<double>(second.l2Hits) / 4096;
        least = std::min(least, share);
        most = std::max(most, share);
    }
    EXPECT_GE(least, 0.36);
    EXPECT_LE(most, 0.55);
}

// ---- merges and hits

TEST(L1, twoWarpsThatMissOneLineSendOneRequest) {
    Harness h;
    const VirtualAddress a = h.buffer(128);
    const Counters& c =
        h.gpu.counters(h.run(kernelText("ld.global.u32 %r1, [%rd1]; add.s32 %r2, %r1, 1;"), {{1}, {64}}, {a}));
    EXPECT_EQ(c.l1Misses, 2u);
    EXPECT_EQ(c.l1Merges, 1u);
    EXPECT_EQ(c.dramReads, 1u);
    EXPECT_EQ(c.bytesDramWritten, 0u);
    EXPECT_EQ(c.l2Misses, 1u);
}

TEST(L1, aMergedMissIsAnsweredByTheSameResponse) {
    // The second warp's load joins the first one's miss a cycle later, and both go on when it comes: one cycle more in
    // all.
    const std::string text = kernelText("ld.global.u32 %r1, [%rd1]; add.s32 %r2, %r1, 1; add.s32 %r3, %r2, 1;");
    Harness one("gtx480", {"sm.schedulers=1"}), two("gtx480", {"sm.schedulers=1"});
    const Cycles alone = one.cycles(text, {{1}, {32}}, {one.buffer(128)});
    const Cycles both = two.cycles(text, {{1}, {64}}, {two.buffer(128)});
    // What one warp issues after the load (two dependent adds of 4 cycles, return) the other issues in the gaps.
    EXPECT_LE(both - alone, 4u);
    EXPECT_GE(both, alone);
}

TEST(L1, aHitIsServedWhileAMissIsUnderWay) {
    Harness h;
    const VirtualAddress warm = h.buffer(4096), cold = h.buffer(1_MiB);
    // The warm line is loaded first. Then a miss starts, and ten dependent hits run under it.
    const std::string begin = "ld.global.u64 %rd5, [%rd1]; add.u64 %rd6, %rd1, %rd5;\n";
    const std::string miss = "ld.global.u32 %r1, [%rd2];\n";
    const std::string hits = repeat(10, "ld.global.u64 %rd5, [%rd6]; add.u64 %rd6, %rd1, %rd5;\n");
    const std::string use = "add.s32 %r1, %r1, 1; add.s32 %r2, %r1, 1;\n";
    Harness other;
    const VirtualAddress warm2 = other.buffer(4096), cold2 = other.buffer(1_MiB);
    const Cycles with = h.cycles(kernelText(begin + miss + hits + use), kOneThread, {warm, cold});
    const Cycles without = other.cycles(kernelText(begin + miss + use), kOneThread, {warm2, cold2});
    // Ten times (1 + 4) cycles are less than the DRAM latency: they cost nothing, apart from the miss's own issue.
    EXPECT_EQ(with, without);
    EXPECT_EQ(h.gpu.totals().l1Hits, 10u);
}

TEST(L1, storesGoThroughAndLeaveTheLine) {
    Harness h;
    const VirtualAddress a = h.buffer(128);
    const Counters& c = h.gpu.counters(h.run(
        kernelText(
            "ld.global.u32 %r1, [%rd1]; add.s32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd1];"),
        kOneThread, {a}));
    EXPECT_EQ(c.l1Misses, 1u);
    EXPECT_EQ(c.l1Hits, 1u);
    EXPECT_EQ(*h.data<std::uint32_t>(a), 1u);
}

TEST(L1, localStoresStayUntilTheyAreEvicted) {
    Harness h;
    const std::string text = kernelText(
        "mov.u64 %rd4, spill; st.local.u32 [spill], %r1; st.local.u32 [spill+4], %r1; ld.local.u32 %r2, [spill+4];",
        "");
    const std::string withLocal =
        text.substr(0, text.find("{\n") + 2) + ".local .align 4 .b8 spill[64];\n" + text.substr(text.find("{\n") + 2);
    const Counters& c = h.gpu.counters(h.run(withLocal, {{1}, {32}}));
    EXPECT_EQ(c.l1Hits, 1u);
    EXPECT_EQ(c.bytesL2, 0u);
}

TEST(L1, aFullQueueHoldsUpTheNextMemoryInstruction) {
    // A load of 32 lines takes L1D 32 cycles, from the cycle after its issue. With room for one instruction, the next
    // memory instruction issues when the last line has passed; with room for two, at once, and what follows it as well.
    const std::string addresses = "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 128; add.u64 %rd5, %rd1, %rd4;\n";
    const std::string text = addresses +
                             "ld.global.u32 %r2, [%rd5]; ld.global.u32 %r3, [%rd1];\n"
                             "mov.u32 %r4, %clock; mul.wide.u32 %rd6, %r1, 4; add.u64 %rd7, %rd2, %rd6; st.global.u32 "
                             "[%rd7], %r4; add.u32 %r5, %r2, %r3;\n";
    const auto clock = [&](const std::string& queue) {
        Harness h("gtx480", {"l1.queue=" + queue});
        const VirtualAddress a = h.buffer(4096), out = h.buffer(128);
        h.cycles(kernelText(text), {{1}, {32}}, {a, out});
        return *h.data<std::uint32_t>(out);
    };
    EXPECT_EQ(clock("1") - clock("2"), 31u);
}

TEST(L1, aGenericLoadOfGlobalAndLocalMemoryFindsRoomForBoth) {
    // Even lanes read their own stack, odd lanes global memory, in one instruction, with every queue full.
    for (const std::string queue : {"1", "2", "4"}) {
        Harness h("gtx480", {"l1.queue=" + queue});
        const VirtualAddress in = h.buffer(4096), out = h.buffer(30 * 1024 * 4);
        for (std::uint32_t i = 0; i < 1024; ++i) h.data<std::uint32_t>(in, 1024)[i] = i;
        const std::string text = kernelText(
            "mov.u32 %r1, %tid.x; mov.u32 %r9, %ctaid.x; mov.u64 %rd4, spill; cvta.local.u64 %rd4, %rd4; add.u32 %r2, "
            "%r1, 5000; st.u32 [%rd4], %r2;\n"
            "mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd1, %rd5; and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; "
            "selp.b64 %rd7, %rd4, %rd6, %p1;\n" +
            repeat(5, "ld.u32 %r4, [%rd7]; add.u32 %r5, %r5, %r4;\n") +
            "mad.lo.u32 %r8, %r9, 1024, %r1; mul.wide.u32 %rd8, %r8, 4; add.u64 %rd9, %rd2, %rd8; st.global.u32 "
            "[%rd9], %r5;\n");
        const std::size_t body = text.find("{\n") + 2;
        h.cycles(text.substr(0, body) + ".local .align 4 .b8 spill[16];\n" + text.substr(body), {{30}, {1024}},
                 {in, out});
        for (std::uint32_t i = 0; i < 30 * 1024; ++i) {
            const std::uint32_t thread = i % 1024;
            ASSERT_EQ(h.data<std::uint32_t>(out, 30 * 1024)[i], 5 * (thread % 2 ? thread : thread + 5000));
        }
    }
}

TEST(L1, aSetHoldsItsWaysAndNoMore) {
    // 16 KB, 4 ways, 32 sets; linear index: lines 4 KB apart share a set. Four of them fit, five thrash.
    for (int lines : {4, 5}) {
        Harness h("gtx480", {"l1.setHash=linear"});
        const VirtualAddress a = h.buffer(1_MiB);
        std::string round;
        for (int i = 0; i < lines; ++i)
            round += "ld.global.u32 %r1, [%rd1+" + std::to_string(4096 * i) + "]; add.s32 %r2, %r1, %r2;\n";
        const Counters& c = h.gpu.counters(h.run(kernelText(repeat(10, round)), kOneThread, {a}));
        EXPECT_EQ(c.l1Misses, lines == 4 ? 4u : 50u);
        EXPECT_EQ(c.l1Evictions, lines == 4 ? 0u : 46u);
    }
}

/// As on an H200, where 1,024 threads load again and again what is in L1.
TEST(L1, aLoadThatHitsTakesItsBankConflictsOrAQuarterOfItsLines) {
    Harness h("h200", {"sm.count=2"});
    const VirtualAddress a = h.buffer(32 * 64 * 4 + 4);
    struct {
        int words;
        double cycles;
    } constexpr kMeasured[] = {{1, 1.2},  {2, 2.1},  {4, 4.0},  {8, 8.0},   {16, 16.3}, {32, 32.6},
                               {33, 8.8}, {34, 9.0}, {40, 9.6}, {48, 16.4}, {64, 32.3}};
    for (const auto& measured : kMeasured) {
        const auto cycles = [&](int loads) {
            const std::string place =
                fmt::format("mov.u32 %r1, %laneid;\nmad.wide.u32 %rd2, %r1, {}, %rd1;\n", 4 * measured.words);
            std::string text = place + "ld.global.u32 %r2, [%rd2];\nbar.sync 0;\n";
            for (int i = 0; i < loads; ++i) text += fmt::format("ld.global.u32 %r{}, [%rd2];\n", 2 + i % 8);
            return h.cycles(kernelText(text), {{1}, {1024}}, {a});
        };
        const double each = static_cast<double>(cycles(40) - cycles(8)) / (32 * 32);
        EXPECT_NEAR(each, measured.cycles, 0.2 * measured.cycles) << measured.words << " words apart";
    }
}

TEST(L1, oneMshrMakesMissesWaitForEachOther) {
    // Eight independent misses. With 32 MSHRs they overlap; with one, each takes the whole DRAM latency.
    std::string loads, sum;
    for (int i = 0; i < 8; ++i) {
        loads += "ld.global.u32 %r" + std::to_string(10 + i) + ", [%rd1+" + std::to_string(256 * i) + "];\n";
        sum += "add.s32 %r1, %r1, %r" + std::to_string(10 + i) + ";\n";
    }
    const std::vector<std::string> quick = {"op.integer.latency=4", "crossbar.responseBytesPerCycle=32"};
    Harness many("gtx480", quick), one("gtx480", {quick[0], quick[1], "l1.mshrs=1"});
    const Cycles fast = many.cycles(kernelText(loads + sum), kOneThread, {many.buffer(4096)});
    const Cycles slow = one.cycles(kernelText(loads + sum), kOneThread, {one.buffer(4096)});
    // A row hit saves tRCD (12 memory cycles = 10 core cycles), so that a bit less than 7 latencies are added.
    const auto latency = static_cast<Cycles>(many.gpu.profile().dram.latency);
    EXPECT_GE(slow - fast, 7 * (latency - 12) - 8);
    EXPECT_LE(slow - fast, 7 * latency);
    EXPECT_GT(one.gpu.totals().l1StallMshr, 6 * (latency - 12));
}

// ---- L2

const std::string kWriteBack = "l2.writePolicy=write-back";

/// A table of `count` lines of each of these slices, for kernels that read one each.
VirtualAddress linesOfSlices(Harness& h, std::size_t count, const std::vector<std::uint32_t>& slices) {
    const auto& map = h.gpu.profile().map;
    auto& space = h.gpu.memory(h.context).space();
    const VirtualAddress area = h.buffer(16_MiB), table = h.buffer(8 * count * slices.size());
    auto* entry = h.data<std::uint64_t>(table, count * slices.size());
    for (std::uint32_t slice : slices) {
        std::size_t found = 0;
        for (VirtualAddress at = area; found < count; at += 128)
            if (map.locate(space.physical(at)).slice == slice) entry[found++] = at;
        entry += count;
    }
    return table;
}
VirtualAddress linesOfOneSlice(Harness& h, std::size_t count) {
    return linesOfSlices(h, count, {0});
}
const std::string kReadOwnLine =
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 8; add.u64 %rd5, %rd1, %rd4; ld.global.cg.u64 %rd6, [%rd5];\n"
    "ld.global.cg.u32 %r2, [%rd6]; add.s32 %r3, %r2, 1;\n";

TEST(L2, aFullSetOfMshrsStallsTheSlice) {
    Harness many, one("gtx480", {"l2.mshrs=1"});
    const Cycles fast = many.cycles(kernelText(kReadOwnLine), {{1}, {32}}, {linesOfOneSlice(many, 32)});
    const Cycles slow = one.cycles(kernelText(kReadOwnLine), {{1}, {32}}, {linesOfOneSlice(one, 32)});
    EXPECT_EQ(many.gpu.totals().l2StallMshr, 0u);
    // Every line now waits for the one before it: tCL and two bursts at the least, (12 + 4) x 700 / 924 = 12 cycles.
    EXPECT_GT(one.gpu.totals().l2StallMshr, 31u * 12);
    EXPECT_GT(slow, fast + 31 * 6);
}

TEST(L2, slicesOfAChannelTakeTurnsAtItsQueue) {
    // Two SMs read 32 lines each, of the two slices of one channel, whose queue has two places and whose bus takes 20
    // cycles a sector. Were one slice always first at a place, it would be done when the other one begins.
    Harness h("gtx480", {"dram.queue=2", "dram.tCCD=20", "dram.latency=400"});
    const VirtualAddress table = linesOfSlices(h, 32, {0, 1}), ends = h.buffer(8);
    const std::string read =
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.s32 %r3, %r2, 32, %r1; mul.wide.u32 %rd4, %r3, 8;\n"
        "add.u64 %rd5, %rd1, %rd4; ld.global.cg.u64 %rd6, [%rd5]; mov.u32 %r8, %clock;\n"
        "ld.global.cg.u32 %r4, [%rd6]; add.s32 %r5, %r4, 1; mov.u32 %r9, %clock; sub.s32 %r9, %r9, %r8;\n"
        "mul.wide.u32 %rd7, %r2, 4; add.u64 %rd8, %rd2, %rd7; st.global.u32 [%rd8], %r9;\n";
    h.cycles(kernelText(read), {{2}, {32}}, {table, ends});
    const auto* end = h.data<std::uint32_t>(ends, 2);
    EXPECT_GT(h.gpu.totals().l2StallDram, 1000u);
    EXPECT_LT(std::max(end[0], end[1]), std::min(end[0], end[1]) * 5 / 4);
}

TEST(L2, aSliceAnswersOneLineAfterTheOther) {
    // 128 B a response at 32 B a cycle: four cycles each. Thirty-two warm lines of one slice: 31 x 4 cycles more than
    // one line.
    Harness h("gtx480", {"crossbar.responseBytesPerCycle=32"});
    const VirtualAddress table = linesOfOneSlice(h, 32);
    h.cycles(kernelText(kReadOwnLine), {{1}, {32}}, {table});  // warm
    const Cycles all = h.cycles(kernelText(kReadOwnLine), {{1}, {32}}, {table});
    const Cycles one = h.cycles(kernelText(kReadOwnLine), {{1}, {1}}, {table});
    // The table itself: 32 entries are two lines, one entry is one; the second line comes four cycles later.
    EXPECT_EQ(all - one, 31u * 4 + 4);
}

TEST(L2, linesWrittenAreKeptLongerThanLinesRead) {
    // One set of sixteen ways (Pascal). Fill it half by writes, half by reads, then read further lines: those read go
    // first (appendix B of Fractional GPUs).
    Harness h("gtx1080", {"l2.writeRetention=16"});
    const auto& map = h.gpu.profile().map;
    const VirtualAddress area = h.buffer(256_MiB);
    auto& space = h.gpu.memory(h.context).space();
    const auto home = map.locate(space.physical(area));
    std::vector<VirtualAddress> same;
    for (VirtualAddress at = area; same.size() < 24; at += 128) {
        const auto where = map.locate(space.physical(at));
        if (where.slice == home.slice && where.set == home.set) same.push_back(at);
    }
    std::string text;
    const auto access = [&](std::size_t i, bool write) {
        text += "mov.u64 %rd4, " + std::to_string(same[i]) + ";\n";
        text += "add.u64 %rd4, %rd4, %rd5;\n";
        text += write ? "st.global.u32 [%rd4], %r1;\n" : "ld.global.cg.u32 %r2, [%rd4]; add.s32 %r3, %r3, %r2;\n";
        text += "membar.gl;\n";
    };
    for (std::size_t i = 0; i < 8; ++i) access(i, true);  // written first: the least recently used
    for (std::size_t i = 8; i < 16; ++i) access(i, false);
    for (std::size_t i = 16; i < 24; ++i) access(i, false);  // eight more: eight must go
    // Eight threads write a sector whole.
    h.cycles(kernelText("mov.u32 %r4, %tid.x; mul.wide.u32 %rd5, %r4, 4;\n" + text), {{1}, {8}});
    const auto hits = [&](std::size_t i) {
        const LaunchId launch = h.run(kernelText("mov.u64 %rd4, " + std::to_string(same[i]) +
                                                 "; ld.global.cg.u32 %r2, [%rd4]; add.s32 %r3, %r2, 1;"),
                                      kOneThread);
        return h.gpu.counters(launch).l2Hits;
    };
    EXPECT_EQ(hits(0), 1u);  // plain LRU would have thrown it out first
    EXPECT_EQ(hits(7), 1u);
}

TEST(L2, dirtyLinesAreWrittenBackWhenTheyAreEvicted) {
    // 768 KB of L2; 1.5 MB written, so that at least half must have gone to DRAM.
    Harness h("gtx480", {kWriteBack});
    const VirtualAddress a = h.buffer(1536_KiB);
    const std::string write =
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 256, %r1; mul.wide.u32 %rd4, %r3, 4;\n"
        "add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r3;\n";
    const Counters& c = h.gpu.counters(h.run(kernelText(write), {{1536}, {256}}, {a}));
    EXPECT_EQ(c.dramReads, 0u);  // whole sectors need no fetch
    EXPECT_EQ(c.bytesDramWritten, c.bytesDram);
    EXPECT_GE(c.bytesDram, 700u << 10);
    EXPECT_LE(c.bytesDram, 1536u << 10);
}

TEST(L2, writeThroughSendsEveryWriteToDramAndTakesNoLine) {
    // Every word of 64 KB is written twice: 2 writes of every sector, and the lines are not there afterwards.
    for (const bool through : {false, true}) {
        Harness h("gtx480", {through ? "l2.writePolicy=write-through" : "l2.writePolicy=write-back"});
        const VirtualAddress a = h.buffer(64_KiB);
        const std::string write =
            "mov.u32 %r1, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, 256, %r3; mul.wide.u32 %rd4, %r4, 4;\n"
            "add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r4; membar.gl; st.global.u32 [%rd5], %r3;";
        const Counters c = h.gpu.counters(h.run(kernelText(write), {{64}, {256}}, {a}));
        // The kernel does not wait for what is still in the queues of the channels.
        EXPECT_LE(c.bytesDram, through ? 2u * 64 * 1024 : 0u);
        EXPECT_GE(c.bytesDram, through ? 3u * 32 * 1024 : 0u);
        EXPECT_EQ(h.data<std::uint32_t>(a, 300)[299], 299u % 256);
        const std::string read = "ld.global.cg.u32 %r1, [%rd1]; add.s32 %r2, %r1, 1;";
        EXPECT_EQ(h.gpu.counters(h.run(kernelText(read), kOneThread, {a})).l2Hits, through ? 0u : 1u);
    }
}

TEST(L2, aWriteThatMissesMayFetchItsLine) {
    // 512 lines are written, then written again: those that miss go to DRAM and come from there, those that hit do not.
    for (const bool fetches : {false, true}) {
        Harness h("gtx480", {fetches ? "l2.writePolicy=write-back-fetch" : "l2.writePolicy=write-back"});
        const VirtualAddress a = h.buffer(64_KiB);
        const std::string write =
            "mov.u32 %r1, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, 256, %r3; mul.wide.u32 %rd4, %r4, 4;\n"
            "add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r4;";
        const Counters first = h.gpu.counters(h.run(kernelText(write), {{64}, {256}}, {a}));
        EXPECT_EQ(first.l2Misses, 512u);
        // The kernel does not wait for what is still in the queues of the channels.
        EXPECT_GE(first.dramReads, fetches ? 256u : 0u);
        EXPECT_LE(first.dramReads, fetches ? 512u : 0u);
        EXPECT_GE(first.dramWrites, fetches ? 256u : 0u);
        const Counters second = h.gpu.counters(h.run(kernelText(write), {{64}, {256}}, {a}));
        EXPECT_EQ(second.l2Hits, 512u);
        EXPECT_EQ(second.l2Misses, 0u);
        EXPECT_EQ(h.data<std::uint32_t>(a, 300)[299], 299u);
        const std::string read = "ld.global.cg.u32 %r1, [%rd1]; add.s32 %r2, %r1, 1;";
        EXPECT_EQ(h.gpu.counters(h.run(kernelText(read), kOneThread, {a})).l2Hits, 1u);
    }
}

TEST(L2, aPartlyWrittenSectorIsFetchedOnlyWhenItIsRead) {
    Harness h("gtx480", {kWriteBack});
    const VirtualAddress a = h.buffer(128);
    const Counters& w = h.gpu.counters(h.run(kernelText("st.global.u32 [%rd1], %r1;"), kOneThread, {a}));
    EXPECT_EQ(w.dramReads, 0u);
    const Counters& r =
        h.gpu.counters(h.run(kernelText("ld.global.cg.u32 %r1, [%rd1+64]; add.s32 %r2, %r1, 1;"), kOneThread, {a}));
    EXPECT_EQ(r.dramReads, 1u);
}

TEST(L2, aSectorThatWasWrittenInPiecesIsFetchedUnlessTheyAreMerged) {
    for (const bool merges : {false, true}) {
        Harness h("gtx1080", {merges ? "l2.mergesWrites=true" : "l2.mergesWrites=false"});
        const VirtualAddress a = h.buffer(128);
        std::string pieces;
        for (int word = 0; word < 8; ++word) pieces += "st.global.u32 [%rd1+" + std::to_string(4 * word) + "], %r1;\n";
        pieces += "st.global.u32 [%rd1+32], %r1;\n";  // of the next sector, one word
        h.cycles(kernelText(pieces), kOneThread, {a});
        const auto reads = [&](const char* at) {
            const std::string load = std::string("ld.global.cg.u32 %r1, [%rd1+") + at + "]; add.s32 %r2, %r1, 1;";
            return h.gpu.counters(h.run(kernelText(load), kOneThread, {a})).dramReads;
        };
        EXPECT_EQ(reads("4"), merges ? 0u : 1u);
        EXPECT_EQ(reads("32"), 1u);
    }
}

TEST(L2, atomicsToOneWordFromManyWarpsAllCount) {
    Harness h("gtx1080");
    const VirtualAddress a = h.buffer(4);
    const Counters& c = h.gpu.counters(h.run(kernelText("red.global.add.u32 [%rd1], 1;"), {{40}, {256}}, {a}));
    EXPECT_EQ(*h.data<std::uint32_t>(a), 40u * 256);
    EXPECT_EQ(c.l2Atomics, 40u * 8);
}

TEST(Sides, anAtomicToTheFarSideOrTheFarHalfTakesLonger) {
    Harness h("h200");
    const auto& profile = h.gpu.profile();
    const VirtualAddress area = h.buffer(2_MiB);
    VirtualAddress region[4] = {};
    for (VirtualAddress at = area; at < area + 2_MiB; at += 4096) {
        const auto slice = profile.map.locate(h.gpu.memory(h.context).space().physical(at)).slice;
        region[slice / 47 * 2 + (slice % 47 < 24 ? 0 : 1)] = at;
    }
    for (const VirtualAddress at : region) ASSERT_NE(at, 0u);
    std::vector<bool> first(static_cast<std::size_t>(profile.sm.count), false);
    first[0] = true;
    const std::string step =
        "atom.global.exch.b32 %r1, [%rd1], %r1; and.b32 %r2, %r1, 0; cvt.u64.u32 %rd4, %r2; add.u64 %rd1, %rd1, "
        "%rd4;\n";
    const auto chain = [&](VirtualAddress at) {
        const Harness::Shape shape{{1}, {1}, 0, first, 0};
        h.cycles(kernelText(repeat(4, step)), shape, {at});
        return static_cast<double>(h.cycles(kernelText(repeat(40, step)), shape, {at}) -
                                   h.cycles(kernelText(repeat(20, step)), shape, {at})) /
               20;
    };
    const double near = chain(region[0]);
    EXPECT_NEAR(chain(region[1]) - near, static_cast<double>(profile.l2.halfLatency), 2.0);  // edges of L2's clock
    EXPECT_NEAR(chain(region[2]) - near, static_cast<double>(profile.l2.farLatency), 2.0);
    EXPECT_NEAR(chain(region[3]) - near, static_cast<double>(profile.l2.farLatency), 2.0);
}

TEST(Sides, aReadOfTheFarSideTakesLongerUntilThereIsACopyNearBy) {
    Harness h("h200");
    const auto& profile = h.gpu.profile();
    const VirtualAddress area = h.buffer(2_MiB);
    VirtualAddress of[2] = {};
    for (VirtualAddress at = area; at < area + 2_MiB; at += 4096)
        of[profile.map.locate(h.gpu.memory(h.context).space().physical(at)).slice / 47] = at;
    std::vector<bool> first(static_cast<std::size_t>(profile.sm.count), false), last = first;
    first.front() = last[2] = true;  // SM 2 is of GPC 1
    ASSERT_NE(profile.regionsOfSms()[0].side, profile.regionsOfSms()[2].side);
    const Harness::Shape shape{{1}, {1}, 0, first, 0};
    const std::string load = kernelText("ld.global.cg.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1;"),
                      store = kernelText(
                          "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd4, %rd1, %rd4;\n"
                          "st.global.u32 [%rd4], 1;");
    const Harness::Shape sector[] = {{{1}, {8}, 0, first, 0}, {{1}, {8}, 0, last, 0}};  // by an SM of each side
    const auto farReads = [&] { return h.gpu.totals().l2FarReads; };
    for (const int side : {0, 1}) h.cycles(store, sector[side], {of[side]});  // so that L2 has them, at home
    const Cycles near = h.cycles(load, shape, {of[0]});
    EXPECT_EQ(farReads(), 0u);
    const Cycles far = h.cycles(load, shape, {of[1]});
    EXPECT_EQ(farReads(), 1u);
    EXPECT_NEAR(static_cast<double>(far - near), static_cast<double>(profile.l2.farLatency), 2.0);
    EXPECT_NEAR(static_cast<double>(h.cycles(load, shape, {of[1]})), static_cast<double>(near), 2.0);
    EXPECT_EQ(farReads(), 1u);
    h.cycles(store, sector[1], {of[1]});  // the copy is out of date
    EXPECT_NEAR(static_cast<double>(h.cycles(load, shape, {of[1]})), static_cast<double>(far), 2.0);
    EXPECT_EQ(farReads(), 2u);
    h.cycles(store, sector[0], {of[1]});  // what is written from afar leaves a copy too
    EXPECT_NEAR(static_cast<double>(h.cycles(load, shape, {of[1]})), static_cast<double>(near), 2.0);
    EXPECT_EQ(farReads(), 2u);
}

TEST(Sides, writesInPiecesUpdateTheCopyOfTheirSide) {
    Harness h("h200");
    const auto& profile = h.gpu.profile();
    const VirtualAddress area = h.buffer(2_MiB);
    VirtualAddress far = area;
    while (profile.regionOfSlice(profile.map.locate(h.gpu.memory(h.context).space().physical(far)).slice).side == 0)
        far += 4096;
    std::vector<bool> near(static_cast<std::size_t>(profile.sm.count), false), home = near;
    near[0] = home[2] = true;
    // Every second word of a sector, from the first or the second one on.
    const std::string pieces = kernelText(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 8; add.u64 %rd4, %rd1, %rd4; st.global.u32 [%rd4], 1;");
    const auto write = [&](const std::vector<bool>& sm, VirtualAddress from) {
        h.cycles(pieces, {{1}, {4}, 0, sm, 0}, {from});
    };
    const auto crosses = [&] {
        const std::uint64_t before = h.gpu.totals().l2FarReads;
        h.cycles(kernelText("ld.global.cg.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1;"), {{1}, {1}, 0, near, 0}, {far});
        return h.gpu.totals().l2FarReads - before;
    };
    write(near, far);
    EXPECT_EQ(crosses(), 1u) << "half of the sector is at home alone";
    write(home, far);
    write(near, far);
    write(near, far + 4);
    EXPECT_EQ(crosses(), 0u) << "both halves are here as well";
    write(near, far);
    EXPECT_EQ(crosses(), 0u);
    write(home, far);
    EXPECT_EQ(crosses(), 1u) << "it was written at home";
    EXPECT_EQ(crosses(), 0u);
}

TEST(L2, aMissFetchesSoManyBytesAtTheLeast) {
    Harness h("gtx1080", {"l2.fetchBytes=64"});
    const VirtualAddress a = h.buffer(128);
    h.cycles(kernelText("ld.global.cg.u32 %r1, [%rd1]; ld.global.cg.u32 %r2, [%rd1+64]; add.u32 %r3, %r1, %r2;"),
             kOneThread, {a});
    EXPECT_EQ(h.gpu.totals().bytesDram, 128u);
    h.cycles(kernelText("ld.global.cg.u32 %r1, [%rd1+32]; ld.global.cg.u32 %r2, [%rd1+96]; add.u32 %r3, %r1, %r2;"),
             kOneThread, {a});
    EXPECT_EQ(h.gpu.totals().bytesDram, 128u);
}

/// Of a kernel that writes all of L2.
TEST(L2, onlySomeWaysOfASetAreDirtyAtATime) {
    for (const int dirty : {0, 4, 12}) {
        Harness h("gtx480", {kWriteBack, "l2.dirtyWays=" + std::to_string(dirty)});
        const auto& l2 = h.gpu.profile().l2;
        const VirtualAddress a = h.buffer(static_cast<Bytes>(l2.bytes));
        const auto blocks = static_cast<std::uint32_t>(l2.bytes / 1024);
        const std::string write =
            "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 256, %r1; mul.wide.u32 %rd4, %r3, 4;\n"
            "add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r3;\n";
        h.cycles(kernelText(write), {{blocks}, {256}}, {a});
        const auto ways = static_cast<double>(l2.ways), all = static_cast<double>(l2.bytes);
        const double kept = dirty == 0 || dirty > l2.ways ? 1 : dirty / ways;
        // The last of them are under way when the kernel ends.
        EXPECT_LE(static_cast<double>(h.gpu.totals().bytesDramWritten), all * (1 - kept)) << dirty;
        EXPECT_GE(static_cast<double>(h.gpu.totals().bytesDramWritten), all * (1 - kept) * 0.7) << dirty;
        // They are there all the same.
        const Counters& read = h.gpu.counters(
            h.run(kernelText("mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 256, %r1;\n"
                             "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4; ld.global.cg.u32 %r4, [%rd5];\n"
                             "add.u32 %r4, %r4, 1;\n"),
                  {{blocks}, {256}}, {a}));
        EXPECT_EQ(read.dramReads, 0u) << dirty;
    }
}

TEST(L2, aPartlyWrittenSectorTakesLongerAtThePorts) {
    const auto cycles = [](const char* masked, int words) {
        Harness h("gtx1080", {std::string("crossbar.maskedBytes=") + masked});
        const VirtualAddress a = h.buffer(1_MiB);
        const std::string address = "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 32; add.u64 %rd5, %rd1, %rd4;\n";
        const std::string store =
            words == 1 ? "st.global.u32 [%rd5], %r1;\n" : "st.global.v4.u32 [%rd5], {%r1, %r1, %r1, %r1};\n";
        const auto run = [&](int times) {
            return h.cycles(kernelText(address + repeat(times, store)), {{1}, {1024}}, {a});
        };
        run(1);
        return static_cast<double>(run(60) - run(20)) / (40 * 1024);  // of a sector
    };
    const double whole = 32.0 / 32;  // of 32 B a cycle, at the same clock
    EXPECT_NEAR(cycles("0", 1), whole, 0.05);
    EXPECT_NEAR(cycles("32", 1), whole, 0.05);
    EXPECT_NEAR(cycles("96", 1), 3 * whole, 0.1);
}

TEST(L2, keepsWhatWasCopiedIfItHoldsCopies) {
    for (const bool holds : {false, true}) {
        Harness h("gtx1080", {holds ? "l2.holdsCopies=true" : "l2.holdsCopies=false"});
        const VirtualAddress a = h.buffer(4096);
        h.gpu.copiedTo(h.context, a + 32, 96);
        h.cycles(kernelText("ld.global.cg.u32 %r1, [%rd1+32]; add.u32 %r2, %r1, 1;"), kOneThread, {a});
        EXPECT_EQ(h.gpu.totals().dramReads, holds ? 0u : 1u);
        h.cycles(kernelText("ld.global.cg.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1;"), kOneThread, {a});  // not copied
        EXPECT_EQ(h.gpu.totals().dramReads, holds ? 1u : 2u);
    }
}

TEST(L2, copiesTakeEmptyWaysOnlyAndAreNotDirtyFillsAreAsAKernelsWrites) {
    for (const char* policy : {"write-back", "write-back-fetch"}) {
        Harness h("gtx480", {"l2.holdsCopies=true", std::string("l2.writePolicy=") + policy});
        const auto bytes = static_cast<Bytes>(h.gpu.profile().l2.bytes);
        const VirtualAddress a = h.buffer(bytes), b = h.buffer(bytes);
        const auto blocks = static_cast<std::uint32_t>(bytes / 1024);
        const std::string read = kernelText(
            "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 256, %r1; mul.wide.u32 %rd4, %r3, 4;\n"
            "add.u64 %rd5, %rd1, %rd4; ld.global.cg.u32 %r4, [%rd5]; add.u32 %r4, %r4, 1;\n");
        const auto counted = [&](VirtualAddress at) { return h.gpu.counters(h.run(read, {{blocks}, {256}}, {at})); };
        h.gpu.copiedTo(h.context, a, bytes);
        EXPECT_EQ(counted(a).dramReads, 0u);
        h.gpu.copiedTo(h.context, b, bytes);  // L2 is full: it goes past
        EXPECT_EQ(counted(a).dramReads, 0u);
        Counters c = counted(b);
        EXPECT_EQ(c.bytesDram, bytes);  // and nothing of a was newer than in DRAM
        EXPECT_EQ(c.bytesDramWritten, 0u);
        h.gpu.filled(h.context, a, bytes);
        EXPECT_EQ(counted(a).dramReads, 0u);
        // A write that misses goes to DRAM at once under write-back-fetch, and leaves a clean line.
        const double dirty = policy == std::string("write-back") ? static_cast<double>(bytes) : 0;
        EXPECT_NEAR(static_cast<double>(counted(b).bytesDramWritten), dirty, static_cast<double>(bytes) * 0.02)
            << policy;
    }
}

/// L2 cycles that a slice is busy with an atomic of a warp, where many warps have one.
double atomicTime(const std::string& atomic, const std::string& interval) {
    Harness h("gtx1080", {"l2.repeatInterval=" + interval, "l2.floatRepeatInterval=" + interval});
    const VirtualAddress a = h.buffer(4096);
    const std::string address =
        "mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 3; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd1, %rd4;\n";
    const auto run = [&](int times) {
        return h.cycles(kernelText(address + repeat(times, atomic)), {{8}, {1024}}, {a});
    };
    run(1);
    return static_cast<double>(run(60) - run(20)) / (40 * 8 * 32);
}

TEST(L2, lanesThatMeetAtOneAddressTakeTurnsUnlessTheyAreOneOperation) {
    const std::string floats = "red.global.add.f32 [%rd1], 0f3F800000;\n", sum = "red.global.add.u32 [%rd1], 1;\n",
                      fours = "red.global.add.u32 [%rd5], 1;\n", exchange = "atom.global.exch.b32 %r5, [%rd1], %r1;\n";
    EXPECT_NEAR(atomicTime(floats, "3"), 3 * 32, 2);  // 32 lanes at one address
    EXPECT_NEAR(atomicTime(floats, "1.5"), 1.5 * 32, 2);
    EXPECT_NEAR(atomicTime(exchange, "3"), 3 * 32, 2);  // each lane wants to know what was there
    EXPECT_NEAR(atomicTime(fours, "3"), 3 * 8, 2);      // eight lanes at each of four, side by side
    EXPECT_LT(atomicTime(sum, "3"), 3);                 // the sum of all lanes is added
    EXPECT_LT(atomicTime(floats, "0"), 3);
}

TEST(Constant, oneAddressServesAllLanesAndEachOtherOneTakesACycle) {
    const std::string table = ".const .align 4 .b8 table[4096];\n";
    const std::string warm = "ld.const.u32 %r9, [table]; add.s32 %r9, %r9, 1;\n";
    const auto chase = [&](const std::string& index) {
        Harness h("gtx480", {"constant.hitLatency=10"});
        const std::string setUp = "mov.u32 %r1, %tid.x; " + index +
                                  " mov.u64 %rd5, table; cvt.u64.u32 %rd4, %r2; add.u64 %rd5, %rd5, %rd4;\n" + warm;
        const std::string load = "ld.const.u32 %r3, [%rd5]; cvt.u64.u32 %rd6, %r3; add.u64 %rd5, %rd5, %rd6;\n";
        h.cycles(kernelText(setUp + repeat(4, load), table), {{1}, {32}});
        return static_cast<double>(h.cycles(kernelText(setUp + repeat(60, load), table), {{1}, {32}}) -
                                   h.cycles(kernelText(setUp + repeat(10, load), table), {{1}, {32}})) /
               50;
    };
    const double broadcast = chase("mov.u32 %r2, 0;");
    const double distinct = chase("and.b32 %r2, %r1, 7; shl.b32 %r2, %r2, 2;");  // eight words of one line
    EXPECT_EQ(distinct - broadcast, 7.0);
}

}  // namespace
}  // namespace bulkhead::sim
