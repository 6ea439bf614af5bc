#include <gtest/gtest.h>

#include "runner.h"

namespace bulkhead::sim {
namespace {

struct Refused {
    std::string body, message;
};

/// The body's first line is line 14 of the module, column 5.
void expectRefused(const std::string& body, const std::string& message, const std::string& before = {}) {
    try {
        Runner r(kernelWith("    " + body, before));
        FAIL() << "accepted: " << body;
    } catch (const ptx::PtxError& e) {
        EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
        if (before.empty()) {
            EXPECT_EQ(e.position.line, 14) << e.what();
            EXPECT_EQ(e.position.column, 5) << e.what();
        }
    }
}

TEST(Refused, WhatTheSimulatorDoesNotHave) {
    const Refused cases[] = {
        {"tcgen05.fence::before_thread_sync;", "the tensor cores of sm_100 are not supported"},
        {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r2];", "unknown modifier '.m16n16'"},
        {"multimem.red.global.add.u32 [%rd1], %r1;", "accesses to several GPUs are not supported"},
        {"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];",
         "work that a block takes over from another is not supported"},
        {"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r1, "
         "%r2, "
         "%r3, %r4, %r5}], [%r2];",
         "the mode '.tile::gather4' is of sm_100"},
        {"cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd1, {%r1, %r2, %r3, %r4, %r5}], "
         "[%r1];",
         "the mode '.tile::scatter4' is of sm_100"},
        {"cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r1, %r2, "
         "%r3}], [%r2], {%h1, %h2};",
         "the mode '.im2col::w' is of sm_100"},
        {"griddepcontrol.pause;", "griddepcontrol is .wait or .launch_dependents"},
        {"setmaxnreg.inc.sync.aligned.u32 100;", "a multiple of 8 from 24 to 256"},
        {"setmaxnreg.dec.sync.aligned.u32 16;", "a multiple of 8 from 24 to 256"},
        {"setmaxnreg.sync.aligned.u32 64;", "setmaxnreg is .inc or .dec"},
        {"frobnicate.u32 %r1, %r2;", "the instruction 'frobnicate' is not supported: `frobnicate.u32 %r1, %r2;`"},
    };
    for (const Refused& c : cases) expectRefused(c.body, c.message);
}

TEST(Refused, MistakesInMatrixInstructions) {
    const std::string four = "{%f1,%f2,%f3,%f4}";
    const Refused cases[] = {
        {"mma.sync.aligned.row.col.f32.f16.f16.f32 " + four + ", {%r1,%r2}, {%r3}, " + four + ";",
         "the instruction has no shape"},
        {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f32 " + four + ", {%r1,%r2}, {%r3}, " + four + ";",
         "four types are wanted"},
        {"mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 " + four + ", {%r1,%r2}, {%r3}, " + four + ";",
         "there is no product of this shape and these types"},
        {"mma.sync.aligned.m16n8k8.col.col.f32.f16.f16.f32 " + four + ", {%r1,%r2}, {%r3}, " + four + ";",
         "A is wanted by rows and B by columns"},
        {"mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 " + four + ", {%r1,%r2}, {%r3}, " + four + ";",
         "A and B have types that do not go together"},
        {"mma.sync.aligned.m16n8k8.row.col.f16.bf16.bf16.f16 {%r1,%r2}, {%r1,%r2}, {%r3}, {%r1,%r2};",
         "the accumulators have a type that does not go with A and B"},
        {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " + four + ", {%r1}, {%r3}, " + four + ";",
         "2 elements expected, 1 given"},
        {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + four + ", {%r1,%r2}, {%r3,%r4}, " + four +
             ", %r5, 4;",
         "the sparsity selector is a number from 0 to 3"},
        {"wmma.load.d.sync.aligned.row.m16n16k16.f32 {%f1,%f2,%f3,%f4}, [%rd1];",
         "fragments a, b and c are loaded, and d is stored"},
        {"ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r1,%r2,%r3}, [%r2];", "unknown modifier '.x3'"},
        {"wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 1, 0, 0;",
         "there is no product of this shape and these types"},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 2, 0, 0;",
         "1 or -1 is wanted"},
        {"wgmma.wait_group.sync.aligned 9;", "a number of groups from 0 to 7 is wanted"},
    };
    for (const Refused& c : cases) expectRefused(c.body, c.message);
}

TEST(Refused, MistakesInMemoryInstructions) {
    const Refused cases[] = {
        {"ld.global.u32 %h1, [%rd1];", ".u32 does not fit in registers of 16 bits"},
        {"ld.global.u64 %r1, [%rd1];", ".u64 does not fit in registers of 32 bits"},
        {"st.global.u64 [%rd1], %r1;", "registers of 32 bits are too narrow for .u64"},
        {"ld.global.wrong.u32 %r1, [%rd1];", "unknown modifier '.wrong'"},
        {"ld.global %r1, [%rd1];", "the instruction has no type"},
        {"ld.global.u32 %r1;", "2 operands expected, 1 given"},
        {"ld.global.u32 %r1, %rd1;", "an address in brackets is wanted"},
        {"ld.global.v2.u32 %r1, [%rd1];", "2 elements expected, 1 given"},
        {"ld.global.v4.u64 {%rd1,%rd2,%rd3,%rd4}, [%rd5];", "more than 16 bytes"},
        {"ld.global.u32 %p1, [%rd1];", "'%p1' is a predicate"},
        {"ld.global.u32 %r1, [%h1];", "'%h1' is .b16, not an address"},
        {"ld.global.u32 %r1, [out_param];", "'out_param' is a .param variable, not .global"},
        {"ld.param.u64 %rd1, [out_param+4];", "8 bytes at 4 are not inside the 8 bytes of 'out_param'"},
        {"st.param.u64 [out_param], %rd1;", "a kernel's parameters cannot be written"},
        {"st.const.u32 [%rd1], %r1;", "constant memory cannot be written"},
        {"atom.global.add.b32 %r1, [%rd1], %r2;", "there is no atom.add.b32"},
        {"atom.global.min.f32 %f1, [%rd1], %f2;", "there is no atom.min.f32"},
        {"red.global.exch.b32 [%rd1], %r2;", "there is no red.exch.b32"},
        {"atom.local.add.u32 %r1, [%rd1], %r2;", "there are no atomics on .local memory"},
        {"atom.global.add.u32 %rd1, [%rd1], %r2;", "'%rd1' is .b64, but the instruction gives .u32"},
        {"atom.global.cas.b32 %r1, [%rd1], %r2;", "4 operands expected, 3 given"},
        {"cp.async.cg.shared.global [%r1], [%rd1], 8;", "cp.async.cg copies 16 bytes"},
        {"cp.async.ca.shared.global [%r1], [%rd1], 12;", "cp.async.ca copies 4, 8 or 16 bytes"},
    };
    for (const Refused& c : cases) expectRefused(c.body, c.message);
}

TEST(Refused, MistakesInControl) {
    const Refused cases[] = {
        {"bar.sync 16;", "there is no barrier 16, only 0 to 15"},
        {"bar.arrive 1;", "2 operands expected, 1 given"},
        {"barrier.cluster.arrive.acquire;", "unknown modifier '.acquire'"},
        {"barrier.cluster.aligned;", "a cluster's barrier has .arrive or .wait"},
        {"mapa.u32 %r1, %r2, 0;", "generic addresses have 64 bits"},
        {"st.async.global.mbarrier::complete_tx::bytes.b32 [%rd1], %r1, [%rd2];", "only shared memory is written like"},
        {"bar.red.popc.u32 %r1, 0;", "3 to 4 operands expected, 2 given"},
        {"bar.red.popc.u32 %r1, 0, %r2;", "a predicate is wanted"},
        {"cvta.u64 %rd1, %rd2;", "cvta needs a state space"},
        {"isspacep.reg %p1, %rd1;", "'.reg' is no state space"},
        {"mov.u32 %r1, %tid;", "the special register %tid is not supported"},
        {"mov.u16 %h1, out_param;", "does not fit in 16 bits"},
    };
    for (const Refused& c : cases) expectRefused(c.body, c.message);
}

TEST(Refused, MistakesInOperands) {
    const Refused cases[] = {
        {"add.u32 %r1, %r2, %rd1;", "'%rd1' is .b64, but the instruction wants .u32"},
        {"add.f32 %f1, %f2, 1;", "the integer 1 where .f32 is wanted"},
        {"add.u32 %r1, %r2, 1.5;", "a real number where .u32 is wanted"},
        {"add.u32 %p1, %r2, %r3;", "'%p1' is .pred"},
        {"setp.nan.f64 %p1, %ctaid.x, %fd1;", "'%ctaid.x' is .u32, but the instruction wants .f64"},
        {"mov.e32 %r1, %tid.x;", "mov.e32 cannot have this operand"},
        {"mov.f16x32 %r1, out_param;", "mov.f16x32 cannot have this operand"},
        {"mov.u64 %rd1, %tid.x;", "'%tid.x' is .u32, but the instruction wants .b64"},
        {"mov.u32 %r1, %clock64;", "'%clock64' is .u64, but the instruction wants .b32"},
    };
    for (const Refused& c : cases) expectRefused(c.body, c.message);
}

TEST(Refused, FunctionsThatAreNowhere) {
    expectRefused("call cudaDeviceSynchronize;",
                  "the function 'cudaDeviceSynchronize' is neither defined here nor provided by the runtime",
                  ".extern .func cudaDeviceSynchronize();");
    expectRefused("mov.u64 %rd1, missing;", "'missing' is declared but not defined here", ".extern .func missing();");
    expectRefused("ret;", "'vprintf' is declared differently from the runtime's",
                  ".extern .func vprintf(.param .b64 f);");
    expectRefused("ret;", "in the initialiser of 'p': 'missing' is declared but not defined here",
                  ".extern .func missing(); .global .u64 p = missing;");
    expectRefused("ret;", "the address of the shared variable 's' is no constant",
                  ".shared .u32 s; .global .u64 p = s;");
    expectRefused("ret;", "the extern variable 'x' is not defined in this module", ".extern .global .u32 x;");
}

TEST(Refused, AnUnusedDeclarationIsNot) {
    EXPECT_NO_THROW(Runner(kernelWith("", ".extern .func cudaDeviceSynchronize();")));
}

TEST(Refused, ModulesWithShortAddresses) {
    EXPECT_THROW(Runner(".version 6.0 .target sm_30 .address_size 32 .visible .entry k() { ret; }"), ptx::PtxError);
}

}  // namespace
}  // namespace bulkhead::sim
