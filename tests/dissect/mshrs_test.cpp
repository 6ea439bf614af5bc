#include "dissect/mshrs.h"

#include <gtest/gtest.h>

#include "arch/device_profile.h"
#include "perturbed.h"
#include "subspaces.h"

namespace bulkhead::dissect {
namespace {

/// With the hashes that dissect finds first, on a GTX 1080 with other figures, whose banks have no queues of their own
/// unless settings say so.
Mshrs mshrsOf(std::vector<std::string> settings, double noise = 0) {
    settings.insert(settings.begin(), "dram.bankQueue=0");
    const std::string name = "sim:gtx1080";
    gpu::SimulationOptions simulation;
    simulation.settings = std::move(settings);
    gpu::Gpu gpu = gpu::Gpu::open(name, simulation);
    Probe probe(gpu, perturbed(noise, 1));
    const MemoryView memory(gpu, ~Bytes{0});
    const arch::AddressMap::Roles map = arch::findProfile(name).map.roles();
    const MemoryHashes hashes = {sum(spanOf(map.slice), spanOf(map.bank)), sum(spanOf(map.slice), spanOf(map.set)),
                                 bitRange(7, memory.addressBits()), 16};
    Result figure;
    return findMshrs(probe, memory, hashes, 1, figure);
}

class HiddenMshrs : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Numbers, HiddenMshrs, testing::Values(1, 2, 5, 8, 16, 27, 40));

TEST_P(HiddenMshrs, AreCountedExactly) {
    const Mshrs found = mshrsOf({"l2.mshrs=" + std::to_string(GetParam())});
    EXPECT_EQ(found.ofModule, GetParam()) << found.evidence;
}

TEST(Mshrs, AreCountedWithPerturbedTimings) {
    const Mshrs found = mshrsOf({"l2.mshrs=10"}, 0.02);
    EXPECT_EQ(found.ofModule, 10) << found.evidence;
}

// A GTX 1080 has 16 banks a module: with more MSHRs than that, nothing happens at 16 misses.
TEST(Mshrs, AreNotTheBanksOfAModule) {
    const Mshrs found = mshrsOf({"l2.mshrs=24"});
    EXPECT_EQ(found.ofModule, 24) << found.evidence;
}

// A place in it is free when data are asked for, a little earlier than an MSHR.
TEST(Mshrs, AreNotSeenBehindAShorterQueueOfABank) {
    const Mshrs found = mshrsOf({"l2.mshrs=16", "dram.bankQueue=7"});
    ASSERT_TRUE(found.ofModule) << found.evidence;
    EXPECT_NEAR(*found.ofModule, 7, 1) << found.evidence;
}

TEST(Mshrs, MoreThanCanBeUnderWayStayUndecided) {
    const Mshrs found = mshrsOf({"l2.mshrs=1024", "dram.queue=1024"});
    EXPECT_FALSE(found.ofModule);
    EXPECT_NE(found.evidence.find("at least"), std::string::npos) << found.evidence;
}

}  // namespace
}  // namespace bulkhead::dissect
