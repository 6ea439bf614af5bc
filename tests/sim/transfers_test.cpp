// Copies and fills beside kernels: who slows whom, and by how much.

#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim::test {
namespace {

constexpr Bytes kMega = Bytes{1} << 20;

/// Every thread adds up words that lie a whole grid apart: bound by DRAM where they are more than L2 holds.
const char* const kReads = R"(
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;
mad.lo.u32 %r5, %r1, %r2, %r3;
mul.lo.u32 %r6, %r2, %r4;
mul.wide.u32 %rd4, %r5, 4; mul.wide.u32 %rd5, %r6, 4;
add.u64 %rd4, %rd4, %rd1; add.u64 %rd6, %rd1, %rd2;
mov.u32 %r7, 0;
LOOP:
ld.global.cg.u32 %r8, [%rd4]; add.u64 %rd4, %rd4, %rd5;
ld.global.cg.u32 %r9, [%rd4]; add.u64 %rd4, %rd4, %rd5;
ld.global.cg.u32 %r10, [%rd4]; add.u64 %rd4, %rd4, %rd5;
ld.global.cg.u32 %r11, [%rd4]; add.u64 %rd4, %rd4, %rd5;
add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9; add.u32 %r7, %r7, %r10; add.u32 %r7, %r7, %r11;
setp.lt.u64 %p1, %rd4, %rd6;
@%p1 bra LOOP;
st.global.u32 [%rd3], %r7;
)";

/// Every warp reads one line again and again, which stays in L1D.
const char* const kReadsL1 = R"(
mov.u32 %r1, 0;
LOOP:
ld.global.ca.u32 %r2, [%rd1];
add.u32 %r1, %r1, 1;
setp.lt.u32 %p1, %r1, 3000;
@%p1 bra LOOP;
st.global.u32 [%rd3], %r2;
)";

enum class Work { none, reads, readsL1 };

struct Times {
    Cycles kernel = 0, copy = 0, both = 0;
};

/// What the kernel reads: a hundred rounds of 30 blocks of 512 threads, four words each.
constexpr Bytes kRead = 100 * 30 * 512 * 16;

/// A kernel, and a copy of so many bytes from one place of device memory to another.
Times timesOf(Work work, Bytes copied, unsigned threads = 1) {
    Machine::Options options;
    options.threads = threads;
    Harness h("gtx480", {}, options);
    const VirtualAddress read = h.buffer(kRead), sink = h.buffer(4096);
    const VirtualAddress from = h.buffer(std::max<Bytes>(copied, 4096)), to = h.buffer(std::max<Bytes>(copied, 4096));
    const StreamId beside = h.newStream(h.context);
    LaunchId kernel = 0;
    if (work != Work::none)
        kernel = h.start(kernelText(work == Work::reads ? kReads : kReadsL1), {.grid = {30}, .block = {512}},
                         {read, kRead, sink});
    Times times;
    if (copied) {
        const AddressSpace& memory = h.gpu.memory(h.context).space();
        Transfer transfer;
        transfer.duration = static_cast<Cycles>(2.0 * static_cast<double>(copied) / (h.gpu.profile().dramGBps() * 1e9) *
                                                static_cast<double>(h.gpu.profile().clock.coreMHz) * 1e6);
        transfer.from = {&memory, from, copied};
        transfer.to = {&memory, to, copied};
        h.gpu.enqueue(beside, transfer, [&] { times.copy = h.gpu.now(); });
    }
    h.finishAll();
    if (kernel) {
        EXPECT_FALSE(h.gpu.record(kernel).error.has_value());
        times.kernel = h.gpu.record(kernel).ended - h.gpu.record(kernel).started;
    }
    times.both = h.gpu.now();
    return times;
}

/// Cycles that DRAM needs for so many bytes at its peak.
double cyclesFor(double bytes) {
    const arch::DeviceProfile p = arch::findProfile("gtx480");
    return bytes / (p.dramGBps() * 1e9) * static_cast<double>(p.clock.coreMHz) * 1e6;
}

TEST(Transfers, ACopyAloneTakesTheTimeOfItsBytes) {
    EXPECT_NEAR(static_cast<double>(timesOf(Work::none, 16 * kMega).copy), cyclesFor(2.0 * 16 * kMega), 1);
}

TEST(Transfers, AKernelInL1AndACopyDoNotSlowEachOther) {
    const Times kernel = timesOf(Work::readsL1, 0), both = timesOf(Work::readsL1, 16 * kMega);
    EXPECT_NEAR(static_cast<double>(both.kernel), static_cast<double>(kernel.kernel), 0.01 * kernel.kernel);
    // Memory is not at its peak all the time: rows have to be opened.
    EXPECT_LT(static_cast<double>(both.copy), 1.15 * cyclesFor(2.0 * 16 * kMega));
}

TEST(Transfers, AKernelBoundByDramAndACopyShareIt) {
    const Times kernel = timesOf(Work::reads, 0), both = timesOf(Work::reads, 24 * kMega);
    const double alone = static_cast<double>(kernel.kernel);
    const double all = cyclesFor(kRead + 2.0 * 24 * kMega);
    ASSERT_LT(alone, 1.4 * cyclesFor(kRead));  // it is bound by DRAM
    // The copy moves twice as much as the kernel. Whatever their shares are, DRAM moves no more than its peak, and is
    // not idle while there is something to do. A share of a third at least for the kernel makes it three times as long
    // at most.
    EXPECT_GT(static_cast<double>(both.kernel), 1.3 * alone);
    EXPECT_LT(static_cast<double>(both.kernel), 3.2 * alone);
    EXPECT_GT(static_cast<double>(both.both), 0.99 * all);  // what is under way when the kernel ends counts as moved
    EXPECT_LT(static_cast<double>(both.both), 1.4 * all);
    EXPECT_GT(static_cast<double>(both.copy), 1.15 * cyclesFor(48 * kMega));
}

TEST(Transfers, WhatTouchesNoMemoryOfTheGpuTakesItsTime) {
    Harness h("gtx480");
    const VirtualAddress line = h.buffer(4096);
    Transfer transfer;
    transfer.duration = 5000;
    Cycles end = 0;
    const Cycles begin = h.gpu.now();
    h.start(kernelText(kReadsL1), {.block = {32}}, {line, line, line});
    h.gpu.enqueue(h.newStream(h.context), transfer, [&] { end = h.gpu.now(); });
    h.finishAll();
    EXPECT_EQ(end - begin, 5000u);
}

TEST(Transfers, AreTheSameForAnyNumberOfThreads) {
    const Times one = timesOf(Work::reads, 8 * kMega);
    for (const unsigned threads : {2u, 3u}) {
        const Times more = timesOf(Work::reads, 8 * kMega, threads);
        EXPECT_EQ(more.kernel, one.kernel);
        EXPECT_EQ(more.copy, one.copy);
    }
}

TEST(Transfers, ACopyThatOutlivesAKernelGoesOnAtItsOwnPace) {
    // While the kernel runs, the copy loses at most that time.
    const Times kernel = timesOf(Work::reads, 0), both = timesOf(Work::reads, 96 * kMega);
    const double own = cyclesFor(2.0 * 96 * kMega);
    EXPECT_GT(static_cast<double>(both.copy), own);
    EXPECT_LT(static_cast<double>(both.copy), own + static_cast<double>(both.kernel));
    EXPECT_GT(both.kernel, kernel.kernel);
}

TEST(Transfers, KernelsThatComeAndGoDoNotHoldACopyUp) {
    Harness h("gtx480", {"launch.latency=3000"});
    const VirtualAddress line = h.buffer(4096), from = h.buffer(32 * kMega), to = h.buffer(32 * kMega);
    const AddressSpace& memory = h.gpu.memory(h.context).space();
    Transfer transfer;
    transfer.duration = static_cast<Cycles>(cyclesFor(2.0 * 32 * kMega));
    transfer.from = {&memory, from, 32 * kMega};
    transfer.to = {&memory, to, 32 * kMega};
    Cycles end = 0;
    h.gpu.enqueue(h.newStream(h.context), transfer, [&] { end = h.gpu.now(); });
    std::string brief = kReadsL1;
    brief.replace(brief.find("3000"), 4, "50");
    for (int i = 0; i < 40; ++i) h.start(kernelText(brief), {.block = {32}}, {line, line, line});
    h.finishAll();
    EXPECT_GT(h.gpu.now(), 40 * 3000u);
    EXPECT_NEAR(static_cast<double>(end), static_cast<double>(transfer.duration), 0.03 * transfer.duration);
}

}  // namespace
}  // namespace bulkhead::sim::test
