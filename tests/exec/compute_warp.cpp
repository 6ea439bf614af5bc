#include "compute_harness.h"

// Instructions in which lanes see one another, with lanes missing: the recordings from hardware have whole warps only.

namespace bulkhead::sim::test {
namespace {

constexpr LaneMask kOdd = 0xaaaaaaaa;

TEST(Collective, shuffleReadsOtherLanesBeforeAnyIsWritten) {
    Snippet snippet(".reg .b32 %a;", "shfl.sync.bfly.b32 %a, %a, 1, 31, -1;");
    for (int lane = 0; lane < kLanes; ++lane) snippet.set("%a", lane, static_cast<std::uint64_t>(lane) * 10);
    snippet.run();
    for (int lane = 0; lane < kLanes; ++lane)
        EXPECT_EQ(snippet.get("%a", lane), static_cast<std::uint64_t>(lane ^ 1) * 10);
}

TEST(Collective, shuffleTakesZeroFromLanesThatTakeNoPart) {
    // Measured on an H200: a warp of which eight lanes execute, and name themselves alone.
    Snippet snippet(".reg .b32 %a, %m, %down, %index, %near;",
                    "mov.u32 %m, 255; shfl.sync.down.b32 %down, %a, 16, 31, %m;"
                    "shfl.sync.idx.b32 %index, %a, 20, 31, %m; shfl.sync.down.b32 %near, %a, 4, 31, %m;");
    for (int lane = 0; lane < kLanes; ++lane) snippet.set("%a", lane, static_cast<std::uint64_t>(lane) + 100);
    snippet.run(0xff);
    for (int lane = 0; lane < 8; ++lane) {
        EXPECT_EQ(snippet.get("%down", lane), 0u);
        EXPECT_EQ(snippet.get("%index", lane), 0u);
        EXPECT_EQ(snippet.get("%near", lane), lane < 4 ? static_cast<std::uint64_t>(lane) + 104 : 0u);
    }
}

TEST(Collective, legacyShuffleStaysInItsSegment) {
    // Width 8: c holds 0 for up, and the segment mask 0x18 in bits 8 to 12.
    Snippet snippet(".reg .b32 %a, %o; .reg .pred %p;", "shfl.up.b32 %o|%p, %a, 3, 0x1800;");
    for (int lane = 0; lane < kLanes; ++lane) snippet.set("%a", lane, static_cast<std::uint64_t>(lane));
    snippet.run();
    for (int lane = 0; lane < kLanes; ++lane) {
        const bool inside = lane % 8 >= 3;
        EXPECT_EQ(snippet.get("%o", lane), static_cast<std::uint64_t>(inside ? lane - 3 : lane));
        EXPECT_EQ(snippet.predicate("%p") >> lane & 1, LaneMask{inside});
    }
}

TEST(Collective, votesCountActiveLanesOnly) {
    Snippet snippet(".reg .b32 %o; .reg .pred %p, %all, %any, %uni;",
                    "vote.all.pred %all, %p; vote.any.pred %any, %p; vote.uni.pred %uni, %p; vote.ballot.b32 %o, %p;");
    snippet.predicate("%p") = kOdd;
    snippet.predicate("%all") = snippet.predicate("%any") = snippet.predicate("%uni") = 0x55550000;
    snippet.run(kOdd);
    EXPECT_EQ(snippet.predicate("%all"), kOdd | 0x55550000);
    EXPECT_EQ(snippet.predicate("%any"), kOdd | 0x55550000);
    EXPECT_EQ(snippet.predicate("%uni"), kOdd | 0x55550000);
    EXPECT_EQ(snippet.get("%o", 1), kOdd);
    snippet.run(0x0000000f);
    EXPECT_EQ(snippet.predicate("%all") & 0xf, 0u);
    EXPECT_EQ(snippet.predicate("%any") & 0xf, 0xfu);
    EXPECT_EQ(snippet.predicate("%uni") & 0xf, 0u);
    EXPECT_EQ(snippet.get("%o", 0), 0xau);
}

TEST(Collective, negatedVote) {
    Snippet snippet(".reg .b32 %o; .reg .pred %p;", "vote.sync.ballot.b32 %o, !%p, -1;");
    snippet.predicate("%p") = 0x000000ff;
    snippet.run();
    EXPECT_EQ(snippet.get("%o", 5), 0xffffff00u);
}

TEST(Collective, groupsWithDifferentMembersAnswerApart) {
    Snippet snippet(".reg .b32 %m, %o; .reg .pred %p;", "vote.sync.ballot.b32 %o, %p, %m;");
    snippet.predicate("%p") = kAllLanes;
    for (int lane = 0; lane < kLanes; ++lane) snippet.set("%m", lane, lane < 16 ? 0x0000ffff : 0xffff0000);
    snippet.run();
    EXPECT_EQ(snippet.get("%o", 3), 0x0000ffffu);
    EXPECT_EQ(snippet.get("%o", 20), 0xffff0000u);
}

TEST(Collective, matchAndReduceIgnoreLanesThatAreNotHere) {
    Snippet snippet(
        ".reg .b32 %a, %any, %all, %sum; .reg .pred %p;",
        "match.any.sync.b32 %any, %a, -1; match.all.sync.b32 %all|%p, %a, -1; redux.sync.add.s32 %sum, %a, -1;");
    for (int lane = 0; lane < kLanes; ++lane) snippet.set("%a", lane, lane % 2 ? 5 : static_cast<std::uint64_t>(lane));
    snippet.run(kOdd);
    EXPECT_EQ(snippet.get("%any", 1), kOdd);
    EXPECT_EQ(snippet.get("%all", 1), kOdd);
    EXPECT_EQ(snippet.predicate("%p"), kOdd);
    EXPECT_EQ(snippet.get("%sum", 31), 80u);
    snippet.run();
    EXPECT_EQ(snippet.get("%any", 2), 4u);
    EXPECT_EQ(snippet.get("%all", 2), 0u);
    EXPECT_EQ(snippet.predicate("%p"), 0u);
}

TEST(Collective, activemaskIsWhoExecutes) {
    Snippet snippet(".reg .b32 %o;", "activemask.b32 %o;");
    snippet.run(0x00f0);
    EXPECT_EQ(snippet.get("%o", 4), 0xf0u);
    EXPECT_EQ(snippet.get("%o", 0), 0u);
}

TEST(Collective, electTakesTheLowest) {
    Snippet snippet(".reg .b32 %o; .reg .pred %p;", "elect.sync %o|%p, -1;");
    snippet.run(0xff00);
    EXPECT_EQ(snippet.get("%o", 12), 8u);
    EXPECT_EQ(snippet.predicate("%p"), 0x100u);
}

}  // namespace
}  // namespace bulkhead::sim::test
