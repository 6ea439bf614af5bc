#include <gtest/gtest.h>

#include <algorithm>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using namespace test;

constexpr const char* kLoad = "ld.global.cg.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1;";

std::uint64_t lookUps(const Counters& c) {
    return c.l2Hits + c.l2Misses;
}

/// So many SMs of each of the first GPCs.
std::vector<bool> smsOf(const arch::DeviceProfile& profile, std::size_t gpcs, std::size_t each) {
    std::vector<bool> sms(static_cast<std::size_t>(profile.sm.count));
    for (std::size_t gpc = 0; gpc < gpcs; ++gpc)
        for (std::size_t i = 0; i < each; ++i) sms[profile.clusterNeighbours().at(gpc).at(i)] = true;
    return sms;
}

/// A block on each of these SMs loads the same line, which is in DRAM.
Counters loadOnEach(Harness& h, const std::vector<bool>& sms, const std::string& body = kLoad) {
    const VirtualAddress a = h.buffer(4096);
    Harness::Shape shape{{static_cast<std::uint32_t>(std::count(sms.begin(), sms.end(), true))}, {32}};
    shape.sms = sms;
    shape.shared = 200 << 10;  // one block an SM
    return h.gpu.counters(h.run(kernelText(body), shape, {a}));
}

TEST(JoinedReads, OfAGpcAreLookedUpOnce) {
    Harness h("h200");
    const Counters c = loadOnEach(h, smsOf(h.gpu.profile(), 1, 4));
    EXPECT_EQ(lookUps(c), 1u);
    EXPECT_EQ(c.l2Joined, 3u);
    EXPECT_EQ(c.dramReads, 1u);
}

TEST(JoinedReads, OfSeveralGpcsAreLookedUpForEach) {
    Harness h("h200");
    const Counters c = loadOnEach(h, smsOf(h.gpu.profile(), 8, 2));
    EXPECT_EQ(lookUps(c), 8u);
    EXPECT_EQ(c.l2Joined, 8u);
    EXPECT_EQ(c.dramReads, 1u);
}

TEST(JoinedReads, AreNoMoreThanThereMayBe) {
    Harness h("h200", {"l2.joinedReads=3"});
    const Counters c = loadOnEach(h, smsOf(h.gpu.profile(), 1, 8));
    EXPECT_EQ(lookUps(c), 3u);  // 3, 3 and 2
    EXPECT_EQ(c.l2Joined, 5u);
    Harness without("h200", {"l2.joinedReads=1"});
    EXPECT_EQ(lookUps(loadOnEach(without, smsOf(h.gpu.profile(), 1, 8))), 8u);
}

TEST(JoinedReads, WantSectorsThatTheFirstOneBrings) {
    // Each SM another sector of the line: its own number's.
    Harness h("h200");
    const Counters c = loadOnEach(
        h, smsOf(h.gpu.profile(), 1, 4),
        "mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd4, %r3, 32; add.u64 %rd1, %rd1, %rd4;\n" + std::string(kLoad));
    EXPECT_EQ(lookUps(c), 4u);
    EXPECT_EQ(c.l2Joined, 0u);
}

TEST(JoinedReads, AtomicsAndWritesGoByThemselves) {
    Harness h("h200");
    const Counters c = loadOnEach(h, smsOf(h.gpu.profile(), 1, 4), "red.global.add.u32 [%rd1], 1;");
    EXPECT_EQ(c.l2Atomics, 4u);
    EXPECT_EQ(c.l2Joined, 0u);
}

/// Cycles in which 128 SMs read 128 KB each from L2: the same, or their own.
Cycles readAll(const std::vector<std::string>& settings, bool same) {
    Harness h("h200", settings);
    constexpr std::uint32_t kBytes = 128 << 10, kBlocks = 128, kThreads = 1024;
    const VirtualAddress a = h.buffer(std::uint64_t{kBlocks} * kBytes);
    // 16 bytes a lane, eight loads a thread.
    const std::string body =
        std::string("mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd4, %r1, 16;\n") +
        (same ? "mov.u64 %rd5, 0;\n" : "mul.wide.u32 %rd5, %r2, " + std::to_string(kBytes) + ";\n") +
        "add.u64 %rd4, %rd4, %rd5; add.u64 %rd1, %rd1, %rd4;\n" + [] {
            std::string loads;
            for (unsigned i = 0; i < kBytes / (16 * kThreads); ++i)
                loads += "ld.global.cg.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1+" + std::to_string(i * 16 * kThreads) +
                         "]; add.u32 %r20, %r20, %r10;\n";
            return loads;
        }();
    Harness::Shape shape{{kBlocks}, {kThreads}};
    shape.shared = 200 << 10;
    h.run(kernelText(body), shape, {a});  // from DRAM, and to the other side
    return h.cycles(kernelText(body), shape, {a});
}

TEST(JoinedReads, GiveSmsMoreThanTheSlicesHave) {
    const auto profile = arch::findProfile("h200");
    const double bytes = 128.0 * (128 << 10);
    // What all slices send at most, in core cycles.
    const double atMost = static_cast<double>(profile.map.slices()) *
                          static_cast<double>(profile.crossbar.responseBytesPerCycle) *
                          static_cast<double>(profile.clock.l2MHz) / static_cast<double>(profile.clock.coreMHz);
    const auto rate = [&](Cycles cycles) {
        return bytes / static_cast<double>(cycles - static_cast<Cycles>(profile.launch.setup));
    };
    EXPECT_LT(rate(readAll({}, false)), atMost);
    EXPECT_LT(rate(readAll({"l2.joinedReads=1"}, true)), atMost);
    EXPECT_GT(rate(readAll({}, true)), 1.1 * rate(readAll({}, false)));
}

}  // namespace
}  // namespace bulkhead::sim
