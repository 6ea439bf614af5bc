// What schedulers may never change: every workload's output, under every scheduler.

#include <gtest/gtest.h>

#include <algorithm>

#include "compare/run.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::compare {
namespace {

/// A GPU on which warps get into each other's way and policies act at once: little L1D on few SMs, short epochs, and
/// cut-offs next to nothing.
const std::vector<std::string> kCrowded = {
    "sm.count=2",       "sm.onChipBytes=51200",   "l1.bytes=2048",         "ciao.highEpoch=100",
    "ciao.lowEpoch=20", "ciao.highCutoff=0.0001", "ciao.lowCutoff=0.00001"};

class Coherence : public testing::TestWithParam<std::string> {};

TEST_P(Coherence, outputsAreTheCpusUnderEveryScheduler) {
    for (const sim::SchedulerPolicy& policy : sim::schedulerPolicies()) {
        RunSpec spec;
        spec.workload = GetParam();
        spec.size = workloads::Size::test;
        spec.settings = kCrowded;
        spec.scheduler = std::string(policy.name) + (policy.needsLimit ? ":2" : "");
        SCOPED_TRACE(spec.scheduler);
        EXPECT_NO_THROW(EXPECT_FALSE(execute(spec).limited));  // so it was checked
    }
}

std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const workloads::Workload& workload : workloads::all()) names.emplace_back(workload.name);
    return names;
}

INSTANTIATE_TEST_SUITE_P(Workloads, Coherence, testing::ValuesIn(names()), [](const auto& info) { return info.param; });

/// The runs above would show little if nothing were redirected in them.
TEST(CrowdedGpu, redirectsAndMovesLinesBothWays) {
    RunSpec spec;
    spec.workload = "ATAX";
    spec.size = workloads::Size::test;
    spec.settings = kCrowded;
    spec.scheduler = "ciao-c";
    const sim::Counters counters = execute(spec).counters;
    EXPECT_GT(counters.sharedCacheHits, 0u);
    EXPECT_GT(counters.movedToShared, 0u);
    EXPECT_GT(counters.movedToL1, 0u);
}

}  // namespace
}  // namespace bulkhead::compare
