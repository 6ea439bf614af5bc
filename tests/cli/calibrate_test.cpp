#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

TEST(Calibrate, WritesAProfileThatIsSimulated) {
    const TemporaryDirectory directory;
    const std::string file = (directory / "twin.json").string();
    const Outcome o = run({"calibrate", "--gpu", "sim:tx2", "--base", "gtx1080", "--only", "clock,branches,operations",
                           "--out", file, "--set", "op.fp32.latency=9"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    EXPECT_NE(o.out.find("op.fp32.latency"), std::string::npos) << o.out;
    const auto profile = nlohmann::json::parse(readFile(file));
    EXPECT_EQ(profile["name"], "twin");
    EXPECT_EQ(profile["op"]["fp32"]["latency"]["value"], 9);
    EXPECT_EQ(profile["clock"]["coreMHz"]["value"], 1300);
    const std::string from = profile["op"]["fp32"]["latency"]["from"];
    EXPECT_TRUE(from.starts_with("measured: bulkhead calibrate, operations, on sim:tx2")) << from;
    const Outcome simulated = run({"run", "VA", "--size", "test", "--gpu", "sim:" + file});
    EXPECT_EQ(simulated.exitCode, 0) << simulated.err;
}

TEST(Calibrate, RefusesWhatItDoesNotKnowAndWritesNothing) {
    const TemporaryDirectory directory;
    const std::string file = (directory / "twin.json").string();
    expectRefused({"calibrate", "--gpu", "sim:tx2", "--only", "clok", "--out", file},
                  "no measurement is called clok (did you mean clock?)");
    expectRefused({"calibrate", "--gpu", "sim:tx2", "--base", "nothing", "--out", file}, "no GPU is called nothing");
    expectRefused({"calibrate", "--gpu", "sim:tx2", "--limit", "0", "--out", file}, "--limit 0");
    expectRefused({"calibrate", "--list", "--out", file}, "--out");
    expectRefused({"calibrate", "--gpu", "sim:tx2", "--out", (directory / "no" / "twin.json").string()}, "twin.json");
    EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace bulkhead::cli
