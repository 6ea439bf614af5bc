// A DRAM channel by itself: what its banks, its schedulers, its row policies and refresh take. The memory clock is the
// core clock here, so that cycles are cycles. tRCD 12, tRP 12, tCL 12, tRAS 28, tCCD 2, tWR 12 (Table I of CIAO and
// GPGPU-Sim's GTX 480), 64 B a burst.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "harness.h"
#include "sim/mem/dram_channel.h"

namespace bulkhead::sim {
namespace {

using test::profileWith;

class Channel {
  public:
    explicit Channel(std::vector<std::string> settings = {})
        : profile_(profileOf(std::move(settings))), channel_(makeDramChannel(sim, 0)) {
        sim.onEvent<&Channel::step>(EventKind::channelStep, *this);
        sim.onEvent<&Channel::served>(EventKind::dramDone, *this);
    }

    RequestId add(std::uint32_t bank, std::uint64_t row, std::uint32_t launch = 0, RequestKind kind = RequestKind::fill,
                  std::uint16_t bytes = 64) {
        const RequestId id = sim.requests.take();
        Request& request = sim.requests[id];
        request.kind = kind;
        request.bank = bank;
        request.row = row;
        request.bytes = bytes;
        request.launch = launch;
        channel_->enqueue(id);
        return id;
    }
    RequestId write(std::uint32_t bank, std::uint64_t row) { return add(bank, row, 0, RequestKind::writeback); }

    void runUntil(Cycles end) {
        for (Cycles next = sim.nextEvent(); next < end; next = sim.nextEvent()) {
            sim.advanceTo(next);
            sim.handleEvents();
        }
        sim.advanceTo(end);
    }
    std::size_t room() const { return channel_->room(); }
    bool hasRoomForFill(std::uint32_t bank) const { return channel_->hasRoomForFill(bank, 0); }
    const Counters& counters(std::uint32_t launch = 0) { return sim.counters(launch); }

  private:
    static arch::DeviceProfile profileOf(std::vector<std::string> settings) {
        settings.insert(settings.begin(), {"clock.memoryMHz=700", "dram.latency=400"});
        return profileWith("gtx480", settings);
    }
    arch::DeviceProfile profile_;

  public:
    SimShared shared{profile_};
    Simulation sim{shared};
    std::map<RequestId, Cycles> done;

  private:
    void step(std::uint32_t) { channel_->step(); }
    void served(RequestId request) { done[request] = sim.now(); }

    std::unique_ptr<DramChannel> channel_;
};

// ---- banks, rows and the bus

TEST(Dram, aClosedBankTakesActivateReadAndTransfer) {
    Channel c;
    const RequestId a = c.add(0, 1);
    c.runUntil(1000);
    EXPECT_EQ(c.done[a], 12u + 12 + 2);  // tRCD + tCL + tCCD
    EXPECT_EQ(c.counters().dramRowMisses, 1u);
}

TEST(Dram, aRowHitSavesTheActivate) {
    Channel c;
    c.add(0, 1);
    c.runUntil(1000);
    const RequestId b = c.add(0, 1);
    c.runUntil(2000);
    EXPECT_EQ(c.done[b] - 1000, 12u + 2);  // tCL + tCCD
    EXPECT_EQ(c.counters().dramRowHits, 1u);
}

TEST(Dram, aRowConflictPrechargesFirst) {
    Channel c;
    c.add(0, 1);
    c.runUntil(1000);
    const RequestId b = c.add(0, 2);
    c.runUntil(2000);
    EXPECT_EQ(c.done[b] - 1000, 12u + 12 + 12 + 2);  // tRP + tRCD + tCL + tCCD
    EXPECT_EQ(c.counters().dramRowConflicts, 1u);
}

TEST(Dram, aRowStaysOpenForTras) {
    Channel c;
    const RequestId a = c.add(0, 1), b = c.add(0, 2);
    c.runUntil(1000);
    EXPECT_EQ(c.done[a], 26u);
    // Activated at 0: precharge not before tRAS = 28; then tRP + tRCD + tCL + tCCD.
    EXPECT_EQ(c.done[b], 28u + 12 + 12 + 12 + 2);
}

TEST(Dram, aWriteHoldsItsRowForTwr) {
    Channel c;
    c.write(0, 1);
    const RequestId b = c.add(0, 2);
    c.runUntil(1000);
    // The write's data end at 12 + 12 + 2 = 26; + tWR 12 = 38 is later than tRAS; then tRP + tRCD + tCL + tCCD.
    EXPECT_EQ(c.done[b], 38u + 12 + 12 + 12 + 2);
}

TEST(Dram, banksWorkSideBySideAndShareTheBus) {
    Channel c;
    std::vector<RequestId> ids;
    for (std::uint32_t bank = 0; bank < 4; ++bank) ids.push_back(c.add(bank, 1));
    c.runUntil(1000);
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(c.done[ids[i]], 26u + 2 * i);  // a tCCD apart
}

TEST(Dram, aLargerRequestTakesMoreBursts) {
    Channel c;
    const RequestId a = c.add(0, 1, 0, RequestKind::fill, 128);
    c.runUntil(1000);
    EXPECT_EQ(c.done[a], 12u + 12 + 2 * 2);
}

TEST(Dram, theQueueHoldsWhatTheProfileSays) {
    Channel c({"dram.queue=10"});
    ASSERT_EQ(c.room(), 10u);
    for (std::uint64_t i = 0; i < 10; ++i) c.add(0, i);
    EXPECT_EQ(c.room(), 0u);
    c.runUntil(30);
    EXPECT_EQ(c.room(), 1u);
}

// ---- schedulers

TEST(DramScheduler, frFcfsLetsARequestForTheOpenRowOvertakeAnOlderOne) {
    Channel c;
    const RequestId first = c.add(0, 1), other = c.add(0, 2), hit = c.add(0, 1);
    c.runUntil(1000);
    EXPECT_EQ(c.done[first], 26u);
    EXPECT_EQ(c.done[hit], 28u);
    EXPECT_EQ(c.done[other], 66u);  // as it would be without the hit: tRAS decides
}

TEST(DramScheduler, frFcfsDoesSoOnlyUntilTheAgeLimit) {
    Channel c({"dram.ageLimit=100"});
    c.add(0, 1);
    const RequestId old = c.add(0, 2);
    // There is always one more hit of row 1 in the queue.
    for (Cycles at = 1; at < 1000 && !c.done.contains(old); ++at) {
        c.runUntil(at);
        if (c.room() > 4) c.add(0, 1);
    }
    EXPECT_GT(c.done[old], 100u);
    // The column command under way when it became overdue; then tRP + tRCD + tCL + tCCD, and cycles of rounding.
    EXPECT_LT(c.done[old], 100u + 2 + 12 + 12 + 12 + 2 + 4);
}

TEST(DramScheduler, fcfsServesABankInOrder) {
    Channel c({"dram.scheduler=fcfs"});
    const RequestId first = c.add(0, 1), other = c.add(0, 2), hit = c.add(0, 1);
    c.runUntil(1000);
    EXPECT_EQ(c.done[first], 26u);
    // Precharge at tRAS = 28, activate at 40, its column at 52; the next precharge at 40 + 28 = 68, and so on.
    EXPECT_EQ(c.done[other], 66u);
    EXPECT_EQ(c.done[hit], 106u);
    EXPECT_EQ(c.counters().dramRowHits, 0u);
}

TEST(Dram, aBankTakesNoMoreFillsThanItsQueueHolds) {
    Channel c({"dram.bankQueue=2"});
    c.write(0, 1);  // write-backs have the channel's queue alone
    EXPECT_TRUE(c.hasRoomForFill(0));
    c.add(0, 1);
    c.add(0, 2);
    EXPECT_FALSE(c.hasRoomForFill(0));
    EXPECT_TRUE(c.hasRoomForFill(1));
    EXPECT_GT(c.room(), 0u);
    c.runUntil(28);  // the first one's column command was at tRCD + tCCD, behind the write's
    EXPECT_TRUE(c.hasRoomForFill(0));
}

TEST(Dram, withoutALimitABankTakesWhateverTheQueueHolds) {
    Channel c;
    for (std::uint64_t row = 1; c.room() > 0; ++row) {
        EXPECT_TRUE(c.hasRoomForFill(0));
        c.add(0, row);
    }
}

TEST(DramScheduler, fcfsServesBanksSideBySide) {
    Channel c({"dram.scheduler=fcfs"});
    c.add(0, 1);
    c.add(0, 2);
    const RequestId elsewhere = c.add(1, 1);
    c.runUntil(1000);
    EXPECT_EQ(c.done[elsewhere], 28u);
}

TEST(DramScheduler, theCapBoundsHowManyOvertake) {
    for (const std::uint64_t cap : {1u, 2u}) {
        Channel c({"dram.scheduler=fr-fcfs-cap", "dram.hitCap=" + std::to_string(cap)});
        const RequestId first = c.add(0, 1), other = c.add(0, 2), hit1 = c.add(0, 1), hit2 = c.add(0, 1);
        c.runUntil(1000);
        EXPECT_EQ(c.done[first], 26u);
        EXPECT_EQ(c.done[hit1], 28u);
        EXPECT_EQ(c.done[other], 66u);
        EXPECT_EQ(c.done[hit2], cap == 1 ? 106u : 30u);
    }
}

TEST(DramScheduler, parBsServesTheKernelWithTheLeastToDoFirst) {
    // Kernel 0 has three rows of a bank to read, kernel 1 one, which comes last. The first request is a batch by
    // itself; the next batch has the other three, and kernel 1 waits for one only.
    Channel c({"dram.scheduler=par-bs"});
    const RequestId a = c.add(0, 1, 0), b = c.add(0, 2, 0), d = c.add(0, 3, 0), light = c.add(0, 4, 1);
    c.runUntil(1000);
    EXPECT_EQ(c.done[a], 26u);
    EXPECT_EQ(c.done[light], 66u);
    EXPECT_EQ(c.done[b], 106u);
    EXPECT_EQ(c.done[d], 146u);
    Channel plain;
    plain.add(0, 1, 0), plain.add(0, 2, 0), plain.add(0, 3, 0);
    const RequestId last = plain.add(0, 4, 1);
    plain.runUntil(1000);
    EXPECT_EQ(plain.done[last], 146u);
}

TEST(DramScheduler, parBsServesABatchBeforeWhatComesLater) {
    // With one request of a kernel and bank in a batch: the first; then one hit and kernel 1's; then the other hits.
    Channel c({"dram.scheduler=par-bs", "dram.batchCap=1"});
    c.add(0, 1, 0);
    const RequestId other = c.add(0, 2, 1), hit1 = c.add(0, 1, 0), hit2 = c.add(0, 1, 0);
    c.runUntil(1000);
    EXPECT_EQ(c.done[hit1], 28u);
    EXPECT_EQ(c.done[other], 66u);
    EXPECT_EQ(c.done[hit2], 106u);
}

// ---- row policies

TEST(RowPolicy, closedRowsCostNoPrechargeAndGiveNoHits) {
    Channel c({"dram.rowPolicy=closed"});
    c.add(0, 1);
    c.runUntil(1000);
    const RequestId same = c.add(0, 1);
    c.runUntil(2000);
    const RequestId other = c.add(0, 2);
    c.runUntil(3000);
    EXPECT_EQ(c.done[same] - 1000, 26u);
    EXPECT_EQ(c.done[other] - 2000, 26u);
    EXPECT_EQ(c.counters().dramRowMisses, 3u);
    EXPECT_EQ(c.counters().dramRowHits + c.counters().dramRowConflicts, 0u);
}

TEST(RowPolicy, aClosedRowIsStillOpenForWhatWaits) {
    Channel c({"dram.rowPolicy=closed"});
    const RequestId first = c.add(0, 1), hit = c.add(0, 1);
    c.runUntil(1000);
    EXPECT_EQ(c.done[first], 26u);
    EXPECT_EQ(c.done[hit], 28u);
    EXPECT_EQ(c.counters().dramRowHits, 1u);
}

TEST(RowPolicy, aRowThatIsBeingClosedMakesTheNextOneWaitForTheRest) {
    // Closed at tRAS = 28, precharged at 40; a request at 30 waits until then. Where rows stay open it would precharge
    // from 30 to 42.
    for (const auto& [policy, activate] : std::map<std::string, Cycles>{{"closed", 40}, {"open", 42}}) {
        Channel c({"dram.rowPolicy=" + policy});
        c.add(0, 1);
        c.runUntil(30);
        const RequestId b = c.add(0, 2);
        c.runUntil(1000);
        EXPECT_EQ(c.done[b], activate + 12 + 12 + 2) << policy;
    }
}

TEST(RowPolicy, aTimeoutClosesARowThatWasNotUsed) {
    Channel c({"dram.rowPolicy=timeout", "dram.rowTimeout=100"});
    c.add(0, 1);  // its column command at 12
    c.runUntil(60);
    const RequestId soon = c.add(0, 1);  // at 60
    c.runUntil(150);
    const RequestId again = c.add(0, 1);  // at 150
    c.runUntil(300);
    const RequestId late = c.add(0, 1);
    c.runUntil(1000);
    EXPECT_EQ(c.done[soon] - 60, 14u);
    EXPECT_EQ(c.done[again] - 150, 14u);
    EXPECT_EQ(c.done[late] - 300, 26u);
    EXPECT_EQ(c.counters().dramRowMisses, 2u);
}

// ---- refresh

TEST(Refresh, aChannelDoesNothingElseMeanwhile) {
    Channel c({"dram.tREFI=1000", "dram.tRFC=200"});
    const RequestId before = c.add(0, 1);
    c.runUntil(1100);
    const RequestId during = c.add(1, 1);
    c.runUntil(1500);
    const RequestId after = c.add(2, 1);
    c.runUntil(1900);
    EXPECT_EQ(c.done[before], 26u);
    EXPECT_EQ(c.done[during], 1200u + 26);
    EXPECT_EQ(c.done[after], 1500u + 26);
}

TEST(Refresh, closesEveryRow) {
    Channel c({"dram.tREFI=1000", "dram.tRFC=200"});
    c.add(0, 1);
    c.runUntil(500);
    const RequestId hit = c.add(0, 1);
    c.runUntil(1500);
    const RequestId miss = c.add(0, 1);
    c.runUntil(1900);
    EXPECT_EQ(c.done[hit] - 500, 14u);
    EXPECT_EQ(c.done[miss] - 1500, 26u);
}

TEST(Refresh, takesItsShareOfTheBandwidth) {
    // One row hit after the other, a tCCD each, for 10,000 cycles of which 2,000 are refreshed.
    for (const bool refreshes : {false, true}) {
        Channel c(refreshes ? std::vector<std::string>{"dram.tREFI=1000", "dram.tRFC=200"}
                            : std::vector<std::string>{});
        for (Cycles at = 1; at <= 10'000; ++at) {
            while (c.room() > 4) c.add(0, 1);
            c.runUntil(at);
        }
        const double share = static_cast<double>(c.done.size()) / 5000;
        EXPECT_NEAR(share, refreshes ? 0.8 : 1.0, 0.06);
    }
}

// ---- all of them

class EveryDram : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

TEST_P(EveryDram, ServesEveryRequestOnce) {
    const auto [scheduler, rows] = GetParam();
    Channel c({"dram.scheduler=" + std::string(dramSchedulers()[scheduler].name),
               "dram.rowPolicy=" + std::string(rowPolicies()[rows].name), "dram.tREFI=2000", "dram.tRFC=100"});
    Random random(7);
    std::size_t reads = 0, writes = 0;
    Cycles at = 0;
    while (reads + writes < 3000) {
        at += 1 + random.below(6);
        c.runUntil(at);
        for (std::uint64_t n = random.below(4); n > 0 && c.room() > 0; --n) {
            const auto bank = static_cast<std::uint32_t>(random.below(16));
            const bool isWrite = random.below(4) == 0;
            c.add(bank, random.below(5), static_cast<std::uint32_t>(random.below(2)),
                  isWrite ? RequestKind::writeback : RequestKind::fill);
            ++(isWrite ? writes : reads);
        }
        for (auto it = c.done.begin(); it != c.done.end();) {  // as a slice does: their numbers are used again
            c.sim.requests.release(it->first);
            it = c.done.erase(it);
        }
    }
    c.runUntil(at + 100'000);
    std::uint64_t dramReads = 0, dramWrites = 0, rowAccesses = 0;
    for (const std::uint32_t launch : {0u, 1u}) {
        const Counters& counters = c.counters(launch);
        dramReads += counters.dramReads;
        dramWrites += counters.dramWrites;
        rowAccesses += counters.dramRowHits + counters.dramRowMisses + counters.dramRowConflicts;
    }
    EXPECT_EQ(dramReads, reads);
    EXPECT_EQ(dramWrites, writes);
    EXPECT_GE(rowAccesses, reads + writes);  // a row that refresh closes before it was used is opened twice
    EXPECT_EQ(c.room(), static_cast<std::size_t>(arch::findProfile("gtx480").dram.queue));
}

INSTANTIATE_TEST_SUITE_P(Dram, EveryDram,
                         ::testing::Combine(::testing::Range(std::size_t{0}, dramSchedulers().size()),
                                            ::testing::Range(std::size_t{0}, rowPolicies().size())));

TEST(DramScheduler, ofAGpuIsTheProfiles) {
    // Warps of many blocks read and write rows of their own at the same time: in the order of their coming, rows are
    // opened more often.
    const std::string add =
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n"
        "mul.wide.u32 %rd4, %r4, 4; add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4; add.u64 %rd7, %rd3, %rd4;\n"
        "ld.global.u32 %r5, [%rd5]; ld.global.u32 %r6, [%rd6]; add.u32 %r7, %r5, %r6; st.global.u32 [%rd7], %r7;";
    std::map<std::string, std::uint64_t> hits;
    for (const std::string scheduler : {"fr-fcfs", "fcfs"}) {
        test::Harness h("gtx480", {"l2.writePolicy=write-back", "dram.scheduler=" + scheduler});
        const VirtualAddress a = h.buffer(2_MiB), b = h.buffer(2_MiB), c = h.buffer(2_MiB);
        hits[scheduler] = h.gpu.counters(h.run(test::kernelText(add), {{1024}, {256}}, {a, b, c})).dramRowHits;
    }
    EXPECT_GT(hits["fr-fcfs"], hits["fcfs"] * 11 / 10);
}

}  // namespace
}  // namespace bulkhead::sim
