#include "experiment/child_process.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/error.h"

namespace bulkhead::experiment {
namespace {

using Says = ChildProcess::Says;

TEST(ChildProcess, ToWriteToOneThatHasGoneIsAnErrorAndNoSignal) {
    std::signal(SIGPIPE, SIG_DFL);
    ChildProcess gone({"true"});
    while (!gone.ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_THROW(gone.writeLine("word"), Error);
    struct sigaction now = {};
    sigaction(SIGPIPE, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL);  // what this process becomes has it from here
    sigset_t pending;
    sigpending(&pending);
    EXPECT_FALSE(sigismember(&pending, SIGPIPE));
}

TEST(ChildProcess, SaysWhatItIsAllowedToSay) {
    const std::vector<std::string> command = {"sh", "-c", "echo complaint >&2; echo answer"};
    const auto complaintOf = [&](Says says, bool answers) {
        testing::internal::CaptureStderr();
        {
            ChildProcess child(command, {}, says);
            if (answers)
                EXPECT_EQ(child.readLine(10), "answer");
            else
                EXPECT_THROW(child.readLine(10), Error);
        }
        return testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(complaintOf(Says::all, true), "complaint\n");
    EXPECT_EQ(complaintOf(Says::answers, true), "");
    EXPECT_EQ(complaintOf(Says::nothing, false), "");
}

}  // namespace
}  // namespace bulkhead::experiment
