// An actor in a process of its own, by what it answers to requests.

#include "corun/worker.h"

#include <gtest/gtest.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "corun/corun.h"
#include "corun/spec_json.h"

namespace bulkhead::corun {
namespace {

using nlohmann::json;

/// One a line.
std::vector<json> answersTo(const std::vector<json>& requests) {
    std::stringstream in, out;
    for (const json& request : requests) in << request.dump() << '\n';
    std::streambuf* const input = std::cin.rdbuf(in.rdbuf());
    std::streambuf* const output = std::cout.rdbuf(out.rdbuf());
    EXPECT_EQ(serveActor(), 0);
    std::cin.rdbuf(input);
    std::cin.clear();
    std::cout.rdbuf(output);
    std::vector<json> answers;
    for (std::string line; std::getline(out, line);) answers.push_back(json::parse(line));
    return answers;
}

CoRunSpec behindWalls(unsigned partitions) {
    CoRunSpec spec;
    spec.gpu = "sim:gtx1080";
    spec.sharing.way = "walls";
    spec.sharing.partitions = partitions;
    for (unsigned i = 0; i < partitions; ++i)
        spec.actors.push_back({i, ApplicationSpec{"VA", workloads::Size::test, 1 + i}});
    return spec;
}

json be(const CoRunSpec& spec, std::size_t actor) {
    return {{"do", "be"}, {"corun", toJson(spec)}, {"actor", actor}};
}

TEST(Worker, TimesAndChecksAndTellsItsWalls) {
    const auto answers =
        answersTo({be(behindWalls(2), 1), {{"do", "run"}, {"rounds", 1}}, {{"do", "check"}}, {{"do", "place"}}});
    ASSERT_EQ(answers.size(), 4u);
    for (const json& answer : answers) EXPECT_TRUE(answer.at("ok").get<bool>()) << answer;
    const std::unique_ptr<CoRun> here = makeLocalCoRun(behindWalls(2));
    EXPECT_NEAR(answers[1].at("seconds").get<double>(), here->actor(1).run()->seconds, 2e-6);
    EXPECT_EQ(answers[3].at("sms"), 10);    // of 20
    EXPECT_EQ(answers[3].at("colors"), 1);  // of 2
    EXPECT_EQ(answers[3].at("placement"), "blocks");
}

TEST(Worker, SaysWhyItCannot) {
    const auto answers = answersTo({be(behindWalls(3), 0), {{"do", "run"}, {"rounds", 1}}, {{"do", "dance"}}});
    ASSERT_EQ(answers.size(), 3u);
    for (const json& answer : answers) EXPECT_FALSE(answer.at("ok").get<bool>()) << answer;
    EXPECT_NE(answers[0].at("why").get<std::string>().find("3 partitions"), std::string::npos) << answers[0];
    EXPECT_NE(answers[1].at("why").get<std::string>().find("no actor yet"), std::string::npos) << answers[1];
}

TEST(Worker, IsAnAggressorWhereItIsAskedToBeOne) {
    CoRunSpec spec;
    spec.gpu = "sim:tx2";
    spec.sharing.way = "mps";
    spec.actors = {{0, VictimSpec{}}, {1, AggressorSpec{}}};
    const auto answers =
        answersTo({be(spec, 1), {{"do", "start"}, {"limit_s", 1.0}}, {{"do", "stop"}}, {{"do", "run"}, {"rounds", 1}}});
    ASSERT_EQ(answers.size(), 4u);
    EXPECT_GT(answers[2].at("bytes").get<std::uint64_t>(), 0u) << answers[2];
    EXPECT_FALSE(answers[3].at("ok").get<bool>()) << "an aggressor is not timed";
}

TEST(SpecJson, ACoRunComesBackAsItWas) {
    CoRunSpec spec = behindWalls(2);
    spec.settings = {"sm.count=4"};
    spec.sharing.limitThreads = true;
    spec.sharing.blockPlacement = "driver";
    spec.shareSms = true;
    VictimSpec victim;
    victim.accesses = 77;
    AggressorSpec aggressor;
    aggressor.kind = "bank";
    aggressor.target = 3;
    spec.actors.push_back({0, victim});
    spec.actors.push_back({1, aggressor});
    EXPECT_EQ(toJson(coRunFromJson(toJson(spec), "spec")), toJson(spec));
    json damaged = toJson(spec);
    damaged["actors"][0]["unknown"] = 1;
    EXPECT_THROW(coRunFromJson(damaged, "spec"), Error);
}

}  // namespace
}  // namespace bulkhead::corun
