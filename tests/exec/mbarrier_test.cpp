// mbarrier objects: arrivals, phases, tokens and bytes, as the PTX ISA describes them.

#include "sim/exec/mbarrier.h"

#include <gtest/gtest.h>

#include "runner.h"

namespace bulkhead::sim {
namespace {

using u32 = std::uint32_t;

const std::string kObject =
    ".shared .align 8 .b64 object; .shared .align 4 .b8 words[1024];\n    mov.u32 %r2, object;\n";
/// What lane or thread t has in %r1 goes to out[t].
const std::string kStore = "    mul.wide.u32 %rd9, %t, 4; add.u64 %rd9, %out, %rd9; st.global.u32 [%rd9], %r1;\n";
/// The first thread makes an object for so many arrivals, before anybody uses it.
std::string made(unsigned arrivals) {
    return kObject + "    setp.eq.u32 %p1, %t, 0;\n    @%p1 mbarrier.init.shared::cta.b64 [%r2], " +
           std::to_string(arrivals) + ";\n    bar.sync 0;\n";
}

TEST(Mbarrier, AWordHoldsItsCounts) {
    Mbarrier m;
    m.phase = true;
    m.expected = 1'048'575;
    m.pending = 77;
    m.transactions = -1'048'575;
    const Mbarrier again = Mbarrier::read(m.word());
    EXPECT_TRUE(again.phase);
    EXPECT_EQ(again.expected, 1'048'575u);
    EXPECT_EQ(again.pending, 77u);
    EXPECT_EQ(again.transactions, -1'048'575);
}

TEST(Mbarrier, ThreadsWaitForTheWritesOfAllOthers) {
    // Four warps; each thread reads what the thread 33 further on wrote before it arrived.
    const auto out = runBody<u32>(made(128) + R"(
    mov.u32 %r3, words; shl.b32 %r4, %t, 2; add.u32 %r4, %r3, %r4; mad.lo.u32 %r5, %t, 7, 1;
    st.shared.u32 [%r4], %r5;
    mbarrier.arrive.shared::cta.b64 %rd2, [%r2];
W:  mbarrier.test_wait.shared::cta.b64 %p2, [%r2], %rd2;
    @!%p2 bra W;
    add.u32 %r6, %t, 33; and.b32 %r6, %r6, 127; shl.b32 %r6, %r6, 2; add.u32 %r6, %r3, %r6;
    ld.shared.u32 %r1, [%r6];
)" + kStore,
                                  128);
    for (u32 t = 0; t < 128; ++t) EXPECT_EQ(out[t], (t + 33) % 128 * 7 + 1) << t;
}

TEST(Mbarrier, PhasesTakeTurnsByParity) {
    // Three phases of two arrivals each: what parity 0 and 1 say after each arrival.
    const auto out = runBody<u32>(made(2) + R"(
    mov.u32 %r1, 0; mov.u32 %r5, 6;
L:  mbarrier.arrive.shared.b64 _, [%r2];
    mbarrier.test_wait.parity.shared.b64 %p2, [%r2], 0;
    mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 1, 1000;
    selp.u32 %r6, 1, 0, %p2; selp.u32 %r7, 2, 0, %p3; or.b32 %r6, %r6, %r7;
    shl.b32 %r1, %r1, 2; or.b32 %r1, %r1, %r6;
    sub.u32 %r5, %r5, 1; setp.ne.u32 %p4, %r5, 0; @%p4 bra L;
)" + kStore,
                                  1);
    // Parity 1 counts as complete before the first phase, parity 0 after it.
    EXPECT_EQ(out[0], 0b10'01'01'10'10'01u);
}

TEST(Mbarrier, BytesKeepAPhaseOpen) {
    const auto out = runBody<u32>(made(1) + R"(
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd2, [%r2], 96;
    mbarrier.test_wait.shared.b64 %p2, [%r2], %rd2;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], 32;
    mbarrier.test_wait.shared.b64 %p3, [%r2], %rd2;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], 64;
    mbarrier.test_wait.shared.b64 %p4, [%r2], %rd2;
    selp.u32 %r1, 1, 0, %p2; selp.u32 %r5, 2, 0, %p3; or.b32 %r1, %r1, %r5; selp.u32 %r5, 4, 0, %p4;
    or.b32 %r1, %r1, %r5;
)" + kStore,
                                  1);
    EXPECT_EQ(out[0], 4u);
}

TEST(Mbarrier, TokensTellWhatWasPendingAndDropsAreForGood) {
    // Of five: three arrive together, one drops out. Then the last ends the phase, and the next has four.
    const auto out = runBody<u32>(made(5) + R"(
    mbarrier.arrive.noComplete.release.cta.shared.b64 %rd2, [%r2], 3;
    mbarrier.pending_count.b64 %r4, %rd2;
    mbarrier.arrive_drop.shared.b64 %rd3, [%r2];
    mbarrier.pending_count.b64 %r5, %rd3;
    mbarrier.arrive.shared.b64 %rd4, [%r2];
    mbarrier.pending_count.b64 %r6, %rd4;
    mbarrier.arrive.shared.b64 %rd5, [%r2];
    mbarrier.pending_count.b64 %r7, %rd5;
    mul.lo.u32 %r1, %r4, 1000; mad.lo.u32 %r1, %r5, 100, %r1; mad.lo.u32 %r1, %r6, 10, %r1; add.u32 %r1, %r1, %r7;
)" + kStore,
                                  1);
    EXPECT_EQ(out[0], 5214u);
}

TEST(Mbarrier, CopiesArriveOnceTheyAreDone) {
    Runner r(kernelWith(made(32) + R"(
    mov.u32 %r3, words; shl.b32 %r4, %t, 2; add.u32 %r4, %r3, %r4; mov.u64 %rd3, data; mul.wide.u32 %rd4, %t, 4;
    add.u64 %rd3, %rd3, %rd4;
    cp.async.ca.shared.global [%r4], [%rd3], 4;
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2];
W:  mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
    @!%p2 bra W;
    xor.b32 %r5, %t, 31; shl.b32 %r5, %r5, 2; add.u32 %r5, %r3, %r5; ld.shared.u32 %r1, [%r5];
)" + kStore,
                        ".global .align 16 .u32 data[32];"));
    std::vector<u32> data(32);
    for (u32 i = 0; i < 32; ++i) data[i] = 3 * i + 5;
    std::memcpy(r.memory.resolve(r.addressOf("data"), 128), data.data(), 128);
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, out);
    for (u32 t = 0; t < 32; ++t) EXPECT_EQ(r.download<u32>(out, 32)[t], 3 * (t ^ 31) + 5);
}

TEST(Mbarrier, MoreArrivalsThanArePendingEndTheKernel) {
    try {
        runBody<u32>(made(2) + "    mbarrier.arrive.shared.b64 _, [%r2], 3;\n", 1);
        FAIL() << "accepted";
    } catch (const LaunchError& error) {
        EXPECT_NE(std::string(error.what()).find("more arrivals or bytes at an mbarrier object"), std::string::npos)
            << error.what();
    }
}

TEST(Mbarrier, GenericAddressesMustBeOfSharedMemory) {
    const auto out = runBody<u32>(made(1) + R"(
    cvt.u64.u32 %rd2, %r2; cvta.shared.u64 %rd2, %rd2;
    mbarrier.arrive.b64 %rd3, [%rd2];
    mbarrier.test_wait.b64 %p2, [%rd2], %rd3;
    selp.u32 %r1, 1, 0, %p2;
)" + kStore,
                                  1);
    EXPECT_EQ(out[0], 1u);
    EXPECT_THROW(runBody<u32>("    mbarrier.init.b64 [%out], 1;\n", 4), LaunchError);
}

}  // namespace
}  // namespace bulkhead::sim
