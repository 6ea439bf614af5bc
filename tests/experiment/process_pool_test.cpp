#include "experiment/process_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <set>

#include "base/error.h"
#include "experiment/interruption.h"

namespace bulkhead::experiment {
namespace {

TEST(ProcessPool, eachPieceIsDoneOnceInAProcessOfItsOwn) {
    std::multiset<std::size_t> ended;
    std::set<std::string> processes = {std::to_string(getpid())};
    inProcesses(
        5, 2, [](std::size_t) { return std::to_string(getpid()); },
        [&](std::size_t i, const WorkResult& result) {
            EXPECT_EQ(result.why, "");
            EXPECT_TRUE(processes.insert(result.found).second);
            ended.insert(i);
        });
    EXPECT_EQ(ended, (std::multiset<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(ProcessPool, aPieceThatIsInterruptedLeavesQuietly) {
    int signal = -1;
    inProcesses(
        1, 1, [](std::size_t) -> std::string { throw Interrupted(); },
        [&](std::size_t, const WorkResult& result) {
            signal = result.signal;
            EXPECT_FALSE(result.why.empty());
        });
    EXPECT_EQ(signal, 0);
}

TEST(ProcessPool, whatTheyFindMayBeLong) {
    const auto text = [](std::size_t i) { return std::string(1'000'000 + i, static_cast<char>('a' + i)); };
    std::size_t ended = 0;
    inProcesses(3, 3, text, [&](std::size_t i, const WorkResult& result) {
        EXPECT_TRUE(result.found == text(i));
        ++ended;
    });
    EXPECT_EQ(ended, 3u);
}

TEST(ProcessPool, tellWhyAPieceFailed) {
    std::map<std::size_t, WorkResult> results;
    inProcesses(
        4, 4,
        [](std::size_t i) -> std::string {
            if (i == 1) throw Error("no {}", "luck");
            if (i == 2) std::raise(SIGKILL);
            if (i == 3) _exit(1);
            return "found";
        },
        [&](std::size_t i, const WorkResult& result) { results[i] = result; });
    EXPECT_EQ(results[0].found, "found");
    EXPECT_EQ(results[0].why, "");
    EXPECT_EQ(results[1].why, "no luck");
    EXPECT_NE(results[2].why.find("signal 9"), std::string::npos);
    EXPECT_EQ(results[3].why, "its process ended too early");
}

TEST(ProcessPool, endsItsProcessesWhenItIsInterrupted) {
    const auto interrupted = [] {
        catchInterrupts();
        std::size_t ended = 0;
        try {
            inProcesses(
                3, 2,
                [](std::size_t i) -> std::string {
                    if (i == 0) kill(getppid(), SIGINT);
                    for (;;) pause();
                },
                [&](std::size_t, const WorkResult&) { ++ended; });
        } catch (const Interrupted&) {
            std::_Exit(ended == 0 ? 42 : 1);  // with no child left, for which this would wait
        }
        std::_Exit(2);
    };
    EXPECT_EXIT(interrupted(), testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace bulkhead::experiment
