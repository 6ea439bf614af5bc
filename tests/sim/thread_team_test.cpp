#include "sim/thread_team.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

namespace bulkhead::sim {
namespace {

/// Every part once, in each of many rounds of changing size.
bool doesEveryPartOnce(ThreadTeam& team) {
    for (std::size_t parts : {0u, 1u, 2u, 3u, 100u, 1000u, 7u}) {
        std::vector<std::atomic<int>> done(parts);
        team.run(parts, [&](std::size_t part) { ++done[part]; });
        for (const auto& times : done)
            if (times != 1) return false;
    }
    return true;
}

TEST(ThreadTeam, DoesEveryPartOnceWithAnyNumberOfThreads) {
    for (const unsigned threads : {1u, 2u, 3u, 8u}) {
        ThreadTeam team(threads);
        for (int round = 0; round < 20; ++round) EXPECT_TRUE(doesEveryPartOnce(team)) << threads << " threads";
    }
}

TEST(ThreadTeam, WorksOnInAChildProcessWhichHasNoneOfItsThreads) {
    ThreadTeam team(3);
    ASSERT_TRUE(doesEveryPartOnce(team));
    const pid_t child = fork();
    if (child == 0) _exit(doesEveryPartOnce(team) ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(doesEveryPartOnce(team));
}

TEST(ThreadTeam, LeavesSignalsToTheThreadThatMadeIt) {
    static std::atomic<bool> byTheMainThread;
    static pthread_t self;
    self = pthread_self();
    byTheMainThread = false;
    struct sigaction before = {}, counting = {};
    counting.sa_handler = [](int) { byTheMainThread = pthread_equal(pthread_self(), self) != 0; };
    sigaction(SIGUSR1, &counting, &before);
    ThreadTeam team(4);
    EXPECT_TRUE(doesEveryPartOnce(team));
    kill(getpid(), SIGUSR1);
    EXPECT_TRUE(doesEveryPartOnce(team));
    EXPECT_TRUE(byTheMainThread);
    sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace bulkhead::sim
