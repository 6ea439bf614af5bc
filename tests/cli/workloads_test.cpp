// The verbs that run workloads, as a user would.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace bulkhead::cli {
namespace {

TEST(RunWorkload, SaysThatTheResultEqualsTheCpus) {
    const Outcome o = run({"run", "va", "--size", "test"});
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_NE(o.out.find("Answer: VA takes "), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("a result equal to the CPU's"), std::string::npos) << o.out;
}

TEST(RunWorkload, CountsWhatAVectorAdditionMustDo) {
    const Outcome o = run({"run", "VA", "--size", "test", "--gpu", "sim:gtx1080", "--json", "-"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    const auto json = nlohmann::json::parse(o.out);
    EXPECT_EQ(json["gpu"], "sim:gtx1080");
    EXPECT_TRUE(json["correct"]);
    ASSERT_EQ(json["kernels"].size(), 1u);
    EXPECT_EQ(json["kernels"][0]["launches"], 1);
    // Each byte of the three arrays is read or written once.
    EXPECT_EQ(json["total"]["l1"]["bytes"], json["footprint_bytes"]);
}

TEST(RunWorkload, AMistypedNameIsSuggested) {
    expectRefused({"run", "GAUSIAN"}, "no workload GAUSIAN (did you mean Gaussian?)");
}

TEST(RunWorkload, OptionsOfKernelsAreRefused) {
    expectRefused({"run", "VA", "--grid", "4"}, "--grid");
    expectRefused({"run", "missing.ptx", "--size", "test"}, "--size");
}

TEST(RunWorkload, UnknownSizesSchedulersAndGpusAreRefused) {
    expectRefused({"run", "VA", "--size", "huge"}, "no size huge");
    expectRefused({"run", "VA", "--scheduler", "fifo"}, "fifo");
    expectRefused({"run", "VA", "--gpu", "sim:none"}, "none");
    expectRefused({"run", "VA", "--gpu", "cuda:x"}, "cuda:x");
}

TEST(RunWorkload, AnOutputThatCannotBeWrittenIsRefusedBeforehand) {
    expectRefused({"run", "VA", "--json", "/no/such/folder/x.json"}, "/no/such/folder/x.json");
    expectRefused({"workloads", "--measure", "--json", "/"}, "directory");
}

TEST(ListWorkloads, NamesEachWithTheFiguresOfItsPaper) {
    const Outcome o = run({"workloads", "--json", "-"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    const auto json = nlohmann::json::parse(o.out);
    ASSERT_EQ(json["rows"].size(), 33u);
    EXPECT_EQ(json["rows"][0]["name"], "ATAX");
    EXPECT_EQ(json["rows"][0]["class"], "LWS");
    EXPECT_EQ(json["rows"][0]["paper's APKI"], 64.0);  // CIAO, Table II
}

TEST(ListWorkloads, MeasuresTheChosenOnes) {
    const Outcome o = run({"workloads", "--measure", "syrk", "lud", "--json", "-"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    const auto json = nlohmann::json::parse(o.out);
    ASSERT_EQ(json["rows"].size(), 2u);
    // Lud's tiles of shared memory fill half of an SM's, as in Table II.
    EXPECT_NEAR(json["rows"][1]["shared memory"].get<double>(), 50, 1);
    EXPECT_GT(json["rows"][0]["APKI"].get<double>(), 60.0);
}

}  // namespace
}  // namespace bulkhead::cli
