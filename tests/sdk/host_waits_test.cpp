// Programs that wait for their GPU elsewhere than in a call of the driver.

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

class HostWaits : public ::testing::Test {
  protected:
    TemporaryDirectory folder;

    /// Builds a program around the body of main, and runs it.
    Outcome outcomeOf(const std::string& body) {
        writeFile(folder / "program.cu",
                  "#include <condition_variable>\n#include <cstdio>\n#include <mutex>\n#include <thread>\n"
                  "#include <unistd.h>\n"
                  "__global__ void set(int* p, int value) { *p = value; }\n"
                  "__global__ void waitFor(volatile int* p, int* seen) { while (*p == 0) {}  *seen = *p; }\n"
                  "std::mutex m;\nstd::condition_variable c;\nbool ready = false;\n"
                  "void notify(void*) { { std::lock_guard<std::mutex> l(m); ready = true; } c.notify_all(); }\n"
                  "void notifyOf(cudaStream_t, cudaError_t e, void*) { if (e == cudaSuccess) notify(nullptr); }\n"
                  "int main() {\n"
                  "    int *p, *host;\n    cudaMalloc(&p, 8);\n    cudaMemset(p, 0, 8);\n"
                  "    cudaMallocHost(&host, 8);\n    host[0] = host[1] = 0;\n"
                  "    cudaStream_t s;\n    cudaStreamCreate(&s);\n" +
                      body + "}\n");
        const std::string program = (folder / "program").string();
        const Outcome built = run({BULKHEAD_PROGRAM, "cc", (folder / "program.cu").string(), "-o", program});
        EXPECT_EQ(built.output, "");
        return run({"/usr/bin/timeout", "60", program});
    }
};

TEST_F(HostWaits, OnAConditionThatACallbackMeets) {
    EXPECT_EQ(outcomeOf("    set<<<1, 1, 0, s>>>(host, 7);\n    cudaStreamAddCallback(s, notifyOf, nullptr, 0);\n"
                        "    std::unique_lock<std::mutex> l(m);\n    c.wait(l, [] { return ready; });\n"
                        "    printf(\"%d\\n\", host[0]);\n")
                  .output,
              "7\n");
}

TEST_F(HostWaits, ForAWordByReadingIt) {
    EXPECT_EQ(outcomeOf("    set<<<1, 1>>>(host, 9);\n    while (*(volatile int*)host == 0) {}\n"
                        "    printf(\"%d\\n\", host[0]);\n")
                  .output,
              "9\n");
}

TEST_F(HostWaits, AsleepWithoutEverAsking) {
    EXPECT_EQ(outcomeOf("    set<<<1, 1>>>(host, 5);\n    for (int i = 0; i < 3000 && *(volatile int*)host == 0; ++i) "
                        "usleep(10000);\n    printf(\"%d\\n\", host[0]);\n")
                  .output,
              "5\n");
}

TEST_F(HostWaits, WhileItsKernelWaitsForIt) {
    EXPECT_EQ(outcomeOf("    waitFor<<<1, 1>>>(host, host + 1);\n    usleep(300000);\n"
                        "    printf(\"%d\\n\", host[1]);\n    *(volatile int*)host = 3;\n"
                        "    for (int i = 0; i < 3000 && ((volatile int*)host)[1] == 0; ++i) usleep(10000);\n"
                        "    printf(\"%d %d\\n\", host[1], cudaDeviceSynchronize());\n")
                  .output,
              "0\n3 0\n");
}

TEST_F(HostWaits, ForAFunctionThatWaitsForAnotherThreadsCall) {
    // Each holds what the other wants, unless functions run outside of the driver's lock.
    EXPECT_EQ(outcomeOf("    static int *other = p;\n"
                        "    cudaLaunchHostFunc(s, [](void*) {\n"
                        "        std::unique_lock<std::mutex> l(m);\n        c.wait(l, [] { return ready; });\n"
                        "    }, nullptr);\n    set<<<1, 1, 0, s>>>(host, 4);\n"
                        "    std::thread t([] {\n        usleep(50000);\n        cudaSetDevice(0);\n"
                        "        int value = 6;\n        cudaStream_t own;\n"
                        "        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);\n"
                        "        cudaMemcpyAsync(other + 1, &value, 4, cudaMemcpyHostToDevice, own);\n"
                        "        printf(\"%d\\n\", cudaStreamSynchronize(own));\n        notify(nullptr);\n    });\n"
                        "    int error = cudaStreamSynchronize(s), value = 0;\n    t.join();\n"
                        "    cudaMemcpy(&value, p + 1, 4, cudaMemcpyDeviceToHost);\n"
                        "    printf(\"%d %d %d\\n\", error, host[0], value);\n")
                  .output,
              "0\n0 4 6\n");
}

TEST_F(HostWaits, AndEndsBeforeItsKernel) {
    const Outcome o =
        outcomeOf("    waitFor<<<1, 1>>>(host, host + 1);\n    usleep(100000);\n    printf(\"over\\n\");\n");
    EXPECT_EQ(o.exitCode, 0);
    EXPECT_EQ(o.output, "over\n");
}

TEST_F(HostWaits, AFunctionOfAStreamMayNotCallTheDriver) {
    EXPECT_EQ(outcomeOf("    static int error = 0;\n    static int* to = p;\n"
                        "    cudaLaunchHostFunc(s, [](void*) { error = cudaMemset(to, 0, 4); }, nullptr);\n"
                        "    printf(\"%d \", cudaStreamSynchronize(s));\n    printf(\"%d\\n\", error);\n")
                  .output,
              "0 800\n");
}

}  // namespace
}  // namespace bulkhead
