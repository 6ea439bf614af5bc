// griddepcontrol: a launch that may start before the one before it in its stream has ended.

#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using u64 = std::uint64_t;

std::string kernel(const std::string& body) {
    return test::kernelText("mov.u32 %r1, %ctaid.x;" + body);
}

std::string spin(int rounds) {
    return "mov.u32 %r5, " + std::to_string(rounds) +
           "; L: sub.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra L;\n";
}

/// Two launches of one block or more, one behind the other: when the second started, and what each of them wrote.
struct Pair {
    explicit Pair(unsigned threads = 1) : h("h200", {}, options(threads)) { at = h.buffer(256); }
    static Machine::Options options(unsigned threads) {
        Machine::Options options;
        options.threads = threads;
        return options;
    }

    void run(const std::string& first, const std::string& second, bool early, u64 blocks = 1) {
        a = h.start(kernel(first), {.grid = {static_cast<std::uint32_t>(blocks)}, .block = {32}}, {at});
        b = h.start(kernel(second), {.grid = {1}, .block = {32}, .startsEarly = early}, {at});
        h.gpu.finishStream(h.stream);
        for (const LaunchId id : {a, b})
            if (h.gpu.record(id).error) throw *h.gpu.record(id).error;
    }
    const LaunchRecord& first() const { return h.gpu.record(a); }
    const LaunchRecord& second() const { return h.gpu.record(b); }
    u64 word(std::size_t i) { return h.data<u64>(at, 8)[i]; }

    Harness h;
    VirtualAddress at = 0;
    LaunchId a = 0, b = 0;
};

const std::string kLet = "griddepcontrol.launch_dependents;\n", kWait = "griddepcontrol.wait;\n";
const std::string kWrite = "mov.u64 %rd5, 7; st.global.u64 [%rd1], %rd5;\n";
/// Word 0 as it is at once and, behind the wait, in words 1 and 2.
const std::string kLook = "ld.global.u64 %rd6, [%rd1]; st.global.u64 [%rd1+8], %rd6;\n" + kWait +
                          "ld.relaxed.gpu.global.u64 %rd7, [%rd1]; st.global.u64 [%rd1+16], %rd7;\n";

TEST(DependentLaunch, startsWhenTheOneBeforeLetsItAndWaitsForItsMemory) {
    Pair pair;
    pair.run(kLet + spin(20000) + kWrite, kLook, true);
    EXPECT_LT(pair.second().started, pair.first().ended);
    EXPECT_GT(pair.second().ended, pair.first().ended);
    EXPECT_EQ(pair.word(1), 0u);  // it ran while the first was still spinning
    EXPECT_EQ(pair.word(2), 7u);
}

TEST(DependentLaunch, waitsForTheEndWithoutTheAttribute) {
    Pair pair;
    pair.run(kLet + spin(20000) + kWrite, kLook, false);
    EXPECT_GE(pair.second().started, pair.first().ended);
    EXPECT_EQ(pair.word(1), 7u);
    EXPECT_EQ(pair.word(2), 7u);
}

TEST(DependentLaunch, startsWhenAllBlocksHaveLetItOrEnded) {
    // Block 0 lets dependents start at once, block 1 after a while, block 2 ends without a word.
    const std::string late = "setp.ne.u32 %p2, %r1, 1; @%p2 bra SOON;\n" + spin(10000) + "SOON:\n" +
                             "setp.eq.u32 %p3, %r1, 2; @%p3 bra END;\n" + kLet + "mov.u64 %rd8, %clock64;\n" +
                             "setp.eq.u32 %p4, %r1, 1; @%p4 st.global.u64 [%rd1+24], %rd8;\n" +
                             "mov.u32 %r6, 30000; M: sub.u32 %r6, %r6, 1; setp.ne.u32 %p5, %r6, 0; @%p5 bra M;\n" +
                             "END:\n";
    Pair pair;
    pair.run(late, kLook, true, 3);
    EXPECT_GT(pair.second().started, pair.word(3));
    EXPECT_LT(pair.second().started, pair.first().ended);
}

TEST(DependentLaunch, thatDoesNotWaitMayEndFirst) {
    Pair pair;
    pair.run(kLet + spin(40000), "mov.u64 %rd5, 9; st.global.u64 [%rd1], %rd5;", true);
    EXPECT_LT(pair.second().ended, pair.first().ended);
    EXPECT_EQ(pair.word(0), 9u);
}

TEST(DependentLaunch, whatFollowsWithoutTheAttributeWaitsForBoth) {
    Pair pair;
    Harness& h = pair.h;
    const LaunchId a = h.start(kernel(kLet + spin(40000)), {.grid = {1}, .block = {32}}, {pair.at});
    const LaunchId b = h.start(kernel(""), {.grid = {1}, .block = {32}, .startsEarly = true}, {pair.at});
    const LaunchId c = h.start(kernel(""), {.grid = {1}, .block = {32}}, {pair.at});
    h.gpu.finishStream(h.stream);
    EXPECT_LT(h.gpu.record(b).ended, h.gpu.record(a).ended);
    EXPECT_GE(h.gpu.record(c).started, h.gpu.record(a).ended);
}

TEST(DependentLaunch, aThirdWaitsForTheFirstToo) {
    // The second does not wait itself, so it ends before the first has written.
    Pair pair;
    Harness& h = pair.h;
    h.start(kernel(kLet + spin(40000) + kWrite), {.grid = {1}, .block = {32}}, {pair.at});
    h.start(kernel(kLet), {.grid = {1}, .block = {32}, .startsEarly = true}, {pair.at});
    h.start(kernel(kLook), {.grid = {1}, .block = {32}, .startsEarly = true}, {pair.at});
    h.gpu.finishStream(h.stream);
    EXPECT_EQ(pair.word(1), 0u);
    EXPECT_EQ(pair.word(2), 7u);
}

TEST(DependentLaunch, waitsForALaunchOfAnotherStreamWhoseMarkerItAwaited) {
    Pair pair;
    Harness& h = pair.h;
    const StreamId other = h.newStream(h.context);
    const MarkerId let = h.gpu.createMarker();
    const LaunchId a =
        h.start(kernel(kLet + spin(20000) + kWrite), {.grid = {1}, .block = {32}, .whenLet = let}, {pair.at});
    h.gpu.wait(other, let);
    const LaunchId b = h.start(kernel(kLook), {.grid = {1}, .block = {32}}, {pair.at}, other);
    h.finishAll();
    EXPECT_LT(*h.gpu.recordedAt(let), h.gpu.record(a).ended);
    EXPECT_LT(h.gpu.record(b).started, h.gpu.record(a).ended);
    EXPECT_EQ(pair.word(1), 0u);
    EXPECT_EQ(pair.word(2), 7u);
}

TEST(DependentLaunch, tellsWhenAllBlocksHaveStarted) {
    Harness h("h200");
    const MarkerId begun = h.gpu.createMarker();
    // 200 KB each: 132 blocks at a time, so the last starts when the first has ended.
    const LaunchId a =
        h.start(kernel(spin(10000)), {.grid = {133}, .block = {32}, .shared = 200 << 10, .whenBegun = begun}, {0});
    h.gpu.finishLaunch(a);
    const Cycles started = h.gpu.record(a).started, ended = h.gpu.record(a).ended, at = *h.gpu.recordedAt(begun);
    EXPECT_GT(at, started + (ended - started) / 3);
    EXPECT_LT(at, ended - (ended - started) / 3);
}

TEST(DependentLaunch, takesAsLongWithAnyNumberOfThreads) {
    const auto times = [](unsigned threads) {
        Pair pair(threads);
        pair.run(kLet + spin(5000) + kWrite, kLook, true, 200);
        return std::pair{pair.first().ended, pair.second().ended};
    };
    EXPECT_EQ(times(1), times(3));
}

TEST(DependentLaunch, failsWithTheOneThatNeverLetsItGoOn) {
    Pair pair;
    EXPECT_THROW(pair.run(kLet + "setp.ge.u32 %p2, %r1, 0; M: @%p2 bra M;\n", kLook, true), LaunchError);
}

}  // namespace
}  // namespace bulkhead::sim
