#include "isolate/plan.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace bulkhead::isolate {
namespace {

/// A GPU of one side.
Topology flat(unsigned multiprocessors, unsigned colors) {
    Topology t;
    t.gpu = "flat";
    t.sideOfMultiprocessor.assign(multiprocessors, 0);
    t.sideOfColor.assign(colors, 0);
    t.memoryBytes = Bytes{colors} << 30;
    return t;
}

/// One with two sides, whose multiprocessors alternate by pairs.
Topology twoSided(unsigned multiprocessors, unsigned colorsPerSide) {
    Topology t = flat(multiprocessors, 0);
    for (unsigned i = 0; i < multiprocessors; ++i) t.sideOfMultiprocessor[i] = i / 2 % 2;
    for (unsigned i = 0; i < 2 * colorsPerSide; ++i) t.sideOfColor.push_back(i / colorsPerSide);
    t.memoryBytes = Bytes{t.colors()} << 30;
    return t;
}

std::set<unsigned> all(const Plan& plan, std::vector<unsigned> Share::*things, std::size_t& count) {
    std::set<unsigned> set;
    count = 0;
    for (const Share& share : plan.shares) {
        set.insert((share.*things).begin(), (share.*things).end());
        count += (share.*things).size();
    }
    return set;
}

TEST(Plan, GivesEverythingAwayOnce) {
    for (unsigned n : {1u, 2u, 3u, 4u, 7u}) {
        const Plan plan = makePlan(twoSided(132, 47), equalPartitions(n));
        std::size_t count = 0;
        EXPECT_EQ(all(plan, &Share::multiprocessors, count).size(), 132u) << n;
        EXPECT_EQ(count, 132u) << n;
        EXPECT_EQ(all(plan, &Share::colors, count).size(), 94u) << n;
        EXPECT_EQ(count, 94u) << n;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(plan.shares[i].overlaps(plan.shares[j]));
    }
}

TEST(Plan, EqualPartitionsDifferByOneAtMost) {
    const Plan plan = makePlan(flat(20, 8), equalPartitions(3));
    for (const Share& share : plan.shares) {
        EXPECT_GE(share.multiprocessors.size(), 6u);
        EXPECT_LE(share.multiprocessors.size(), 7u);
        EXPECT_GE(share.colors.size(), 2u);
        EXPECT_LE(share.colors.size(), 3u);
    }
}

TEST(Plan, PartitionsThatFitOnASideStayThere) {
    const Plan plan = makePlan(twoSided(132, 47), parsePartitions("small=25%,large=50%,other=25%"));
    for (const Share& share : plan.shares) {
        std::set<unsigned> sides;
        for (unsigned sm : share.multiprocessors) sides.insert(plan.topology.sideOfMultiprocessor[sm]);
        for (unsigned color : share.colors) sides.insert(plan.topology.sideOfColor[color]);
        EXPECT_EQ(sides.size(), 1u) << share.partition.name;
    }
    EXPECT_EQ(plan.find("large").multiprocessors.size(), 66u);
    EXPECT_EQ(plan.find("large").colors.size(), 47u);
}

TEST(Plan, MemoryFollowsTheColors) {
    const Plan plan = makePlan(flat(80, 8), parsePartitions("A=50%/25%,B=50%/75%"));
    EXPECT_EQ(plan.find("A").memoryBytes, Bytes{2} << 30);
    EXPECT_EQ(plan.find("B").memoryBytes, Bytes{6} << 30);
}

TEST(Plan, WhatNobodyAskedForStaysFree) {
    const Plan plan = makePlan(flat(20, 8), parsePartitions("A=25%"));
    EXPECT_EQ(plan.find("A").multiprocessors.size(), 5u);
    EXPECT_EQ(plan.find("A").colors.size(), 2u);
}

TEST(Plan, MorePartitionsThanColorsAreRefused) {
    try {
        makePlan(flat(20, 2), equalPartitions(3));
        FAIL();
    } catch (const Error& e) {
        EXPECT_STREQ(e.what(), "3 partitions cannot be made of 2 colors of flat: each needs one");
    }
    EXPECT_THROW(makePlan(flat(2, 8), equalPartitions(3)), Error);
}

TEST(Plan, UnknownPartitionsAreNamedWithTheNearest) {
    const Plan plan = makePlan(flat(20, 2), parsePartitions("vision=50%,speech=50%"));
    try {
        plan.find("vison");
        FAIL();
    } catch (const Error& e) {
        EXPECT_STREQ(e.what(), "no partition vison on flat (did you mean vision?): there are vision, speech");
    }
}

TEST(Plan, ThePictureHasEveryMultiprocessorAndSlice) {
    Topology t = flat(20, 2);
    t.slicesPerColor = 4;
    const std::string picture = draw(makePlan(t, parsePartitions("x=50%,y=25%/50%")));
    EXPECT_NE(picture.find("AAAAAAAAAABBBBB....."), std::string::npos) << picture;
    EXPECT_NE(picture.find("AAAABBBB"), std::string::npos) << picture;
}

}  // namespace
}  // namespace bulkhead::isolate
