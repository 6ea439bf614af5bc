#include "isolate/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.h"
#include "isolate/plan_picture.h"

namespace bulkhead::isolate {
namespace {

/// A GPU of one side.
DivisibleGpu flat(unsigned sms, unsigned colors) {
    DivisibleGpu t;
    t.gpu = "flat";
    t.regionOfSm.assign(sms, {});
    t.regionOfColor.assign(colors, {});
    t.memoryBytes = Bytes{colors} << 30;
    return t;
}

/// One with two sides, whose SMs alternate by pairs.
DivisibleGpu twoSided(unsigned sms, unsigned colorsPerSide) {
    DivisibleGpu t = flat(sms, 0);
    for (unsigned i = 0; i < sms; ++i) t.regionOfSm[i].side = i / 2 % 2;
    for (unsigned i = 0; i < 2 * colorsPerSide; ++i)
        t.regionOfColor.push_back({static_cast<std::uint8_t>(i / colorsPerSide), 0});
    t.memoryBytes = Bytes{t.colors()} << 30;
    return t;
}

/// One with regions of unlike sizes, as an H200 has them.
DivisibleGpu quartered() {
    DivisibleGpu t = flat(132, 94);
    const unsigned sms[] = {30, 36, 34, 32}, colors[] = {24, 23, 24, 23};
    t.regionOfSm.clear();
    t.regionOfColor.clear();
    for (const dissect::L2Region region : dissect::kL2Regions) {
        t.regionOfSm.insert(t.regionOfSm.end(), sms[region.number()], region);
        t.regionOfColor.insert(t.regionOfColor.end(), colors[region.number()], region);
    }
    return t;
}

/// The regions that a partition has a part in.
std::set<unsigned> regionsOf(const Plan& plan, const Share& share) {
    std::set<unsigned> regions;
    for (unsigned sm : share.sms) regions.insert(plan.topology.regionOfSm[sm].number());
    for (unsigned color : share.colors) regions.insert(plan.topology.regionOfColor[color].number());
    return regions;
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

TEST(PlanPicture, hasEveryUnitWithItsPartition) {
    DivisibleGpu t = quartered();
    t.slicesPerColor = 1;
    const Plan plan = makePlan(std::move(t), parsePartitions("A=50%,B=25%"));
    const Result picture = pictureOf(plan);
    std::map<std::pair<std::string, std::string>, std::size_t> counts;
    for (const auto& row : picture.rows) {
        const auto* const owner = std::get_if<std::string>(&row[3]);
        ++counts[{std::get<std::string>(row[0]), owner ? *owner : ""}];
    }
    for (const Share& share : plan.shares) {
        EXPECT_EQ((counts[{"SM", share.partition.name}]), share.sms.size());
        EXPECT_EQ((counts[{"L2 slice", share.partition.name}]), share.colors.size());
    }
    EXPECT_EQ(picture.rows.size(), 132u + 94u);
    EXPECT_EQ((counts[{"SM", ""}]), 132 - plan.shares[0].sms.size() - plan.shares[1].sms.size());
}

TEST(Plan, GivesEverythingAwayOnce) {
    for (unsigned n : {1u, 2u, 3u, 4u, 7u}) {
        const Plan plan = makePlan(twoSided(132, 47), equalPartitions(n));
        std::size_t count = 0;
        EXPECT_EQ(all(plan, &Share::sms, count).size(), 132u) << n;
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
        EXPECT_GE(share.sms.size(), 6u);
        EXPECT_LE(share.sms.size(), 7u);
        EXPECT_GE(share.colors.size(), 2u);
        EXPECT_LE(share.colors.size(), 3u);
    }
}

TEST(Plan, PartitionsThatFitOnASideStayThere) {
    const Plan plan = makePlan(twoSided(132, 47), parsePartitions("small=25%,large=50%,other=25%"));
    for (const Share& share : plan.shares) {
        EXPECT_EQ(regionsOf(plan, share).size(), 1u) << share.partition.name;
    }
    EXPECT_EQ(plan.find("large").sms.size(), 66u);
    EXPECT_EQ(plan.find("large").colors.size(), 47u);
}

TEST(Plan, FourEqualPartitionsHaveARegionEach) {
    const Plan plan = makePlan(quartered(), equalPartitions(4));
    std::set<unsigned> seen;
    for (const Share& share : plan.shares) {
        const std::set<unsigned> regions = regionsOf(plan, share);
        ASSERT_EQ(regions.size(), 1u) << share.partition.name;
        seen.insert(*regions.begin());
    }
    EXPECT_EQ(seen.size(), 4u);
    std::size_t count = 0;
    EXPECT_EQ(all(plan, &Share::sms, count).size(), 132u);
    EXPECT_EQ(all(plan, &Share::colors, count).size(), 94u);
}

TEST(Plan, AHalfAndTwoRegionsKeepToThemselves) {
    const Plan plan = makePlan(quartered(), parsePartitions("A=25%,B=25%,C=50%"));
    EXPECT_EQ(regionsOf(plan, plan.find("A")).size(), 1u);
    EXPECT_EQ(regionsOf(plan, plan.find("B")).size(), 1u);
    EXPECT_EQ(plan.find("C").sms.size(), 66u);
    EXPECT_EQ(plan.find("C").colors.size(), 47u);
}

TEST(Plan, AShareThatIsNoRegionGetsWhatItAskedFor) {
    const Plan plan = makePlan(quartered(), parsePartitions("A=20%,B=33%,C=10%"));
    EXPECT_EQ(plan.find("A").sms.size(), 26u);
    EXPECT_EQ(plan.find("B").sms.size(), 44u);
    EXPECT_EQ(plan.find("C").sms.size(), 13u);
    EXPECT_EQ(regionsOf(plan, plan.find("A")).size(), 1u);
    EXPECT_EQ(regionsOf(plan, plan.find("C")).size(), 1u);
    std::set<unsigned> sides;
    for (unsigned region : regionsOf(plan, plan.find("B"))) sides.insert(region / 2);
    EXPECT_EQ(sides.size(), 1u);
}

TEST(Plan, SmsThatTheDriverGivesTogetherStayTogether) {
    DivisibleGpu gpu = quartered();
    gpu.smsTogether = 2;
    for (const char* partitions : {"A=33%,B=33%,C=33%", "A=20%,B=33%,C=10%", "A=1%,B=99%"}) {
        const Plan plan = makePlan(gpu, parsePartitions(partitions));
        for (const dissect::L2Region region : dissect::kL2Regions) {
            std::vector<unsigned> sms;
            for (unsigned sm = 0; sm < gpu.sms(); ++sm)
                if (gpu.regionOfSm[sm] == region) sms.push_back(sm);
            for (const Share& share : plan.shares)
                for (std::size_t i = 0; i + 1 < sms.size(); i += 2)
                    EXPECT_EQ(std::count(share.sms.begin(), share.sms.end(), sms[i]),
                              std::count(share.sms.begin(), share.sms.end(), sms[i + 1]))
                        << partitions << ", SM " << sms[i];
        }
    }
}

TEST(Plan, ThePictureSaysWhoLiesOnBothSides) {
    const std::string thirds = draw(makePlan(quartered(), equalPartitions(3)));
    EXPECT_NE(thirds.find("side 1, half 0"), std::string::npos) << thirds;
    EXPECT_NE(thirds.find("on both sides"), std::string::npos) << thirds;
    EXPECT_EQ(draw(makePlan(quartered(), equalPartitions(4))).find("on both sides"), std::string::npos);
}

TEST(Plan, MemoryFollowsTheColors) {
    const Plan plan = makePlan(flat(80, 8), parsePartitions("A=50%/25%,B=50%/75%"));
    EXPECT_EQ(plan.find("A").memoryBytes, Bytes{2} << 30);
    EXPECT_EQ(plan.find("B").memoryBytes, Bytes{6} << 30);
}

TEST(Plan, WhatNobodyAskedForStaysFree) {
    const Plan plan = makePlan(flat(20, 8), parsePartitions("A=25%"));
    EXPECT_EQ(plan.find("A").sms.size(), 5u);
    EXPECT_EQ(plan.find("A").colors.size(), 2u);
}

TEST(Plan, MorePartitionsThanColorsAreRefused) {
    try {
        makePlan(flat(20, 2), equalPartitions(3));
        FAIL();
    } catch (const Error& e) {
        EXPECT_STREQ(e.what(), "2 colors of flat cannot be divided into 3 partitions: each needs one");
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

TEST(Plan, ThePictureHasEverySmAndSlice) {
    DivisibleGpu t = flat(20, 2);
    t.slicesPerColor = 4;
    const std::string picture = draw(makePlan(t, parsePartitions("x=50%,y=25%/50%")));
    EXPECT_NE(picture.find("AAAAAAAAAABBBBB....."), std::string::npos) << picture;
    EXPECT_NE(picture.find("AAAABBBB"), std::string::npos) << picture;
}

}  // namespace
}  // namespace bulkhead::isolate
