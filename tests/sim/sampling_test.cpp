// What is estimated where not everything is timed, against runs in which everything is.

#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"
#include "sim/grid_sample.h"
#include "sim/ratio_estimate.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;

Harness sampling(unsigned threads = 0) {
    Machine::Options options;
    options.timing = Timing::sampled;
    options.threads = threads;
    return Harness("gtx480", {}, options);
}

/// %r1: thread in its block, %r2: block, %r3: thread in the grid; %rd5: its word of the first buffer.
const std::string kNumbers =
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r3, %r2, %r4, %r1;\n"
    "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4;\n";

/// Each thread adds up to its word; `rounds` of a loop, whose number the text leaves in %r8, come before.
std::string loop(const std::string& rounds) {
    return kernelText(kNumbers + rounds +
                      "mov.u32 %r6, 0; mov.u32 %r7, 1;\n"
                      "L: mad.lo.u32 %r7, %r7, 3, %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r8; @%p1 bra L;\n"
                      "ld.global.u32 %r9, [%rd5]; add.u32 %r9, %r9, 1; st.global.u32 [%rd5], %r9;");
}

struct Outcome {
    Cycles cycles;
    double halfWidth;
    std::uint64_t timedBlocks;
    Counters counters;
    double apart(const Outcome& full) const {
        return std::abs(static_cast<double>(cycles) - static_cast<double>(full.cycles));
    }
    double relativeWidth() const { return halfWidth / static_cast<double>(cycles); }
};

Outcome outcome(const Harness& h, LaunchId launch) {
    const LaunchRecord& record = h.gpu.record(launch);
    if (record.error) throw *record.error;
    const LaunchSample sample = record.sample.value_or(LaunchSample{record.grid.count(), 0});
    return {record.ended - record.started, sample.halfWidth, sample.timedBlocks, h.gpu.counters(launch)};
}

constexpr std::uint32_t kBlocks = 9000;  // of 128 threads: 75 waves of 120 blocks on a GTX 480

/// The kernel with all of its blocks timed, and sampled; each must have added 1 to every word.
std::pair<Outcome, Outcome> fullAndSampled(const std::string& text) {
    std::vector<Outcome> both;
    for (const bool sample : {false, true}) {
        Harness h = sample ? sampling() : Harness();
        const VirtualAddress a = h.buffer(4 * kBlocks * 128);
        both.push_back(outcome(h, h.run(text, {{kBlocks}, {128}}, {a})));
        const std::uint32_t* words = h.data<std::uint32_t>(a, kBlocks * 128);
        for (std::size_t i = 0; i < std::size_t{kBlocks} * 128; ++i)
            if (words[i] != 1) throw Error("word {} is {}", i, words[i]);
    }
    return {both[0], both[1]};
}

TEST(Sampling, EqualBlocksAreEstimatedWithinANarrowInterval) {
    const auto [full, sampled] = fullAndSampled(loop("mov.u32 %r8, 40;"));
    EXPECT_LT(sampled.timedBlocks, kBlocks / 2);
    EXPECT_EQ(full.timedBlocks, kBlocks);
    EXPECT_LE(sampled.apart(full), sampled.halfWidth);
    EXPECT_GT(sampled.halfWidth, 0);
    EXPECT_LT(sampled.relativeWidth(), 0.05);
}

TEST(Sampling, InstructionsAreCountedInEveryBlock) {
    const auto [full, sampled] = fullAndSampled(loop("mov.u32 %r8, 40;"));
    EXPECT_EQ(sampled.counters.warpInstructions, full.counters.warpInstructions);
    EXPECT_EQ(sampled.counters.threadInstructions, full.counters.threadInstructions);
    EXPECT_EQ(sampled.counters.memoryInstructions, full.counters.memoryInstructions);
    EXPECT_EQ(sampled.counters.blocks, kBlocks);
    // The others are estimates: every block of 4 warps loads and stores a line of its own a warp.
    EXPECT_NEAR(static_cast<double>(sampled.counters.l1Misses), 4.0 * kBlocks, 0.05 * 4 * kBlocks);
}

TEST(Sampling, WritesOfBlocksWithoutTimeLeaveL2AsItsPolicySays) {
    // Each warp loads a line and stores another, in 15 times what L2 holds: every line is written to DRAM once.
    const std::string text = kernelText(kNumbers +
                                        "add.u64 %rd6, %rd2, %rd4; mov.u32 %r6, 0;\n"
                                        "L: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 40; @%p1 bra L;\n"
                                        "ld.global.u32 %r9, [%rd5]; st.global.u32 [%rd6], %r9;");
    for (const char* policy : {"write-back", "write-through", "write-back-fetch"}) {
        std::vector<Outcome> both;
        for (const Timing timing : {Timing::whole, Timing::sampled}) {
            Machine::Options options;
            options.timing = timing;
            Harness h("gtx480", {std::string("l2.writePolicy=") + policy}, options);
            const VirtualAddress a = h.buffer(4 * kBlocks * 128), b = h.buffer(4 * kBlocks * 128);
            both.push_back(outcome(h, h.run(text, {{kBlocks}, {128}}, {a, b})));
        }
        const auto &full = both[0], &sampled = both[1];
        EXPECT_LT(sampled.timedBlocks, kBlocks / 2) << policy;
        const auto lines = static_cast<double>(kBlocks * 4);
        EXPECT_NEAR(static_cast<double>(full.counters.dramWrites), lines, 0.2 * lines) << policy;
        EXPECT_NEAR(static_cast<double>(sampled.counters.dramWrites), static_cast<double>(full.counters.dramWrites),
                    0.1 * lines)
            << policy;
        EXPECT_LE(sampled.apart(full), sampled.halfWidth) << policy;
    }
}

TEST(Sampling, WorkThatGrowsOverTheGridIsEstimated) {
    // From 40 rounds to 130: instructions of a block tell its time.
    const auto [full, sampled] = fullAndSampled(loop("div.u32 %r8, %r2, 100; add.u32 %r8, %r8, 40;"));
    EXPECT_LT(sampled.timedBlocks, kBlocks / 2);
    EXPECT_LE(sampled.apart(full), sampled.halfWidth);
    EXPECT_LT(sampled.relativeWidth(), 0.25);
}

TEST(Sampling, TheEstimateIsTheSameForAnyNumberOfThreads) {
    const auto run = [](unsigned threads) {
        Harness h = sampling(threads);
        return outcome(h, h.run(loop("mov.u32 %r8, 40;"), {{kBlocks}, {128}}, {h.buffer(4 * kBlocks * 128)}));
    };
    const Outcome one = run(1);
    for (const unsigned threads : {2u, 5u}) {
        const Outcome many = run(threads);
        EXPECT_EQ(many.cycles, one.cycles);
        EXPECT_EQ(many.halfWidth, one.halfWidth);
    }
}

TEST(Sampling, TimePassesAsItIsEstimated) {
    Harness h = sampling();
    const VirtualAddress a = h.buffer(4 * kBlocks * 128);
    const MarkerId before = h.gpu.createMarker(), after = h.gpu.createMarker();
    h.gpu.record(h.stream, before);
    const LaunchId launch = h.start(loop("mov.u32 %r8, 40;"), {{kBlocks}, {128}}, {a});
    h.gpu.record(h.stream, after);
    h.gpu.finishMarker(after);
    EXPECT_EQ(*h.gpu.recordedAt(after), h.gpu.record(launch).ended);
    EXPECT_GE(*h.gpu.recordedAt(after) - *h.gpu.recordedAt(before), outcome(h, launch).cycles);
    EXPECT_GE(h.gpu.now(), h.gpu.record(launch).ended);
}

TEST(Sampling, SmallGridsAreTimedWhole) {
    Harness full, h = sampling();
    const std::string text = loop("mov.u32 %r8, 40;");
    const Outcome timed = outcome(full, full.run(text, {{240}, {128}}, {full.buffer(4 * 240 * 128)}));
    const Outcome sampled = outcome(h, h.run(text, {{240}, {128}}, {h.buffer(4 * 240 * 128)}));
    EXPECT_EQ(sampled.timedBlocks, 240u);
    EXPECT_EQ(sampled.halfWidth, 0);
    EXPECT_EQ(sampled.cycles, timed.cycles);
}

TEST(Sampling, KernelsThatReadTimeOrPlaceAreTimedWhole) {
    Harness h = sampling();
    const std::string text = kernelText(kNumbers + "mov.u32 %r5, %smid; st.global.u32 [%rd5], %r5;");
    EXPECT_EQ(outcome(h, h.run(text, {{kBlocks}, {128}}, {h.buffer(4 * kBlocks * 128)})).timedBlocks, kBlocks);
}

TEST(Sampling, NothingIsLeftOutBesideAnotherContext) {
    Harness h = sampling();
    h.gpu.createContext();
    const std::string text = loop("mov.u32 %r8, 4;");
    EXPECT_EQ(outcome(h, h.run(text, {{kBlocks}, {128}}, {h.buffer(4 * kBlocks * 128)})).timedBlocks, kBlocks);
}

TEST(Sampling, ALaunchOfAnotherStreamWaitsForOneThatIsEstimated) {
    Harness h = sampling();
    const StreamId other = h.newStream(h.context);
    const std::string text = loop("mov.u32 %r8, 40;");
    const LaunchId first = h.start(text, {{kBlocks}, {128}}, {h.buffer(4 * kBlocks * 128)});
    const LaunchId second = h.start(text, {{100}, {128}}, {h.buffer(4 * 100 * 128)}, other);
    h.gpu.finishLaunch(second);
    EXPECT_EQ(h.gpu.record(first).state, LaunchRecord::State::done);
    EXPECT_GE(h.gpu.record(second).ended, h.gpu.record(first).ended);
    EXPECT_EQ(h.gpu.record(second).sample->timedBlocks, 100u);
}

// Launches.

/// One launch after the other of blocks that fit on the GPU at once: a number of rounds each.
std::vector<Outcome> repeated(Harness& h, const std::vector<std::uint64_t>& rounds) {
    // The second parameter is the number of rounds.
    const std::string text = loop("cvt.u32.u64 %r8, %rd2;");
    const LoadedModule module = h.gpu.load(h.context, ptx::parse(text, "test.ptx"));
    const VirtualAddress a = h.buffer(4 * 60 * 128);
    std::vector<Outcome> outcomes;
    for (const std::uint64_t n : rounds) {
        LaunchSpec spec;
        spec.program = module.program;
        spec.code = module.program->kernel("k");
        spec.grid = {60};
        spec.block = {128};
        spec.params.resize(spec.code->kernelParamBytes);
        std::memcpy(spec.params.data(), &a, sizeof a);
        std::memcpy(spec.params.data() + 8, &n, sizeof n);
        const LaunchId launch = h.gpu.launch(h.stream, std::move(spec));
        h.gpu.finishLaunch(launch);
        outcomes.push_back(outcome(h, launch));
    }
    for (int i = 0; i < 60 * 128; ++i) EXPECT_EQ(h.data<std::uint32_t>(a, 60 * 128)[i], rounds.size()) << "word " << i;
    return outcomes;
}

struct Sum {
    double cycles = 0, halfWidth = 0;
    std::size_t timed = 0;
    explicit Sum(const std::vector<Outcome>& all) {
        for (const Outcome& one : all) {
            cycles += static_cast<double>(one.cycles);
            halfWidth += one.halfWidth;
            timed += one.timedBlocks != 0;
        }
    }
};

TEST(Sampling, OfManyEqualLaunchesFewAreTimed) {
    Harness full, h = sampling();
    const std::vector<std::uint64_t> rounds(200, 50);
    const Sum truth(repeated(full, rounds)), sampled(repeated(h, rounds));
    EXPECT_EQ(truth.timed, 200u);
    EXPECT_LE(sampled.timed, 20u);
    EXPECT_GE(sampled.timed, 200u / 32);  // never none
    EXPECT_LE(std::abs(sampled.cycles - truth.cycles), sampled.halfWidth);
    EXPECT_LT(sampled.halfWidth, 0.05 * sampled.cycles);
}

TEST(Sampling, TwoKindsOfLaunchesOfOneShapeAreToldApart) {
    Harness full, h = sampling();
    std::vector<std::uint64_t> rounds;
    for (int i = 0; i < 100; ++i) rounds.push_back(i % 2 ? 400 : 20);
    const std::vector<Outcome> truth = repeated(full, rounds), sampled = repeated(h, rounds);
    for (std::size_t i = 0; i < rounds.size(); ++i)
        EXPECT_LE(sampled[i].apart(truth[i]), sampled[i].halfWidth + 1) << "launch " << i;
    EXPECT_LT(Sum(sampled).timed, 50u);
    EXPECT_LT(Sum(sampled).halfWidth, 0.1 * Sum(sampled).cycles);
}

TEST(Sampling, ALaunchUnlikeAllThatWereTimedHasAWideInterval) {
    // 60 launches that differ in their rounds, more than are timed for being new; the last is far from all of them.
    Harness h = sampling();
    std::vector<std::uint64_t> rounds;
    for (std::uint64_t i = 0; i < 60; ++i) rounds.push_back(50 + i % 20);
    rounds.push_back(3000);
    const std::vector<Outcome> sampled = repeated(h, rounds);
    ASSERT_EQ(sampled.back().timedBlocks, 0u);
    EXPECT_GT(sampled.back().relativeWidth(), 0.5);
}

// What goes wrong.

TEST(Sampling, AnErrorOfAnUntimedBlockEndsTheLaunch) {
    Harness h = sampling();
    // Only block 4000 stores to nowhere; which blocks are timed does not matter.
    const std::string text =
        kernelText(kNumbers + "setp.ne.u32 %p1, %r2, 4000; @%p1 bra D; mov.u64 %rd9, 16; st.global.u32 [%rd9], 1; D:");
    const LaunchRecord& record = h.gpu.record(h.run(text, {{kBlocks}, {128}}, {h.buffer(64)}));
    ASSERT_TRUE(record.error);
    EXPECT_EQ(record.error->cause, LaunchError::Cause::illegalAddress);
    EXPECT_NE(std::string(record.error->what()).find("block (4000,0,0)"), std::string::npos) << record.error->what();
    // The next launch is none the worse for it.
    const std::string good = loop("mov.u32 %r8, 4;");
    EXPECT_GT(outcome(h, h.run(good, {{kBlocks}, {128}}, {h.buffer(4 * kBlocks * 128)})).cycles, 0u);
}

TEST(Sampling, BlocksThatWaitForEarlierOnesEnd) {
    constexpr std::uint32_t kChain = 2400;  // 20 waves
    // Block b waits for the flag of block b - 1 and sets its own.
    Harness h = sampling();
    const VirtualAddress a = h.buffer(4 * (kChain + 1));
    h.data<std::uint32_t>(a)[0] = 1;
    const std::string text = kernelText(
        "mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd5, %rd1, %rd4;\n"
        "W: ld.volatile.global.u32 %r5, [%rd5]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W;\n"
        "membar.gl; st.volatile.global.u32 [%rd5+4], 1;");
    const Outcome ended = outcome(h, h.run(text, {{kChain}, {32}}, {a}));
    EXPECT_EQ(h.data<std::uint32_t>(a, kChain + 1)[kChain], 1u);
    EXPECT_GT(ended.timedBlocks, 0u);
}

TEST(Sampling, TheLimitOfInstructionsHolds) {
    Harness h = sampling();
    h.gpu.limitInstructions(500'000);
    const LaunchId launch = h.run(loop("mov.u32 %r8, 100;"), {{kBlocks}, {128}}, {h.buffer(4 * kBlocks * 128)});
    ASSERT_TRUE(h.gpu.record(launch).error);
    EXPECT_EQ(h.gpu.record(launch).error->cause, LaunchError::Cause::timeout);
    EXPECT_TRUE(h.gpu.instructionLimitReached());
    EXPECT_LT(h.gpu.counters(launch).warpInstructions, 600'000u);
}

TEST(Sampling, ADeadlineHoldsForWhatIsEstimated) {
    Harness h = sampling();
    const std::string text = loop("mov.u32 %r8, 40;");
    const Cycles whole = h.cycles(text, {{kBlocks}, {128}}, {h.buffer(4 * kBlocks * 128)});
    Harness::Shape shape{{kBlocks}, {128}};
    shape.maxCycles = whole / 2;
    const LaunchRecord& record = h.gpu.record(h.run(text, shape, {h.buffer(4 * kBlocks * 128)}));
    ASSERT_TRUE(record.error);
    EXPECT_EQ(record.error->cause, LaunchError::Cause::timeout);
}

TEST(Sampling, SchedulersThatLearnAreRefused) {
    Machine::Options options;
    options.timing = Timing::sampled;
    options.scheduler = "ccws";
    EXPECT_THROW(Harness("gtx480", {}, options), Error);
}

// The arithmetic.

TEST(Sampling, TheRatioEstimateIsThatOfABook) {
    // Costs 10, 14 and 18 for sizes 1, 1 and 2: ratio 42 / 4 = 10.5; residuals -0.5, 3.5, -3; their variance 21.5 / 2.
    // A rest of size 8 is 6 pieces of the average size 4/3. t of 2 degrees of freedom is 4.303.
    const MeasuredPiece pieces[] = {{10, 1}, {14, 1}, {18, 2}};
    const Estimate estimate = estimateRest(pieces, 8);
    EXPECT_DOUBLE_EQ(estimate.value, 84);
    EXPECT_NEAR(estimate.halfWidth, 4.303 * std::sqrt(21.5 / 2 * (36.0 / 3 + 6)), 1e-9);
    EXPECT_EQ(estimateRest(pieces, 0).value, 0);
    EXPECT_EQ(estimateRest({pieces, 1}, 3).halfWidth, 30);
}

TEST(Sampling, IntervalsHoldTheTruthAsOftenAsTheySay) {
    // 2000 wholes of 100 pieces, whose costs are their sizes with noise of 20 %; 6 of them are measured.
    std::uint64_t state = 7;
    const auto uniform = [&] {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<double>(state >> 11) * 0x1p-53;
    };
    int inside = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        std::vector<MeasuredPiece> all;
        for (int i = 0; i < 100; ++i) {
            const double size = 1 + uniform();
            const double noise = uniform() + uniform() + uniform() + uniform() - 2;  // deviation 0.577
            all.push_back({size * (1 + 0.35 * noise), size});
        }
        double cost = 0, size = 0;
        for (std::size_t i = 6; i < all.size(); ++i) {
            cost += all[i].cost;
            size += all[i].size;
        }
        const Estimate estimate = estimateRest({all.data(), 6}, size);
        inside += std::abs(estimate.value - cost) <= estimate.halfWidth;
    }
    EXPECT_NEAR(inside / 2000.0, 0.95, 0.025);
}

TEST(Sampling, APlanLeavesOutNoBlockAndTimesNoneTwice) {
    for (const std::uint64_t blocks : {4'000u, 10'007u, 100'000u}) {
        constexpr std::uint64_t kWave = 100;
        ASSERT_TRUE(GridSample::worthwhile(blocks, kWave));
        GridSample sample(blocks, kWave, blocks, 0);
        // A GPU on which a wave takes 10 000 cycles.
        std::uint64_t next = 0, timed = 0, untimed = 0;
        while (next < blocks) {
            if (next == sample.nextStop()) {
                const BlockRange left = sample.reached(10'000 * timed / kWave, timed + untimed);
                EXPECT_TRUE(left.count() == 0 || left.first == next);
                untimed += left.count();
                next += left.count();
                if (next == sample.nextStop()) continue;
            }
            ++next;
            ++timed;
        }
        EXPECT_EQ(next, blocks);
        EXPECT_EQ(timed + untimed, blocks);
        EXPECT_LT(timed, blocks / 2);
        // Every block is one instruction here and a wave takes its 10 000 cycles: the truth is known.
        const Estimate estimate = sample.estimate(10'000 * timed / kWave);
        EXPECT_NEAR(estimate.value, 100.0 * static_cast<double>(blocks), static_cast<double>(blocks));
    }
    EXPECT_FALSE(GridSample::worthwhile(1000, 100));
}

}  // namespace
}  // namespace bulkhead::sim
