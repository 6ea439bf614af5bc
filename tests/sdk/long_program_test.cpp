// Programs that simulate for long.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

class LongProgram : public ::testing::Test {
  protected:
    TemporaryDirectory folder;
    const std::string stats = (folder / "stats.json").string();

    /// A program that runs a short kernel, and interrupts itself some time after `then` has begun.
    std::string build(const std::string& seconds, const std::string& then) {
        writeFile(folder / "long.cu",
                  "#include <signal.h>\n#include <thread>\n#include <unistd.h>\n"
                  "__global__ void work(float* p, int n) {\n    float x = p[threadIdx.x];\n"
                  "    for (int i = 0; i < n; ++i) x = x * 1.0001f + 0.5f;\n    p[threadIdx.x] = x;\n}\n"
                  "int main() {\n    float* p;\n    cudaMalloc(&p, 4096);\n    work<<<3, 64>>>(p, 10);\n"
                  "    cudaDeviceSynchronize();\n"
                  "    std::thread([] { usleep(" +
                      seconds + " * 1e6); kill(getpid(), SIGINT); }).detach();\n    " + then + "\n}\n");
        const std::string program = (folder / "long").string();
        EXPECT_EQ(run({BULKHEAD_PROGRAM, "cc", "-O2", (folder / "long.cu").string(), "-o", program}).output, "");
        return program;
    }
    void expectOneLaunch() {
        const auto json = nlohmann::json::parse(readFile(stats));
        const auto& kernels = json.at("devices").at(0).at("kernels");
        ASSERT_EQ(kernels.size(), 1u);
        EXPECT_EQ(kernels.at(0).at("launches"), 1);
    }
};

TEST_F(LongProgram, TellsHowFarItIsAndLeavesItsStatisticsWhenInterrupted) {
    const std::string program = build("6.5", "work<<<1000000, 256>>>(p, 2000); cudaDeviceSynchronize();");
    const Outcome o = run({BULKHEAD_PROGRAM, "exec", "--stats", stats, "--", program});
    EXPECT_EQ(o.exitCode, -1);  // by the signal
    EXPECT_NE(o.output.find("bulkhead: after 5 s, 1 kernel done"), std::string::npos) << o.output;
    EXPECT_NE(o.output.find("work: "), std::string::npos) << o.output;
    EXPECT_NE(o.output.find("% of its blocks"), std::string::npos) << o.output;
    expectOneLaunch();
}

TEST_F(LongProgram, WithoutTimeSaysWhatItExecutedAndNotForHowLong) {
    const std::string program = build("1e6", "return 0;");
    const Outcome o = run({BULKHEAD_PROGRAM, "exec", "--functional", "--stats", stats, "--", program});
    EXPECT_EQ(o.exitCode, 0) << o.output;
    for (const char* part : {"kernels on sim:gtx1080, executed without time", "Answer: Kernels executed ",
                             "Times that the program measures are less than any GPU takes"})
        EXPECT_NE(o.output.find(part), std::string::npos) << part << "\n" << o.output;
    expectOneLaunch();
    const auto device = nlohmann::json::parse(readFile(stats)).at("devices").at(0);
    const auto& kernel = device.at("kernels").at(0);
    EXPECT_EQ(device.at("functional"), true);
    EXPECT_EQ(kernel.at("timed_launches"), 0);
    EXPECT_GT(kernel.at("warp_instructions"), 3 * 2 * 10);  // blocks, warps, rounds
    for (const char* of_time : {"cycles", "microseconds", "ipc"}) {
        EXPECT_FALSE(kernel.contains(of_time)) << of_time;
        EXPECT_FALSE(device.contains(of_time)) << of_time;
    }
}

TEST_F(LongProgram, LeavesItsStatisticsWhenInterruptedInItsOwnCode) {
    const std::string program = build("0.2", "for (;;) {}");
    const Outcome o = run({BULKHEAD_PROGRAM, "exec", "--quiet", "--stats", stats, "--", program});
    EXPECT_EQ(o.exitCode, -1);
    EXPECT_EQ(o.output, "");
    expectOneLaunch();
}

TEST_F(LongProgram, MayHandleInterruptionsItself) {
    const std::string program = build("0.2", "signal(SIGINT, [](int) { _exit(3); }); for (;;) {}");
    EXPECT_EQ(run({BULKHEAD_PROGRAM, "exec", "--quiet", "--stats", stats, "--", program}).exitCode, 3);
}

}  // namespace
}  // namespace bulkhead
