// The instruction cache: what code that does not fit costs, what a launch brings, and what stays.

#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim::test {
namespace {

constexpr int kRounds = 6;

/// A loop over so many instructions, all of which take one cycle.
std::string loopOver(int instructions) {
    return kernelText("mov.u32 %r1, 0;\nLOOP:\n" + repeat(instructions, "add.u32 %r2, %r3, 7;\n") +
                      "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, " + std::to_string(kRounds) + ";\n@%p1 bra LOOP;\n");
}

/// 8 KB in lines of 128 bytes, instructions of 16.
std::vector<std::string> small(std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"instruction.bytes=8192", "instruction.lineBytes=128", "instruction.ways=4", "instruction.width=16"});
    return more;
}

Counters countersOf(const std::string& text, const std::vector<std::string>& settings, Dim3 grid = {}) {
    Harness h("gtx480", settings);
    return h.gpu.counters(h.run(text, {.grid = grid, .block = {32}}));
}

TEST(InstructionCache, CodeThatFitsIsFetchedOnce) {
    // 3 instructions load parameters, 1 begins, 300 + 3 loop, 1 ends: 308 of 16 bytes are 38.5 lines.
    EXPECT_EQ(countersOf(loopOver(300), small()).instructionMisses, 39u);
}

TEST(InstructionCache, CodeThatDoesNotFitIsFetchedEveryRound) {
    // The loop begins in the first line and ends at instruction 4 + 600 + 3 = 607: its 76 lines do not fit into 64,
    // and with the least recently used line going, those of a set that holds five of the loop's always miss. Of 16
    // sets with 4 ways, lines 0 to 75 give 12 sets five lines and 4 sets four: 60 lines miss in every round, 16 once.
    const Counters counters = countersOf(loopOver(600), small());
    EXPECT_EQ(counters.instructionMisses, 60u * kRounds + 16u);
    EXPECT_GT(counters.stalls[static_cast<int>(Stall::fetch)], 0u);
}

TEST(InstructionCache, AMissTakesAsLongAsALoadFromL2) {
    // Lines of 8 instructions that miss one after the other, each for the latency of L2 once it holds the code.
    Harness with("gtx480", small({"sm.count=1"})), without("gtx480", {"sm.count=1"});
    const auto cycles = [&](Harness& h) { return static_cast<double>(h.cycles(loopOver(1200), {.block = {32}})); };
    // 151 lines are nine or ten for each of 16 sets of four ways: none is found again.
    const double lines = 151.0 * (kRounds - 1), latency = 160;
    const double rounds = cycles(with) - cycles(without);
    // The first round finds nothing in L2 either.
    const double first = 151.0 * 280;
    EXPECT_NEAR(rounds, lines * latency + first, 0.1 * (lines * latency + first));
}

TEST(InstructionCache, ALaunchBringsTheFirstBytes) {
    const auto brought = [](const std::string& bytes) {
        return countersOf(loopOver(300), small({"instruction.launchBytes=" + bytes})).instructionMisses;
    };
    EXPECT_EQ(brought("8192"), 0u);
    EXPECT_EQ(brought("1024"), 39u - 8u);
}

TEST(InstructionCache, WhatALaunchBringsIsReadFromL2ForEveryGroupOfSms) {
    // 39 lines of one sector of 128 bytes, for 15 SMs, alone or by threes.
    const auto sectors = [](const std::string& sharers) {
        const Counters with = countersOf(loopOver(300), small({"instruction.launchBytes=8192", sharers}));
        return with.l2Sectors - countersOf(loopOver(300), {}).l2Sectors;
    };
    EXPECT_EQ(sectors("instruction.sharers=1"), 39u * 15);
    EXPECT_EQ(sectors("instruction.sharers=3"), 39u * 5);
}

TEST(InstructionCache, KeepsCodeFromLaunchToLaunchOfAModule) {
    Harness h("gtx480", small());
    const LoadedModule module = h.gpu.load(h.context, ptx::parse(loopOver(300), "test.ptx"));
    const auto launch = [&](const LoadedModule& of) {
        LaunchSpec spec;
        spec.program = of.program;
        spec.code = of.program->kernel("k");
        spec.grid = {15};
        spec.block = {32};
        spec.params.resize(spec.code->kernelParamBytes);
        const LaunchId id = h.gpu.launch(h.stream, std::move(spec));
        h.gpu.finishLaunch(id);
        return h.gpu.counters(id).instructionMisses;
    };
    EXPECT_EQ(launch(module), 39u * 15);
    EXPECT_EQ(launch(module), 0u);
    const LoadedModule other = h.gpu.load(h.context, ptx::parse(loopOver(300), "test.ptx"));
    EXPECT_EQ(launch(other), 39u * 15);
}

TEST(InstructionCache, WithoutOneNothingChanges) {
    Harness h("gtx480");
    EXPECT_EQ(h.gpu.counters(h.run(loopOver(600), {.block = {32}})).instructionMisses, 0u);
}

TEST(InstructionCache, IsTheSameForAnyNumberOfThreads) {
    const auto cycles = [](unsigned threads) {
        Machine::Options options;
        options.threads = threads;
        Harness h("gtx480", small({"instruction.launchBytes=512"}), options);
        return h.cycles(loopOver(900), {.grid = {60}, .block = {128}});
    };
    const Cycles one = cycles(1);
    EXPECT_EQ(cycles(2), one);
    EXPECT_EQ(cycles(3), one);
}

}  // namespace
}  // namespace bulkhead::sim::test
