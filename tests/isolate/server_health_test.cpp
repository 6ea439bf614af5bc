// Waiting for an MPS server that has a fault. A script stands in for NVIDIA's control program, and a library for a
// driver whose contexts fail for a while, as they did on an H200 after a client was killed.

#include "isolate/server_health.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "temporary_directory.h"

namespace bulkhead::isolate {
namespace {

using namespace std::chrono_literals;

class ServerHealth : public testing::Test {
  protected:
    void SetUp() override {
        const std::string path = std::getenv("PATH");
        set("PATH", folder_.path().string() + ":" + path);
        set("CUDA_MPS_PIPE_DIRECTORY", folder_.path().string());
        set("BULKHEAD_LIBCUDA", BULKHEAD_FAULTY_DRIVER);
        set("BULKHEAD_GPU", "sim:gtx1080");
        set("SIMULATED", std::string(BULKHEAD_LIBRARY_FOLDER) + "/libcuda.so.1");
        set("FAULTS", (folder_ / "faults").string());
        std::ofstream(folder_ / "control");
    }
    void TearDown() override {
        for (const auto& [name, value] : before_)
            value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    }
    void fail(int times) { std::ofstream(folder_ / "faults") << times; }
    std::string left() { return readFile(folder_ / "faults"); }
    /// The control program, with these processes as the server's clients. To end the server ends the fault.
    void answerWith(const std::string& clients, const std::string& status = "FAULT",
                    const std::string& server = "4711") {
        const std::filesystem::path program = folder_ / "nvidia-cuda-mps-control";
        std::ofstream(program) << "#!/bin/sh\nread -r what which how\ncase $what in\n"
                                  "get_server_list) echo "
                               << server << ";;\nget_server_status) echo " << status << ";;\nget_client_list) printf '"
                               << clients << "';;\nshutdown_server) echo \"$which $how\" > \""
                               << (folder_ / "ended").string() << "\"; echo 0 > \"$FAULTS\";;\nesac\n";
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    }
    TemporaryDirectory folder_;

  private:
    void set(const std::string& name, const std::string& value) {
        const char* const now = std::getenv(name.c_str());
        before_.emplace_back(name, now ? now : "");
        setenv(name.c_str(), value.c_str(), 1);
    }
    std::vector<std::pair<std::string, std::string>> before_;
};

TEST_F(ServerHealth, AServerThatIsWellIsNotWaitedFor) {
    fail(0);
    EXPECT_NO_THROW(waitForServer("cuda:0", false, 0ms));
}

TEST_F(ServerHealth, OneThatSaysThatItIsActiveIsNotTried) {
    fail(5);
    answerWith("12\\n", "ACTIVE");
    EXPECT_NO_THROW(waitForServer("cuda:0", false, 0ms));
    EXPECT_EQ(left(), "5");
}

TEST_F(ServerHealth, OneThatIsSuspectIsTriedWhateverItSays) {
    fail(3);
    answerWith("12\\n", "ACTIVE");
    EXPECT_NO_THROW(waitForServer("cuda:0", true));
    EXPECT_EQ(left(), "0");
}

TEST_F(ServerHealth, ADaemonThatAnswersSomebodyElseJustNowIsAskedAgain) {
    fail(5);
    const std::filesystem::path program = folder_ / "nvidia-cuda-mps-control", busy = folder_ / "busy";
    std::ofstream(busy) << 2;
    std::ofstream(program) << "#!/bin/sh\nread -r n < " << busy.string() << "\nif [ $n -gt 0 ]; then echo $((n - 1)) > "
                           << busy.string()
                           << "; echo Cannot send command >&2; exit 1; fi\nread -r what\n"
                              "case $what in get_server_list) echo 4711;; get_server_status*) echo ACTIVE;; esac\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    testing::internal::CaptureStderr();
    EXPECT_NO_THROW(waitForServer("cuda:0", false, 0ms));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(left(), "5");
}

TEST_F(ServerHealth, OneThatIsYetToBeStartedIsNotTried) {
    fail(5);
    answerWith("", "ACTIVE", "");
    EXPECT_NO_THROW(waitForServer("cuda:0", false, 0ms));
    EXPECT_EQ(left(), "5");
}

TEST_F(ServerHealth, OneThatRecoversIsWaitedFor) {
    for (const bool answers : {false, true}) {
        if (answers) answerWith("12\\n");
        fail(3);
        EXPECT_NO_THROW(waitForServer("cuda:0", false));
        EXPECT_EQ(left(), "0");
    }
}

TEST_F(ServerHealth, WhoKeepsItFromRecoveringIsNamed) {
    fail(1'000'000);
    answerWith("12\\n34\\n");
    try {
        waitForServer("cuda:0", false, 50ms);
        FAIL() << "the server is well";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("this one or another, ended in the middle of a kernel"),
                  std::string::npos)
            << error.what();
        EXPECT_NE(std::string(error.what()).find("state FAULT"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("process 12, 34"), std::string::npos) << error.what();
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "ended"));
}

TEST_F(ServerHealth, OneThatHasNoClientsAndDoesNotRecoverIsReplaced) {
    fail(1'000'000);
    answerWith("");
    EXPECT_NO_THROW(waitForServer("cuda:0", false, 50ms));
    EXPECT_EQ(readFile(folder_ / "ended"), "4711 -f\n");
}

TEST_F(ServerHealth, WithoutADaemonNothingIsTried) {
    fail(5);
    std::filesystem::remove(folder_ / "control");
    EXPECT_NO_THROW(waitForServer("cuda:0", false, 0ms));
    EXPECT_EQ(left(), "5");
}

}  // namespace
}  // namespace bulkhead::isolate
