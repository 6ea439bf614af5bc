// setmaxnreg: warps of a block give registers back to its pool, and wait for those that they want of it.

#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using u64 = std::uint64_t;

/// A block of 256 threads with 128 registers each; the first warpgroup gives, the second one takes.
std::string kernel(const std::string& gives, const std::string& takes, const std::string& directive = ".maxnreg 128") {
    return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a) " + directive +
           "\n{\n.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n"
           "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 128; @%p1 bra TAKES;\n"
           "mov.u32 %r5, 5000; L: sub.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L;\n"
           "mov.u64 %rd2, %clock64; st.global.u64 [%rd1], %rd2;\n" +
           gives + "\nret;\nTAKES:\n" + takes + "\nmov.u64 %rd2, %clock64; st.global.u64 [%rd1+8], %rd2; ret;\n}\n";
}

struct Times {
    u64 given, taken;
};

Times run(const std::string& text) {
    Harness h("h200");
    const VirtualAddress at = h.buffer(16);
    h.cycles(text, {{1}, {256}}, {at});
    return {h.data<u64>(at, 2)[0], h.data<u64>(at, 2)[1]};
}

const std::string kGive = "setmaxnreg.dec.sync.aligned.u32 40;", kTake = "setmaxnreg.inc.sync.aligned.u32 216;";

TEST(RegisterPool, whoWantsMoreWaitsUntilOthersGave) {
    const Times t = run(kernel(kGive, kTake));
    EXPECT_GT(t.taken, t.given);
    EXPECT_LT(t.taken, t.given + 200);
}

TEST(RegisterPool, whoWantsWhatItHasDoesNotWait) {
    const Times t = run(kernel(kGive, "setmaxnreg.inc.sync.aligned.u32 128;"));
    EXPECT_LT(t.taken + 3000, t.given);
}

TEST(RegisterPool, whatNeverComesIsAnError) {
    try {
        run(kernel(kGive, "setmaxnreg.inc.sync.aligned.u32 224;"));  // 96 more each, 88 are given back
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::deadlock);
        EXPECT_NE(std::string(e.what()).find("registers that never come"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("224"), std::string::npos) << e.what();
    }
}

TEST(RegisterPool, theDirectivesSayWhatAThreadHas) {
    // 65536 registers for a block of 256 threads, two of which are to fit: 128 each, as with .maxnreg.
    const Times t = run(kernel(kGive, kTake, ".maxntid 256, 1, 1\n.minnctapersm 2"));
    EXPECT_GT(t.taken, t.given);
    Harness h("h200");
    const auto blocks = [&](const std::string& directive) {
        const LoadedModule m = h.gpu.load(h.context, ptx::parse(kernel(kGive, kTake, directive), "test.ptx"));
        return occupancyOf(h.gpu.profile(), *m.program->kernel("k"), {256, 1, 1}, 0).blocksPerSm;
    };
    EXPECT_EQ(blocks(".maxnreg 128"), 2u);
    EXPECT_EQ(blocks(".maxntid 256, 1, 1\n.minnctapersm 2"), 2u);
    EXPECT_EQ(blocks(".maxntid 256, 1, 1"), 1u);
}

TEST(RegisterPool, withoutDirectivesNothingChanges) {
    const Times t = run(kernel("", kTake, ""));
    EXPECT_LT(t.taken, t.given);
}

}  // namespace
}  // namespace bulkhead::sim
