#include "corun/protocol.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace bulkhead::corun {
namespace {

ActorRun someRun() {
    ActorRun run;
    run.seconds = 0.1;  // no sum of few powers of two
    run.cycles = ~std::uint64_t{0};
    run.startNs = 3;
    run.endNs = 4;
    run.sms = {5, 6};
    run.counters.warpInstructions = 7;
    return run;
}

TEST(Protocol, ARunComesBackAsItWas) {
    const ActorRun run = someRun();
    const ActorRun again = runFromJson(parseJson(jsonText(toJson(run)), "line"), "line");
    EXPECT_EQ(again.seconds, run.seconds);
    EXPECT_EQ(again.cycles, run.cycles);
    EXPECT_EQ(again.startNs, run.startNs);
    EXPECT_EQ(again.endNs, run.endNs);
    EXPECT_EQ(again.sms, run.sms);
    EXPECT_EQ(again.counters.warpInstructions, run.counters.warpInstructions);
}

TEST(Protocol, WhatIsMissingOrOutOfRangeIsAnError) {
    const nlohmann::json good = toJson(someRun());
    for (const auto& [key, value] : good.items()) {
        nlohmann::json damaged = good;
        damaged.erase(key);
        EXPECT_THROW(runFromJson(damaged, "line"), Error) << key;
        damaged[key] = "text";
        EXPECT_THROW(runFromJson(damaged, "line"), Error) << key;
    }
    nlohmann::json damaged = good;
    damaged["start_ns"] = -1;
    EXPECT_THROW(runFromJson(damaged, "line"), Error);
    damaged = good;
    damaged["sms"] = {1e30};
    EXPECT_THROW(runFromJson(damaged, "line"), Error);
}

}  // namespace
}  // namespace bulkhead::corun
