// Parameters of mechanisms that no GPU has: a profile may leave them out.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/error.h"

namespace bulkhead::arch {
namespace {

TEST(PolicyParameters, AreThePapersWhereAProfileSaysNothing) {
    const DeviceProfile p = findProfile("gtx480");
    EXPECT_EQ(p.ciao.vtaTags, 8);
    EXPECT_EQ(p.ciao.highCutoff, 10'000);  // 0.01
    EXPECT_EQ(p.ciao.lowCutoff, 5'000);
    EXPECT_EQ(p.ciao.highEpoch, 5000);
    EXPECT_EQ(p.ciao.lowEpoch, 100);
    EXPECT_EQ(p.ccws.vtaTags, 16);
    EXPECT_EQ(p.provenance.at("ciao.highCutoff"), "published: CIAO (IPDPS 2018), IV-A");
    EXPECT_FALSE(p.toJson().contains("ciao"));
}

TEST(PolicyParameters, AreWrittenAndReadOnceTheyAreSet) {
    DeviceProfile p = findProfile("gtx480");
    applySettings(p, {"ciao.highCutoff=0.025", "ciao.highEpoch=1000"});
    EXPECT_EQ(p.ciao.highCutoff, 25'000);
    const nlohmann::json json = p.toJson();
    EXPECT_EQ(json["ciao"]["highCutoff"]["value"], 0.025);
    EXPECT_FALSE(json["ciao"].contains("lowCutoff"));
    const DeviceProfile again = DeviceProfile::fromJson(nlohmann::json::parse(json.dump()), "again");
    EXPECT_EQ(again.ciao.highCutoff, 25'000);
    EXPECT_EQ(again.ciao.highEpoch, 1000);
    EXPECT_EQ(again.ciao.lowEpoch, 100);
}

TEST(PolicyParameters, ACutoffIsAFraction) {
    for (const char* bad : {"1.5", "-0.1", "x", "", "0.1x", "nan", "1e9"}) {
        DeviceProfile p = findProfile("gtx480");
        EXPECT_THROW(p.set("ciao.highCutoff", bad), Error) << bad;
    }
    DeviceProfile p = findProfile("gtx480");
    p.set("ciao.highCutoff", "1e-2");
    EXPECT_EQ(p.ciao.highCutoff, 10'000);
}

TEST(PolicyParameters, TheLowCutoffIsNotAboveTheHighOne) {
    DeviceProfile p = findProfile("gtx480");
    EXPECT_THROW(applySettings(p, {"ciao.lowCutoff=0.02"}), Error);
    EXPECT_NO_THROW(applySettings(p, {"ciao.lowCutoff=0.02", "ciao.highCutoff=0.02"}));
}

}  // namespace
}  // namespace bulkhead::arch
