#include <map>
#include <set>

#include "support.h"

namespace bulkhead::ptx {
namespace {

using Names = std::set<std::string>;

struct NamedEffects {
    Names reads, writes;
};
NamedEffects effects(const std::string& statement) {
    Body f = parseBody(statement);
    Effects found = effectsOf(f, f.body.back());
    NamedEffects named;
    for (int reg : found.reads) named.reads.insert(f.registers[reg].name);
    for (int reg : found.writes) named.writes.insert(f.registers[reg].name);
    EXPECT_EQ(named.reads.size(), found.reads.size()) << "a register is named twice";
    return named;
}
void expectEffects(const std::string& statement, const Names& writes, const Names& reads) {
    NamedEffects found = effects(statement);
    EXPECT_EQ(found.writes, writes) << statement;
    EXPECT_EQ(found.reads, reads) << statement;
}

TEST(Effects, ArithmeticWritesItsFirstOperand) {
    expectEffects("add.s32 %r1, %r2, %r3;", {"%r1"}, {"%r2", "%r3"});
    expectEffects("mad.lo.cc.u32 %r1, %r1, %r2, 7;", {"%r1"}, {"%r1", "%r2"});
    expectEffects("mov.u32 %r1, %tid.x;", {"%r1"}, {});
    expectEffects("selp.b32 %r1, %r2, 0, %p1;", {"%r1"}, {"%r2", "%p1"});
}

TEST(Effects, AGuardIsReadAndSoIsWhatAGuardedInstructionWrites) {
    expectEffects("@!%p1 add.s32 %r1, %r2, %r3;", {"%r1"}, {"%p1", "%r1", "%r2", "%r3"});
    expectEffects("@%p1 bra L; L:", {}, {"%p1"});
    expectEffects("@%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1];", {"%r1", "%r2"}, {"%p1", "%r1", "%r2", "%rd1"});
}

TEST(Effects, LoadsReadTheirAddress) {
    expectEffects("ld.global.u32 %r1, [%rd1+4];", {"%r1"}, {"%rd1"});
    expectEffects("ld.global.v4.u32 {%r1, _, %r3, %r4}, [%rd1];", {"%r1", "%r3", "%r4"}, {"%rd1"});
    expectEffects("ld.param.u64 %rd1, [kernel_param_0];", {"%rd1"}, {});
}

TEST(Effects, StoresAndReductionsWriteNoRegister) {
    expectEffects("st.global.u32 [%rd1], %r1;", {}, {"%rd1", "%r1"});
    expectEffects("st.shared.v2.u32 [%r1+8], {%r2, %r3};", {}, {"%r1", "%r2", "%r3"});
    expectEffects("red.global.add.u32 [%rd1], %r1;", {}, {"%rd1", "%r1"});
    expectEffects("prefetch.global.L2 [%rd1];", {}, {"%rd1"});
    expectEffects("cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;", {}, {"%r1", "%rd1", "%r2"});
    expectEffects("cp.async.wait_group 0;", {}, {});
}

TEST(Effects, AtomicsWriteTheOldValue) {
    expectEffects("atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", {"%r1"}, {"%rd1", "%r2", "%r3"});
    expectEffects("atom.global.add.u32 _, [%rd1], %r2;", {}, {"%rd1", "%r2"});
}

TEST(Effects, BarriersWriteOnlyWhenTheyReduce) {
    expectEffects("bar.sync %r1, %r2;", {}, {"%r1", "%r2"});
    expectEffects("barrier.sync.aligned 0;", {}, {});
    expectEffects("bar.warp.sync %r1;", {}, {"%r1"});
    expectEffects("bar.red.popc.u32 %r1, 0, %r2, !%p1;", {"%r1"}, {"%r2", "%p1"});
    expectEffects("barrier.red.and.pred %p1, 0, %p2;", {"%p1"}, {"%p2"});
    expectEffects("membar.gl;", {}, {});
    expectEffects("nanosleep.u32 %r1;", {}, {"%r1"});
}

TEST(Effects, PairsAreBothWritten) {
    expectEffects("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;", {"%p1", "%p2"}, {"%r1", "%r2", "%p3"});
    expectEffects("shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;", {"%r1", "%p1"}, {"%r2"});
    expectEffects("match.all.sync.b32 %r1|%p1, %r2, %r3;", {"%r1", "%p1"}, {"%r2", "%r3"});
    expectEffects("vote.sync.ballot.b32 %r1, %p1, %r2;", {"%r1"}, {"%p1", "%r2"});
}

TEST(Effects, VectorsAreTakenApart) {
    expectEffects("mov.b64 {%r1, %r2}, %rd1;", {"%r1", "%r2"}, {"%rd1"});
    expectEffects("mov.b64 %rd1, {%r1, %r2};", {"%rd1"}, {"%r1", "%r2"});
    expectEffects(".reg .v4 .f32 %v; mov.f32 %v.x, %f1;", {"%v"}, {"%v", "%f1"});
}

TEST(Effects, CallsWriteTheirResultsAndReadTheirArguments) {
    expectEffects("P: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (%r1), %rd1, (%r2), P;", {"%r1"},
                  {"%rd1", "%r2"});
    expectEffects("P: .callprototype _ (.reg .b32 _); call %rd1, (%r2), P;", {}, {"%rd1", "%r2"});
    expectEffects("{ .param .b32 a; P: .callprototype _ (.param .b32 _); @%p1 call %rd1, (a), P; }", {},
                  {"%p1", "%rd1"});
}

TEST(Effects, RetReadsResultsHeldInRegisters) {
    Function f = parseModule(".func (.reg .u32 %out) f(.reg .u32 %in) { mov.u32 %out, %in; ret; }").functions.at(0);
    Effects found = effectsOf(f, f.body.at(1));
    ASSERT_EQ(found.reads.size(), 1u);
    EXPECT_EQ(f.registers[found.reads[0]].name, "%out");
}

/// The post-dominator of the block that begins at each label, by label; "exit" for the function's end.
std::map<std::string, std::string> postDominators(const Function& f, WaysOut ways = WaysOut::unguarded) {
    ControlFlow flow = analyseControlFlow(f, ways);
    std::map<int, std::string> labelAt;
    for (const auto& [label, index] : f.labels) labelAt[index] = label;
    std::map<std::string, std::string> result;
    for (const auto& block : flow.blocks) {
        std::string meet = block.postDominator < 0 ? "exit" : labelAt.at(flow.blocks[block.postDominator].first);
        result[labelAt.at(block.first)] = meet;
    }
    return result;
}

using Map = std::map<std::string, std::string>;

TEST(ControlFlow, AnEmptyBodyHasNoBlocks) {
    Body f = parseBody("");
    ControlFlow flow = analyseControlFlow(f);
    EXPECT_TRUE(flow.blocks.empty());
    EXPECT_EQ(analyseLiveness(f, flow).maxLive32, 0);
}

TEST(ControlFlow, IfElseMeetsAfterBoth) {
    Function f =
        parseBody("A: @%p1 bra C;\n B: mov.u32 %r1, 1; bra D;\n C: mov.u32 %r1, 2;\n D: mov.u32 %r2, %r1; ret;");
    EXPECT_EQ(postDominators(f), (Map{{"A", "D"}, {"B", "D"}, {"C", "D"}, {"D", "exit"}}));
    ControlFlow flow = analyseControlFlow(f);
    EXPECT_EQ(flow.reconvergenceOf(0), f.labels.at("D"));
    EXPECT_EQ(flow.blockOf, (std::vector<int>{0, 1, 1, 2, 3, 3}));
}

TEST(ControlFlow, ALoopMeetsAtItsExit) {
    Body f = parseBody("A: mov.u32 %r1, 0;\n L: add.s32 %r1, %r1, 1; @%p1 bra L;\n E: ret;");
    EXPECT_EQ(postDominators(f), (Map{{"A", "L"}, {"L", "E"}, {"E", "exit"}}));
    EXPECT_EQ(analyseControlFlow(f).reconvergenceOf(2), 3);
}

TEST(ControlFlow, NestedLoopsWithABreak) {
    // for (;;O) { for (;;I) { if (p2) break; T } } with the outer exit at E.
    Body f = parseBody(
        "O: @!%p1 bra E;\n I: @%p2 bra X;\n T: add.s32 %r1, %r1, 1; @%p3 bra I;\n X: add.s32 %r2, %r2, 1; bra O;\n E: "
        "ret;");
    EXPECT_EQ(postDominators(f), (Map{{"O", "E"}, {"I", "X"}, {"T", "X"}, {"X", "O"}, {"E", "exit"}}));
}

TEST(ControlFlow, ASwitchMeetsAfterItsCases) {
    Body f = parseBody(
        "S: @%p1 bra D;\n J: brx.idx %r1, T; T: .branchtargets C0, C1, C2, C0;\n"
        "C0: mov.u32 %r2, 0; bra M;\n C1: mov.u32 %r2, 1;\n C2: mov.u32 %r3, 2; bra M;\n D: mov.u32 %r2, 9;\n M: ret;");
    EXPECT_EQ(postDominators(f),
              (Map{{"S", "M"}, {"J", "M"}, {"C0", "M"}, {"C1", "C2"}, {"C2", "M"}, {"D", "M"}, {"M", "exit"}}));
    ControlFlow flow = analyseControlFlow(f);
    EXPECT_EQ(flow.blocks[1].successors, (std::vector<int>{2, 3, 4}));
}

TEST(ControlFlow, AnEarlyReturnLeavesOnlyTheEndToMeetAt) {
    Body f = parseBody("A: @%p1 bra C;\n B: ret;\n C: mov.u32 %r1, 1; ret;");
    EXPECT_EQ(postDominators(f), (Map{{"A", "exit"}, {"B", "exit"}, {"C", "exit"}}));
    EXPECT_EQ(analyseControlFlow(f).reconvergenceOf(0), static_cast<int>(f.body.size()));
}

TEST(ControlFlow, AGuardedExitDoesNotEndABlock) {
    Body f = parseBody("A: @%p1 bra C;\n B: @%p2 exit; mov.u32 %r1, 1;\n C: ret;");
    EXPECT_EQ(postDominators(f), (Map{{"A", "C"}, {"B", "C"}, {"C", "exit"}}));
}

TEST(ControlFlow, OfAllWaysOutAGuardedOneEndsABlockToo) {
    Body f = parseBody("A: @%p1 bra C;\n B: @%p2 exit;\n D: mov.u32 %r1, 1;\n C: ret;");
    EXPECT_EQ(postDominators(f, WaysOut::all), (Map{{"A", "exit"}, {"B", "exit"}, {"D", "C"}, {"C", "exit"}}));
    EXPECT_EQ(analyseControlFlow(f, WaysOut::all).blocks[1].successors, (std::vector<int>{2}));
}

TEST(ControlFlow, OfAllWaysOutTrapIsNone) {
    Body f = parseBody("A: @%p1 bra C;\n B: mov.u32 %r1, 1; trap;\n C: mov.u32 %r1, 2;\n D: @%p2 bra C;\n E: ret;");
    EXPECT_EQ(postDominators(f, WaysOut::all), (Map{{"A", "C"}, {"B", "exit"}, {"C", "E"}, {"E", "exit"}}));
}

TEST(ControlFlow, TrapEndsABlock) {
    Body f = parseBody("A: @%p1 bra C;\n B: trap;\n C: exit;");
    EXPECT_EQ(postDominators(f), (Map{{"A", "exit"}, {"B", "exit"}, {"C", "exit"}}));
}

TEST(ControlFlow, WhereNobodyReturnsAnExitIsTheEnd) {
    Body f = parseBody("A: @%p1 bra C;\n B: mov.u32 %r1, 1;\n C: @%p2 bra A;\n D: exit;");
    EXPECT_EQ(postDominators(f), (Map{{"A", "C"}, {"B", "C"}, {"C", "D"}, {"D", "exit"}}));
}

TEST(ControlFlow, LanesThatGoOnMeetWhereOthersGiveUp) {
    // Lanes that come to B may trap: those that do not meet the others at C all the same, and so at E.
    Body f = parseBody(
        "A: @%p1 bra C;\n B: @%p2 bra T;\n C: @%p3 bra E;\n X: exit;\n E: ret;\n T: mov.u32 %r1, 1; bra U;\n U: trap;");
    EXPECT_EQ(postDominators(f),
              (Map{{"A", "C"}, {"B", "C"}, {"C", "E"}, {"X", "exit"}, {"E", "exit"}, {"T", "U"}, {"U", "exit"}}));
}

TEST(ControlFlow, FallingOffTheEndLeaves) {
    Body f = parseBody("A: @%p1 bra E;\n B: mov.u32 %r1, 1;\n E:");
    ControlFlow flow = analyseControlFlow(f);
    ASSERT_EQ(flow.blocks.size(), 2u);
    EXPECT_TRUE(flow.blocks[0].leaves);
    EXPECT_TRUE(flow.blocks[1].leaves);
    EXPECT_EQ(flow.blocks[0].postDominator, -1);
    EXPECT_EQ(flow.reconvergenceOf(0), 2);
}

TEST(ControlFlow, AnEndlessLoopLeavesAtItsLastBlock) {
    Body f = parseBody("A: mov.u32 %r1, 0;\n L: @%p1 bra N;\n M: add.s32 %r1, %r1, 1;\n N: bra L;");
    EXPECT_EQ(postDominators(f), (Map{{"A", "L"}, {"L", "N"}, {"M", "N"}, {"N", "exit"}}));
}

TEST(ControlFlow, AnEndlessLoopBesideAWayOut) {
    Body f = parseBody("A: @%p1 bra L;\n B: ret;\n L: bra L;");
    EXPECT_EQ(postDominators(f), (Map{{"A", "exit"}, {"B", "exit"}, {"L", "exit"}}));
}

TEST(ControlFlow, UnreachableBlocksGetAnAnswerToo) {
    Body f = parseBody("A: bra C;\n B: mov.u32 %r1, 1;\n C: ret;");
    EXPECT_EQ(postDominators(f), (Map{{"A", "C"}, {"B", "C"}, {"C", "exit"}}));
}

}  // namespace
}  // namespace bulkhead::ptx
