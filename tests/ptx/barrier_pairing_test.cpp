// Whether all threads of a block come to the same barriers, as the analysis finds.

#include "ptx/barrier_pairing.h"

#include "support.h"

namespace bulkhead::ptx {
namespace {

/// The instruction where threads may part before a barrier; "together" if they do not, "no barriers" if there are none.
std::string parting(const std::string& body, const std::string& functions = "") {
    const Module module =
        parseModule(functions +
                    "\n.visible .entry k(.param .u64 data, .param .u32 n)\n{\n.reg .pred %p<8>; .reg .b32 %r<16>; .reg "
                    ".b64 %rd<8>;\n"
                    "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 10; ld.param.u32 %r2, [n]; setp.gt.u32 %p2, %r2, 10;\n"
                    "ld.param.u64 %rd1, [data];\n" +
                    body + "\n}\n");
    const CallGraph graph(module);
    const BarrierPairing pairing(*module.find("k"), graph);
    if (!pairing.hasBarriers()) return "no barriers";
    const Instruction* const found = pairing.parting();
    return found ? std::string(found->text) : "together";
}

/// %p1 differs between threads, %p2 does not.
TEST(BarrierPairing, ThreadsPartAtABranchThatGoesAroundABarrier) {
    EXPECT_EQ(parting("@%p1 bra END; bar.sync 0;\nEND: ret;"), "@%p1 bra END;");
    EXPECT_EQ(parting("@%p2 bra END; bar.sync 0;\nEND: ret;"), "together");
    EXPECT_EQ(parting("@%p1 bra MEET; mov.u32 %r3, 1;\nMEET: bar.sync 0; ret;"), "together") << "they meet before";
    EXPECT_EQ(parting("bar.sync 0; @%p1 bra END; mov.u32 %r3, 1;\nEND: ret;"), "together") << "they part after";
}

TEST(BarrierPairing, ThreadsPartWhereSomeLeave) {
    EXPECT_EQ(parting("@%p1 ret; bar.sync 0; ret;"), "@%p1 ret;");
    EXPECT_EQ(parting("@%p1 exit; bar.sync 0; ret;"), "@%p1 exit;");
    EXPECT_EQ(parting("@%p2 ret; bar.sync 0; ret;"), "together");
    EXPECT_EQ(parting("bar.sync 0; @%p1 ret; mov.u32 %r3, 1; ret;"), "together");
    EXPECT_EQ(parting("L: bar.sync 0; @%p1 ret; @%p2 bra L; ret;"), "@%p1 ret;") << "and come to it again";
}

TEST(BarrierPairing, AReturnThatAllWouldTakeIsTakenByThoseWhoComeToIt) {
    EXPECT_EQ(parting("@%p1 bra OVER; @%p2 ret;\nOVER: bar.sync 0; ret;"), "@%p1 bra OVER;");
}

TEST(BarrierPairing, TablesOfBranchesPartThreads) {
    const std::string targets = "\nT: .branchtargets A, B;\nA: ret;\nB: bar.sync 0; ret;";
    EXPECT_EQ(parting("and.b32 %r3, %r1, 1; brx.idx %r3, T;" + targets), "brx.idx %r3, T;");
    EXPECT_EQ(parting("and.b32 %r3, %r2, 1; brx.idx %r3, T;" + targets), "together");
}

TEST(BarrierPairing, GuardedBarriersAreForSome) {
    EXPECT_EQ(parting("@%p1 bar.sync 0; ret;"), "@%p1 bar.sync 0;");
    EXPECT_EQ(parting("@!%p2 bar.sync 0; ret;"), "together");
}

TEST(BarrierPairing, LoopsAreAsLongForAllAsTheirBounds) {
    const std::string loop = "mov.u32 %r3, 0;\nL: bar.sync 0; add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, ";
    EXPECT_EQ(parting(loop + "%r2; @%p3 bra L; ret;"), "together");
    EXPECT_EQ(parting(loop + "%r1; @%p3 bra L; ret;"), "@%p3 bra L;");
    // How often a loop went round differs where its end does, though each round adds the same.
    EXPECT_EQ(parting("mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, %r1; @%p3 bra L;\n"
                      "setp.gt.u32 %p4, %r3, 5; @%p4 bra END; bar.sync 0;\nEND: ret;"),
              "@%p4 bra END;");
}

TEST(BarrierPairing, BarriersOfAWarpOrOfSomeThreadsAreNone) {
    EXPECT_EQ(parting("@%p1 bra END; bar.warp.sync -1;\nEND: ret;"), "no barriers");
    EXPECT_EQ(parting("@%p1 bra END; bar.sync 1, 64; barrier.red.or.pred %p3, 2, 64, %p4;\nEND: ret;"), "no barriers");
    EXPECT_EQ(parting("@%p1 bra END; barrier.red.or.pred %p3, 2, %p4;\nEND: ret;"), "@%p1 bra END;");
}

TEST(BarrierPairing, WhatEndsTheLaunchIsNoWayOut) {
    EXPECT_EQ(parting("@%p1 bra FINE; trap;\nFINE: bar.sync 0; ret;"), "together");
}

TEST(BarrierPairing, WhatComesFromMemoryOrOtherLanesDiffers) {
    const auto branchOn = [](const std::string& value) {
        return parting(value + " setp.ne.u32 %p3, %r3, 0; @%p3 bra END; bar.sync 0;\nEND: ret;");
    };
    const std::string together = "together", apart = "@%p3 bra END;";
    EXPECT_EQ(branchOn("ld.global.u32 %r3, [%rd1];"), apart);
    EXPECT_EQ(branchOn("ld.global.nc.u32 %r3, [%rd1];"), together) << "which no thread may write";
    EXPECT_EQ(branchOn("atom.global.add.u32 %r3, [%rd1], 1;"), apart);
    EXPECT_EQ(branchOn("shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;"), apart) << "of one warp";
    EXPECT_EQ(branchOn("vote.sync.ballot.b32 %r3, %p2, -1;"), apart);
    EXPECT_EQ(branchOn("mov.u32 %r3, %laneid;"), apart);
    EXPECT_EQ(branchOn("mov.u32 %r3, %clock;"), apart);
    EXPECT_EQ(branchOn("mov.u32 %r3, %ctaid.x; mad.lo.u32 %r3, %r3, 5, %r2;"), together);
    EXPECT_EQ(branchOn("selp.u32 %r3, %r2, 7, %p2;"), together);
    EXPECT_EQ(branchOn("selp.u32 %r3, %r2, 7, %p1;"), apart);
    EXPECT_EQ(branchOn("@%p1 mov.u32 %r3, 1;"), apart);
    EXPECT_EQ(branchOn("bar.red.popc.u32 %r3, 0, %p1;"), together) << "a vote of the block";
    EXPECT_EQ(branchOn("add.cc.u32 %r4, %r1, %r1; addc.u32 %r3, %r2, 0;"), apart) << "by the carry";
}

TEST(BarrierPairing, ARegisterIsWhatItWasGivenLast) {
    EXPECT_EQ(parting("setp.ne.u32 %p3, %r1, 0; bar.red.or.pred %p3, 0, %p3; @%p3 bra END; bar.sync 0;\nEND: ret;"),
              "together");
    EXPECT_EQ(parting("bar.red.or.pred %p3, 0, %p1; setp.ne.u32 %p3, %r1, 0; @%p3 bra END; bar.sync 0;\nEND: ret;"),
              "@%p3 bra END;");
}

const char* const kMeet = ".func meet() { bar.sync 0; ret; }\n";

TEST(BarrierPairing, ACallOfAFunctionWithABarrierIsOne) {
    EXPECT_EQ(parting("call meet; ret;", kMeet), "together");
    EXPECT_EQ(parting("@%p1 ret; call meet; ret;", kMeet), "@%p1 ret;");
    EXPECT_EQ(parting("@%p1 call meet; ret;", kMeet), "@%p1 call meet;");
    EXPECT_EQ(parting("@%p1 bra END; call deep;\nEND: ret;", std::string(kMeet) + ".func deep() { call meet; ret; }\n"),
              "@%p1 bra END;");
    EXPECT_EQ(
        parting("@%p1 bra END; call quiet;\nEND: call meet; ret;", std::string(kMeet) + ".func quiet() { ret; }\n"),
        "together");
}

TEST(BarrierPairing, SomeMayReturnFromAFunctionAfterItsBarriersOnly) {
    const auto function = [](const std::string& body) {
        return ".func f() {\n.reg .pred %p; .reg .b32 %r;\nmov.u32 %r, %tid.x; setp.gt.u32 %p, %r, 10;\n" + body +
               " ret;\n}\n";
    };
    EXPECT_EQ(parting("call f; ret;", function("@%p ret; bar.sync 0;")), "@%p ret;");
    EXPECT_EQ(parting("call f; bar.sync 0; ret;", function("bar.sync 0; @%p ret;")), "together")
        << "they meet in the caller";
    EXPECT_EQ(parting("call f; bar.sync 0; ret;", function("@%p ret;")), "together");
}

TEST(BarrierPairing, ParametersOfAFunctionAreWhatCallsGiveIt) {
    const std::string function =
        ".func f(.param .b32 n) {\n.reg .pred %p; .reg .b32 %r<3>;\nld.param.u32 %r1, [n]; mov.u32 %r2, 0;\n"
        "L: bar.sync 0; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra L; ret;\n}\n";
    const auto call = [](const std::string& value) {
        return "{ .param .b32 q; st.param.b32 [q], " + value + "; call f, (q); }\n";
    };
    EXPECT_EQ(parting(call("%r2") + call("7") + "ret;", function), "together");
    EXPECT_EQ(parting(call("%r2") + call("%r1") + "ret;", function), "@%p bra L;");
}

TEST(BarrierPairing, ResultsOfAFunctionAreWhatItReturns) {
    const auto use = [](const std::string& function) {
        return parting(
            "{ .param .b32 q; call (q), f; ld.param.b32 %r3, [q]; }\nsetp.ne.u32 %p3, %r3, 0; @%p3 bra END; bar.sync "
            "0;\n"
            "END: ret;",
            ".func (.param .b32 out) f() {\n.reg .pred %p; .reg .b32 %r<3>;\nmov.u32 %r1, %tid.x; "
            "setp.gt.u32 %p, %r1, 10; mov.u32 %r2, %ctaid.x;\n" +
                function + " ret;\n}\n");
    };
    EXPECT_EQ(use("st.param.b32 [out], %r2;"), "together");
    EXPECT_EQ(use("st.param.b32 [out], %r1;"), "@%p3 bra END;");
    EXPECT_EQ(use("st.param.b32 [out], 1; @%p ret; st.param.b32 [out], 2;"), "@%p3 bra END;") << "by where it returns";
}

TEST(BarrierPairing, PointersLeadAnywhere) {
    const std::string functions =
        std::string(kMeet) + ".func quiet() { ret; }\n.global .u64 table[2] = {meet, quiet};\n";
    const std::string call = " call %rd2, (), p;\np: .callprototype _ ();\nret;";
    EXPECT_EQ(parting("ld.const.u64 %rd2, [%rd1];" + call, functions), "together");
    EXPECT_EQ(parting("ld.global.u64 %rd2, [%rd1];" + call, functions), "call %rd2, (), p;") << "each by its own";
}

TEST(BarrierPairing, RecursionIsACallLikeAnyOther) {
    const auto recursive = [](const std::string& guard) {
        return ".func f(.param .b32 n) {\n.reg .pred %p<3>; .reg .b32 %r<3>;\nld.param.u32 %r1, [n]; "
               "setp.gt.u32 %p1, %r1, 0; mov.u32 %r2, %tid.x; setp.gt.u32 %p2, %r2, 0; bar.sync 0;\n@!" +
               guard +
               " bra END; sub.u32 %r1, %r1, 1;\n{ .param .b32 q; st.param.b32 [q], %r1; call f, (q); }\nEND: ret;\n}\n";
    };
    const std::string body = "{ .param .b32 q; st.param.b32 [q], %r2; call f, (q); }\nret;";
    EXPECT_EQ(parting(body, recursive("%p1")), "together");
    EXPECT_EQ(parting(body, recursive("%p2")), "@!%p2 bra END;");
}

}  // namespace
}  // namespace bulkhead::ptx
