#include <random>
#include <set>

#include "support.h"

namespace bulkhead::ptx {
namespace {

struct Analysed {
    Body function;
    Liveness liveness;

    explicit Analysed(const std::string& text) : function(parseBody(text)) {
        liveness = analyseLiveness(function, analyseControlFlow(function));
    }
    std::pair<int, int> operator[](const std::string& name) const {
        for (std::size_t i = 0; i < function.registers.size(); ++i) {
            if (function.registers[i].name == name) return {liveness.intervals[i].first, liveness.intervals[i].last};
        }
        throw Error("no register {}", name);
    }
};

using Span = std::pair<int, int>;

TEST(Liveness, StraightCode) {
    Analysed a("mov.u32 %r1, 1; mov.u32 %r2, 2; add.s32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3; ret;");
    EXPECT_EQ(a["%r1"], Span(0, 2));
    EXPECT_EQ(a["%r2"], Span(1, 2));
    EXPECT_EQ(a["%r3"], Span(2, 3));
    EXPECT_EQ(a["%rd1"], Span(0, 3)) << "read and never written: live from the start";
    EXPECT_EQ(a["%r4"], Span(-1, -1));
    EXPECT_EQ(a.liveness.maxLive32, 4) << "%rd1 (two), %r1 and %r2";
}

TEST(Liveness, WhatALoopCarriesLivesThroughAllOfIt) {
    Analysed a(
        "mov.u32 %r1, 0; mov.u32 %r5, 7;\n"
        "L: add.s32 %r2, %r1, 1; mov.u32 %r1, %r2; mov.u32 %r3, %r5; setp.lt.u32 %p1, %r3, 9; @%p1 bra L;\n"
        "ret;");
    EXPECT_EQ(a["%r1"], Span(0, 6)) << "written at 3, read again at 2 after the back edge at 6";
    EXPECT_EQ(a["%r5"], Span(1, 6)) << "its last read is at 4, but the loop comes round";
    EXPECT_EQ(a["%r2"], Span(2, 3));
    EXPECT_EQ(a["%r3"], Span(4, 5));
    EXPECT_EQ(a["%p1"], Span(5, 6));
    EXPECT_EQ(a.liveness.maxLivePredicates, 1);
    EXPECT_EQ(a.liveness.maxLive32, 3);
}

TEST(Liveness, AValueWrittenInALoopAndReadAtItsTopNextTime) {
    Analysed a("L: st.global.u32 [%rd1], %r1; mov.u32 %r2, 3; mov.u32 %r1, %r2; @%p1 bra L; ret;");
    EXPECT_EQ(a["%r1"], Span(0, 3));
    EXPECT_EQ(a["%p1"], Span(0, 3));
}

TEST(Liveness, AnInnerLoopKeepsTheOuterLoopsValues) {
    Analysed a(
        "mov.u32 %r1, 0;\n O: mov.u32 %r2, 0;\n I: add.s32 %r2, %r2, 1; @%p1 bra I;\n"
        "add.s32 %r1, %r1, %r2; @%p2 bra O;\n st.global.u32 [%rd1], %r1; ret;");
    EXPECT_EQ(a["%r1"], Span(0, 6));
    EXPECT_EQ(a["%r2"], Span(1, 4));
    EXPECT_EQ(a["%rd1"], Span(0, 6));
}

TEST(Liveness, BothArmsOfAnIf) {
    Analysed a("@%p1 bra C; mov.u32 %r1, 1; bra D; C: mov.u32 %r1, 2; D: mov.u32 %r2, %r1; ret;");
    EXPECT_EQ(a["%r1"], Span(1, 4));
    EXPECT_EQ(a.liveness.maxLive32, 1);
}

TEST(Liveness, AGuardedWriteKeepsTheOldValueAlive) {
    Analysed a("mov.u32 %r1, 1; mov.u32 %r2, 5; @%p1 mov.u32 %r1, 2; st.global.u32 [%rd1], %r1; ret;");
    EXPECT_EQ(a["%r1"], Span(0, 3));
    Analysed b("mov.u32 %r2, 5; @%p1 mov.u32 %r1, 2; st.global.u32 [%rd1], %r1; ret;");
    EXPECT_EQ(b["%r1"], Span(0, 2)) << "lanes whose guard is false read what was there at entry";
}

TEST(Liveness, AResultNobodyReadsStillNeedsARegister) {
    Analysed a("mov.u64 %rd1, 1; ret;");
    EXPECT_EQ(a["%rd1"], Span(0, 0));
    EXPECT_EQ(a.liveness.maxLive32, 2);
}

TEST(Liveness, CountsRegistersBySize) {
    Analysed a(
        ".reg .v4 .f32 %v; .reg .b128 %q; mov.v4.f32 %v, {0.0, 0.0, 0.0, 0.0}; mov.b128 %q, {%rd1, %rd2}; mov.u16 "
        "%rs1, 1;"
        "use.b32 _, %v, %q, %rs1, %p1;");
    // At `use`: the vector 4, the b128 4, the 16-bit one 1.
    EXPECT_EQ(a.liveness.maxLive32, 9);
    EXPECT_EQ(a.liveness.maxLivePredicates, 1);
}

/// A random program, and its flow as the generator knows it.
struct RandomProgram {
    struct Step {
        std::set<int> reads, writes;  // registers by number
        std::set<int> successors;     // steps; size() = the end
    };
    std::vector<Step> steps;
    std::string text;

    explicit RandomProgram(std::uint32_t seed) {
        std::mt19937 random(seed);
        auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        const int blocks = 1 + below(7);
        std::vector<int> firstOf;
        struct Pending {
            int step, block;
        };
        std::vector<Pending> jumps;
        const int predicate = 100;
        for (int b = 0; b < blocks; ++b) {
            firstOf.push_back(static_cast<int>(steps.size()));
            text += fmt::format("B{}: ", b);
            for (int i = below(3); i >= 0; --i) {
                int d = below(6), s = below(6), t = below(6);
                bool guarded = below(4) == 0;
                text += fmt::format("{}add.s32 %r{}, %r{}, %r{};\n", guarded ? "@%p1 " : "", d, s, t);
                Step step{{s, t}, {d}, {}};
                if (guarded) step.reads.insert({d, predicate});
                next(step);
            }
            switch (below(5)) {
                case 0:
                    break;
                case 1: {
                    int target = below(blocks + 1);
                    text += fmt::format("bra B{};\n", target);
                    steps.push_back({{}, {}, {}});
                    jumps.push_back({static_cast<int>(steps.size()) - 1, target});
                    break;
                }
                case 2:
                case 3: {
                    int target = below(blocks + 1);
                    text += fmt::format("@%p1 bra B{};\n", target);
                    next({{predicate}, {}, {}});
                    jumps.push_back({static_cast<int>(steps.size()) - 1, target});
                    break;
                }
                case 4:
                    text += "ret;\n";
                    steps.push_back({{}, {}, {kEnd}});
                    break;
            }
        }
        text += fmt::format("B{}:", blocks);
        firstOf.push_back(static_cast<int>(steps.size()));
        for (auto& step : steps) {
            if (step.successors.erase(kEnd)) step.successors.insert(static_cast<int>(steps.size()));
        }
        for (const Pending& jump : jumps) steps[jump.step].successors.insert(firstOf[jump.block]);
    }

    int size() const { return static_cast<int>(steps.size()); }

    /// Steps that can be reached from a step's beginning without passing through `avoiding` (-1: none).
    std::set<int> reachable(int from, int avoiding) const {
        std::set<int> seen;
        std::vector<int> work{from};
        while (!work.empty()) {
            int at = work.back();
            work.pop_back();
            if (at == avoiding || !seen.insert(at).second || at == size()) continue;
            for (int successor : steps[at].successors) work.push_back(successor);
        }
        return seen;
    }

    bool isLiveBefore(int reg, int step) const {
        std::set<int> seen;
        std::vector<int> work{step};
        while (!work.empty()) {
            int at = work.back();
            work.pop_back();
            if (at == size() || !seen.insert(at).second) continue;
            if (steps[at].reads.count(reg)) return true;
            if (steps[at].writes.count(reg)) continue;
            for (int successor : steps[at].successors) work.push_back(successor);
        }
        return false;
    }

  private:
    static constexpr int kEnd = -1;
    void next(Step step) {
        steps.push_back(std::move(step));
        steps.back().successors.insert(static_cast<int>(steps.size()));
    }
};

TEST(Liveness, AgreesWithASearchOfAllPathsOnRandomPrograms) {
    for (std::uint32_t seed = 0; seed < 3000; ++seed) {
        RandomProgram program(seed);
        Analysed a(program.text);
        SCOPED_TRACE(program.text);
        ASSERT_EQ(static_cast<int>(a.function.body.size()), program.size());
        int most = 0;
        for (int i = 0; i < program.size(); ++i) {
            int before = 0, after = 0;
            for (int reg = 0; reg < 6; ++reg) {
                before += program.isLiveBefore(reg, i);
                bool isLive = program.steps[i].writes.count(reg) > 0;
                for (int successor : program.steps[i].successors) isLive |= program.isLiveBefore(reg, successor);
                after += isLive;
            }
            most = std::max({most, before, after});
        }
        ASSERT_EQ(a.liveness.maxLive32, most);
        for (int reg = 0; reg < 6; ++reg) {
            Span expected(-1, -1);
            for (int i = 0; i < program.size(); ++i) {
                if (!program.isLiveBefore(reg, i) && !program.steps[i].writes.count(reg)) continue;
                if (expected.first < 0) expected.first = i;
                expected.second = i;
            }
            ASSERT_EQ(a[fmt::format("%r{}", reg)], expected) << "%r" << reg;
        }
    }
}

TEST(ControlFlow, AgreesWithASearchOfAllPathsOnRandomPrograms) {
    int compared = 0;
    for (std::uint32_t seed = 0; seed < 3000; ++seed) {
        RandomProgram program(seed);
        Body function = parseBody(program.text);
        ControlFlow flow = analyseControlFlow(function);
        SCOPED_TRACE(program.text);
        const int end = program.size();
        bool allLeave = true;
        for (const auto& block : flow.blocks) allLeave &= program.reachable(block.first, -1).count(end) > 0;
        if (!allLeave) {
            // Not defined by paths to the end, but an answer there must be, and following it must reach the end.
            for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
                int at = static_cast<int>(b);
                for (std::size_t steps = 0; at >= 0 && steps <= flow.blocks.size(); ++steps) {
                    at = flow.blocks[at].postDominator;
                    ASSERT_LT(at, static_cast<int>(flow.blocks.size()));
                }
                ASSERT_EQ(at, -1);
            }
            continue;
        }
        ++compared;
        // All that a block's paths to the end must pass; the nearest is the one whose own set holds all the others.
        std::vector<std::set<int>> dominators(flow.blocks.size());
        for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
            for (std::size_t c = 0; c < flow.blocks.size(); ++c) {
                if (c != b && !program.reachable(flow.blocks[b].first, flow.blocks[c].first).count(end)) {
                    dominators[b].insert(static_cast<int>(c));
                }
            }
        }
        for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
            int nearest = -1;
            for (int candidate : dominators[b]) {
                std::set<int> others = dominators[b];
                others.erase(candidate);
                if (others == dominators[candidate]) nearest = candidate;
            }
            ASSERT_EQ(flow.blocks[b].postDominator, nearest) << "block " << b;
        }
    }
    EXPECT_GT(compared, 1000);
}

TEST(Liveness, LoopsOverTwentyThousandInstructions) {
    std::string text = ".version 7.0\n.target sm_80\n.entry k() {\n.reg .b32 %r<20001>; .reg .pred %p;\n";
    for (int i = 0; i < 20'000; ++i) {
        if (i % 10 == 0) text += fmt::format("L{}:\n", i);
        if (i % 10 == 9) {
            text += fmt::format("@%p bra L{};\n", i % 200 == 199 ? i - 199 : i - 9);
        } else {
            text += fmt::format("add.s32 %r{}, %r{}, %r{};\n", i + 1, i, i > 500 ? i - 500 : i);
        }
    }
    text += "ret;\n}\n";
    Module module = parse(std::move(text), "large.ptx");
    Liveness liveness = analyseLiveness(module.functions[0], analyseControlFlow(module.functions[0]));
    EXPECT_GT(liveness.maxLive32, 400);
}

}  // namespace
}  // namespace bulkhead::ptx
