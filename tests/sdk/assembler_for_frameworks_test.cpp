// What `exec` tells frameworks that compile kernels, so that they hand PTX to the driver.

#include <gtest/gtest.h>

#include <regex>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

Outcome inExec(const std::string& script) {
    return run({BULKHEAD_PROGRAM, "exec", "--quiet", "--", "/bin/sh", "-c", script});
}

TEST(AssemblerForFrameworks, IsFoundWhereTritonAndJaxLook) {
    // XLA reads the version by this expression, and Triton that after "release".
    for (const char* path : {"$TRITON_PTXAS_PATH", "$CUDA_ROOT/bin/ptxas"}) {
        const Outcome told = inExec(std::string("\"") + path + "\" --version");
        EXPECT_EQ(told.exitCode, 0) << told.output;
        EXPECT_TRUE(std::regex_search(told.output, std::regex(R"(\bV\d+\.\d+\.\d+\b)"))) << told.output;
        EXPECT_TRUE(std::regex_search(told.output, std::regex(R"(release \d+\.\d+)"))) << told.output;
    }
    // A toolkit with such a folder is where XLA expects NVIDIA's library of functions, too.
    EXPECT_NE(inExec("test -e \"$CUDA_ROOT/nvvm\"").exitCode, 0);
}

TEST(AssemblerForFrameworks, LeavesACudaRootThatTheUserChose) {
    EXPECT_EQ(run({"/usr/bin/env", "CUDA_ROOT=/elsewhere", BULKHEAD_PROGRAM, "exec", "--quiet", "--", "/bin/sh", "-c",
                   "echo $CUDA_ROOT"})
                  .output,
              "/elsewhere\n");
}

TEST(AssemblerForFrameworks, GivesPtxThatEndsAsAnImageMust) {
    TemporaryDirectory folder;
    const std::string in = (folder / "in.ptx").string(), out = (folder / "out.cubin").string();
    writeFile(in, ".version 8.7\n.target sm_90\n.address_size 64\n");
    const Outcome made = inExec("\"$CUDA_ROOT/bin/ptxas\" '" + in + "' -o '" + out + "' -arch=sm_90a --warn-on-spills");
    EXPECT_EQ(made.exitCode, 0) << made.output;
    // Whoever loads it by its address alone needs the zero.
    EXPECT_EQ(readFile(out), readFile(in) + '\0');
}

}  // namespace
}  // namespace bulkhead
