// An actor of a co-run as a process in a partition, as isolate benchmark has them.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

using nlohmann::json;

json be(const std::string& application) {
    const json sharing = {{"way", "walls"}, {"partitions", 2}, {"leased", true}, {"processes", true}};
    const json actor = {{"partition", 0}, {"application", {{"name", application}, {"size", "test"}, {"seed", 1}}}};
    return {{"do", "be"},
            {"actor", 0},
            {"corun", {{"gpu", "cuda:0"}, {"sharing", sharing}, {"actors", json::array({actor})}}}};
}

/// What one in the first of two halves of a simulated GPU answers, one a line.
std::vector<json> answersTo(const std::vector<json>& requests, const std::string& walls) {
    const TemporaryDirectory folder;
    const std::string leases = (folder / "leases").string(), file = (folder / "requests").string();
    std::ofstream out(file);
    for (const json& request : requests) out << request.dump() << '\n';
    out.close();
    const std::vector<std::string> where = {"--gpu", "sim:gtx1080", "--leases", leases};
    std::vector<std::string> set = {BULKHEAD_PROGRAM, "isolate", "set", "--partitions", "2"};
    set.insert(set.end(), where.begin(), where.end());
    EXPECT_EQ(run(set).exitCode, 0);
    const std::string program = BULKHEAD_PROGRAM;
    const Outcome outcome =
        run({"/bin/sh", "-c",
             program + " isolate run --gpu sim:gtx1080 --leases '" + leases + "'" + " --partition P1 --walls " + walls +
                 " -- " + program + " actor < '" + file + "' 2> /dev/null"});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    std::vector<json> answers;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
    return answers;
}

class TenantProcess : public ::testing::TestWithParam<std::string> {};

TEST_P(TenantProcess, WorksAndIsRightAndGetsItsShareOfMemory) {
    std::vector<json> requests;
    for (const char* application : {"latency", "stream", "stream-l2", "gather", "compute", "empty"})
        requests.insert(requests.end(), {be(application), {{"do", "run"}, {"rounds", 2}}, {{"do", "check"}}});
    requests.push_back({{"do", "memory"}});
    const std::vector<json> answers = answersTo(requests, GetParam());
    ASSERT_EQ(answers.size(), requests.size());
    for (std::size_t i = 0; i < answers.size(); ++i)
        EXPECT_TRUE(answers[i].at("ok").get<bool>()) << requests[i] << answers[i];
    constexpr double kHalf = 4e9 * 1.073741824;  // of 8 GiB
    EXPECT_NEAR(answers.back().at("bytes").get<double>(), kHalf, 0.01 * kHalf);
    EXPECT_NE(answers.back().at("refusal").get<std::string>().find("OUT_OF_MEMORY"), std::string::npos);
}

TEST_P(TenantProcess, SaysThatItsKernelMadeAFault) {
    const std::vector<json> answers = answersTo({be("fault"), {{"do", "run"}, {"rounds", 1}}}, GetParam());
    ASSERT_EQ(answers.size(), 2u);
    EXPECT_TRUE(answers[0].at("ok").get<bool>()) << answers[0];
    EXPECT_FALSE(answers[1].at("ok").get<bool>());
    EXPECT_NE(answers[1].at("why").get<std::string>().find("ILLEGAL_ADDRESS"), std::string::npos) << answers[1];
}

INSTANTIATE_TEST_SUITE_P(Isolate, TenantProcess, ::testing::Values("both", "compute"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace bulkhead
