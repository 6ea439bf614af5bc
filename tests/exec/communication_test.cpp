// By which instructions blocks of a grid can learn of each other.

#include "sim/exec/communication.h"

#include <gtest/gtest.h>

#include "sim/exec/program.h"

namespace bulkhead::sim {
namespace {

bool communicates(const std::string& body, const std::string& others = "") {
    const auto program =
        lower(ptx::parse(".version 8.5\n.target sm_90\n.address_size 64\n" + others +
                             ".visible .entry k(.param .u64 a)\n{\n.reg .pred %p<4>; .reg .b32 %r<9>;\n"
                             ".reg .b64 %rd<9>; .shared .align 8 .b8 s[64];\n"
                             "ld.param.u64 %rd1, [a]; mov.u32 %r1, s;\n" +
                             body + "\nret;\n}\n",
                         "test.ptx"));
    return program->kernel("k")->blocksCommunicate;
}

TEST(Communication, IsByAtomicsFencesAndOrderedAccessesBeyondTheBlock) {
    for (const char* body : {
             "atom.global.add.u32 %r2, [%rd1], 1;",
             "atom.add.u32 %r2, [%rd1], 1;",
             "red.global.add.u32 [%rd1], 1;",
             "ld.volatile.global.u32 %r2, [%rd1];",
             "ld.volatile.u32 %r2, [%rd1];",
             "ld.relaxed.gpu.global.u32 %r2, [%rd1];",
             "ld.acquire.sys.u32 %r2, [%rd1];",
             "ld.global.cv.u32 %r2, [%rd1];",
             "st.volatile.global.u32 [%rd1], %r2;",
             "st.release.gpu.global.u32 [%rd1], %r2;",
             "membar.gl;",
             "membar.sys;",
             "fence.acq_rel.gpu;",
             "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;",
         })
        EXPECT_TRUE(communicates(body)) << body;
}

TEST(Communication, IsNotWhatStaysInTheBlock) {
    for (const char* body : {
             "",
             "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd1+4], %r2; ld.global.nc.u32 %r3, [%rd1];",
             "atom.shared.add.u32 %r2, [%r1], 1;",
             "red.shared.add.u32 [%r1], 1;",
             "ld.volatile.shared.u32 %r2, [%r1]; st.volatile.shared.u32 [%r1], %r2;",
             "ld.acquire.cta.u32 %r2, [%rd1];",
             "membar.cta;",
             "fence.acq_rel.cta; fence.acq_rel.cluster; fence.proxy.async;",
             "bar.sync 0; bar.warp.sync -1;",
             "cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.wait_all;",
         })
        EXPECT_FALSE(communicates(body)) << body;
}

TEST(Communication, IsThatOfFunctionsWhichAKernelCanCall) {
    const std::string adds =
        ".func f(.param .b64 p)\n{ .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; red.add.u32 [%rd1], 1; "
        "ret; }\n";
    const std::string call = "{ .param .b64 p; st.param.b64 [p], %rd1; call f, (p); }";
    EXPECT_TRUE(communicates(call, adds));
    EXPECT_FALSE(communicates("", adds));
    // Whatever has its address taken may be called.
    EXPECT_TRUE(
        communicates("mov.u64 %rd2, f;\n{ .param .b64 p; st.param.b64 [p], %rd1; t: .callprototype _ (.param .b64 p);\n"
                     "call %rd2, (p), t; }",
                     adds));
}

TEST(Communication, WhatBlocksPrintComesInTheirOrder) {
    EXPECT_TRUE(
        communicates("{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %rd1; "
                     "st.param.b64 [v], %rd1; call (r), vprintf, (f, v); }",
                     ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n"));
}

}  // namespace
}  // namespace bulkhead::sim
