// Starting and ending the MPS daemon. NVIDIA's program is not everywhere: a script stands in for it that does what ours
// relies on. It makes the control file, and ends when another one is told to quit.

#include "experiment/mps_daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "base/error.h"
#include "temporary_directory.h"

namespace bulkhead::experiment {
namespace {

class Mps : public ::testing::Test {
  protected:
    void install(const std::string& script) {
        const std::filesystem::path path = folder_ / "nvidia-cuda-mps-control";
        std::ofstream(path) << "#!/bin/sh\n" << script;
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    void SetUp() override {
        before_ = std::getenv("PATH");
        setenv("PATH", (folder_.path().string() + ":" + before_).c_str(), 1);
        // A daemon ends others that nobody answers for: not those of tests beside this one.
        std::filesystem::create_directory(folder_ / "temporary");
        setenv("TMPDIR", (folder_ / "temporary").c_str(), 1);
    }
    void TearDown() override {
        setenv("PATH", before_.c_str(), 1);
        unsetenv("TMPDIR");
    }
    /// The process that the stand-in says it is, once it has.
    pid_t daemonProcess() const {
        pid_t pid = 0;
        std::ifstream(folder_ / "pid") >> pid;
        return pid;
    }
    static pid_t parentOf(pid_t pid) {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string number, name, state;
        pid_t parent = 0;
        stat >> number >> name >> state >> parent;
        return parent;
    }
    /// In the order of their numbers.
    static std::vector<pid_t> childrenOf(pid_t parent) {
        std::vector<pid_t> children;
        for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
            const pid_t pid = std::atoi(entry.path().filename().c_str());
            if (pid > 0 && parentOf(pid) == parent) children.push_back(pid);
        }
        std::ranges::sort(children);
        return children;
    }
    template <class Gone>
    static bool soon(Gone gone) {
        for (int i = 0; i < 500; ++i) {
            if (gone()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }
    static bool goneSoon(pid_t pid) {
        return soon([&] { return kill(pid, 0) != 0; });
    }
    static bool goneSoon(const std::filesystem::path& folder) {
        return soon([&] { return !std::filesystem::exists(folder); });
    }
    /// Where the stand-in says that its directories are.
    std::filesystem::path folderOfDaemon() const {
        std::string pipe;
        std::getline(std::ifstream(folder_ / "pipe"), pipe);
        return std::filesystem::path(pipe).parent_path();
    }
    std::string standIn() const {
        const std::string noted = "'" + (folder_ / "pid").string() + "'";
        return "pipe=\"$CUDA_MPS_PIPE_DIRECTORY\"\n"
               "if [ \"$1\" = -f ]; then\n"
               "  echo $$ > " +
               noted +
               "\n"
               "  echo \"$pipe\" > '" +
               (folder_ / "pipe").string() +
               "'\n"
               "  touch \"$pipe/control\"\n"
               "  while [ ! -e \"$pipe/quit\" ]; do sleep 0.02; done\n"
               "else\n"
               "  read word && [ \"$word\" = quit ] && touch \"$pipe/quit\"\n"
               "fi\n";
    }
    TemporaryDirectory folder_;
    std::string before_;
};

TEST_F(Mps, EndsWithTheObjectAndLeavesNoFolder) {
    install(standIn());
    std::string pipe;
    pid_t pid = 0;
    {
        const MpsDaemon daemon;
        pipe = daemon.environment().at(0).second;
        pid = daemonProcess();
        ASSERT_GT(pid, 0);
        EXPECT_EQ(kill(pid, 0), 0);
        EXPECT_TRUE(std::filesystem::exists(pipe));
    }
    EXPECT_TRUE(goneSoon(pid));
    EXPECT_FALSE(std::filesystem::exists(pipe));
}

TEST_F(Mps, EndsWithAProcessThatIsKilled) {
    install(standIn());
    const pid_t starter = fork();
    if (starter == 0) {
        const MpsDaemon daemon;
        raise(SIGKILL);
    }
    waitpid(starter, nullptr, 0);
    const pid_t pid = daemonProcess();
    ASSERT_GT(pid, 0);
    EXPECT_TRUE(goneSoon(pid));
    ASSERT_FALSE(folderOfDaemon().empty());
    EXPECT_TRUE(goneSoon(folderOfDaemon()));
}

TEST_F(Mps, AGuardThatIsKilledLeavesNothingBehind) {
    install(standIn());
    pid_t pid = 0;
    {
        const MpsDaemon daemon;
        pid = daemonProcess();
        ASSERT_GT(pid, 0);
        ASSERT_EQ(kill(parentOf(pid), SIGKILL), 0);
    }
    EXPECT_TRUE(goneSoon(pid));
    EXPECT_TRUE(goneSoon(folderOfDaemon()));
}

TEST_F(Mps, AServerDoesNotOutliveADaemonThatIsKilled) {
    // A server is a process of its own, which its daemon starts for the first client.
    std::ofstream(folder_ / "nvidia-cuda-mps-server")
        << "#!/bin/sh\necho $$ > '" << (folder_ / "server").string() << "'\nwhile :; do sleep 0.02; done\n";
    std::filesystem::permissions(folder_ / "nvidia-cuda-mps-server", std::filesystem::perms::owner_all);
    install("[ \"$1\" = -f ] && { nvidia-cuda-mps-server & }\n" + standIn());
    pid_t server = 0;
    {
        const MpsDaemon daemon;
        ASSERT_TRUE(soon([&] { return static_cast<bool>(std::ifstream(folder_ / "server") >> server); }));
        ASSERT_EQ(kill(daemonProcess(), SIGKILL), 0);
    }
    EXPECT_TRUE(goneSoon(server));
    EXPECT_TRUE(goneSoon(folderOfDaemon()));
}

TEST_F(Mps, AGuardThatIsKilledBeforeTheDaemonIsReadyLeavesNothingBehind) {
    const std::string beginsSlowly = "[ \"$1\" = -f ] && { echo $$ > '" + (folder_ / "pid").string() +
                                     "'; echo \"$CUDA_MPS_PIPE_DIRECTORY\" > '" + (folder_ / "pipe").string() +
                                     "'; sleep 3; }\n";
    install(beginsSlowly + standIn());
    std::thread killer([&] {
        ASSERT_TRUE(soon([&] { return daemonProcess() > 0 && !folderOfDaemon().empty(); }));
        ASSERT_EQ(kill(parentOf(daemonProcess()), SIGKILL), 0);
    });
    EXPECT_THROW(MpsDaemon(), Error);
    killer.join();
    EXPECT_TRUE(goneSoon(daemonProcess()));
    EXPECT_TRUE(goneSoon(folderOfDaemon()));
}

TEST_F(Mps, HelpersOfTheGuardThatAreKilledLeaveNothingBehind) {
    // One waits for our end, one for the daemon's.
    for (const bool last : {false, true}) {
        install(standIn());
        pid_t pid = 0;
        {
            const MpsDaemon daemon;
            pid = daemonProcess();
            std::vector<pid_t> helpers;
            ASSERT_TRUE(soon([&] { return (helpers = childrenOf(parentOf(pid))).size() == 3; }));
            std::erase(helpers, pid);
            ASSERT_EQ(kill(last ? helpers.back() : helpers.front(), SIGKILL), 0);
        }
        EXPECT_TRUE(goneSoon(pid)) << last;
        EXPECT_TRUE(goneSoon(folderOfDaemon())) << last;
    }
}

TEST_F(Mps, OneThatNobodyAnswersForEndsWhenAnotherStarts) {
    install(standIn());
    const pid_t starter = fork();
    if (starter == 0) {
        const MpsDaemon daemon;
        kill(parentOf(daemonProcess()), SIGKILL);
        raise(SIGKILL);
    }
    waitpid(starter, nullptr, 0);
    const pid_t pid = daemonProcess();
    const std::filesystem::path folder = folderOfDaemon();
    ASSERT_GT(pid, 0);
    ASSERT_EQ(kill(pid, 0), 0);
    { const MpsDaemon another; }  // just made: it might be about to be locked
    EXPECT_EQ(kill(pid, 0), 0);
    const timespec long_ago[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder / "owner").c_str(), long_ago, 0), 0);
    const MpsDaemon another;
    EXPECT_TRUE(goneSoon(pid));
    EXPECT_TRUE(goneSoon(folder));
    EXPECT_NO_THROW(another.throwIfEnded());
}

TEST_F(Mps, WhoWaitsForAClientLearnsThatTheDaemonWasKilled) {
    install(standIn());
    const MpsDaemon daemon;
    ChildProcess client({"cat"}, daemon.environment());
    client.whileWaiting([&] { daemon.throwIfEnded(); });
    EXPECT_NO_THROW(daemon.throwIfEnded());
    ASSERT_EQ(kill(daemonProcess(), SIGKILL), 0);
    try {
        client.readLine(30);
        FAIL() << "a client that says nothing said something";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("MPS daemon"), std::string::npos) << error.what();
    }
}

TEST_F(Mps, ADaemonThatEndsAtOnceIsReported) {
    install("exit 1\n");
    EXPECT_THROW(MpsDaemon(), Error);
}

}  // namespace
}  // namespace bulkhead::experiment
