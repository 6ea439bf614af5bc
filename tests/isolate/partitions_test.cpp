#include "isolate/partitions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace bulkhead::isolate {
namespace {

std::string refusal(const std::string& text) {
    try {
        parsePartitions(text);
    } catch (const Error& e) {
        return e.what();
    }
    return "accepted";
}

TEST(Partitions, MemoryFollowsSmsUnlessGiven) {
    const std::vector<Partition> p = parsePartitions("A=50%,B=25%/12.5%");
    ASSERT_EQ(p.size(), 2u);
    EXPECT_EQ(p[0], (Partition{"A", 0.5, 0.5, 1}));
    EXPECT_EQ(p[1], (Partition{"B", 0.25, 0.125, 1}));
}

TEST(Partitions, SharesOverAHundredPercentAreRefused) {
    EXPECT_EQ(refusal("A=60%,B=50%"), "partitions: shares of SMs sum to 110 %, more than 100 %");
    EXPECT_EQ(refusal("A=10%/60%,B=10%/50%"), "partitions: shares of memory sum to 110 %, more than 100 %");
}

TEST(Partitions, ThreeThirdsAreNotMoreThanAll) {
    EXPECT_NO_THROW(validate(equalPartitions(3), "test"));
    EXPECT_EQ(refusal("A=33.33333333%,B=33.33333333%,C=33.33333334%"), "accepted");
}

TEST(Partitions, BadTextIsRefusedInWords) {
    EXPECT_EQ(refusal("A"), "partitions: A is not NAME=SHARE, such as A=50%");
    EXPECT_EQ(refusal("A=50"), "partitions: 50 is not a share: write it as 50%");
    EXPECT_EQ(refusal("A=nan%"), "partitions: nan% is not a share: write it as 50%");
    EXPECT_EQ(refusal("A=50%,A=50%"), "partitions: there are two partitions A");
    EXPECT_NE(refusal("A=0%").find("more than 0 %"), std::string::npos);
    EXPECT_NE(refusal("A=-5%").find("more than 0 %"), std::string::npos);
    EXPECT_NE(refusal("a b=50%").find("not a valid name"), std::string::npos);
    EXPECT_NE(refusal("=50%").find("not a valid name"), std::string::npos);
}

TEST(Partitions, JsonSaysTheSameAsItWasMadeFrom) {
    std::vector<Partition> p = parsePartitions("A=50%,B=25%/12.5%");
    p[1].tenants = 3;
    p[1].strict = true;
    EXPECT_EQ(partitionsFromJson(nlohmann::json(toJson(p)), "test"), p);
}

TEST(Partitions, ANumberMeansEqualOnes) {
    EXPECT_EQ(partitionsFrom("2"), (std::vector<Partition>{{"P1", 0.5, 0.5, 1}, {"P2", 0.5, 0.5, 1}}));
    for (const char* none : {"0", "1025", "99999999999999999999"}) EXPECT_THROW(partitionsFrom(none), Error) << none;
}

TEST(Partitions, JsonWithUnknownKeysIsRefused) {
    const auto json = nlohmann::json::parse(R"({"partitions": [{"name": "A", "sms": "50%", "color": 1}]})");
    EXPECT_THROW(partitionsFromJson(json, "file"), Error);
}

}  // namespace
}  // namespace bulkhead::isolate
