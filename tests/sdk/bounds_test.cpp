// Reads beside allocations, as hardware does them and as a memory checker.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

class Bounds : public ::testing::Test {
  protected:
    TemporaryDirectory folder;

    std::string build(const std::string& kernel) {
        writeFile(folder / "program.cu",
                  "__global__ void k(int* p, int* out) { " + kernel +
                      " }\nint main() {\n    int *p, *out, error;\n    cudaMalloc(&p, 400);\n"
                      "    cudaMalloc(&out, 4000000);\n    cudaMemset(p, 0, 400);\n    k<<<1, 128>>>(p, out);\n"
                      "    error = cudaDeviceSynchronize();\n    printf(\"%d\\n\", error);\n}\n");
        const std::string program = (folder / "program").string();
        EXPECT_EQ(run({BULKHEAD_PROGRAM, "cc", (folder / "program.cu").string(), "-o", program}).output, "");
        return program;
    }
    static Outcome exec(const std::string& program, const std::string& bounds) {
        return run({BULKHEAD_PROGRAM, "exec", "--quiet", "--bounds", bounds, "--", program});
    }
};

TEST_F(Bounds, ARelaxedReadBesideAnArrayIsAWarningThatNamesIt) {
    const std::string program = build("for (int i = 0; i < 3; ++i) out[threadIdx.x] = p[threadIdx.x];");
    const Outcome o = exec(program, "relaxed");
    EXPECT_NE(o.output.find("bulkhead: warning: kernel _Z1kPiS_, PTX line "), std::string::npos) << o.output;
    EXPECT_NE(o.output.find("past the nearest allocation"), std::string::npos) << o.output;
    EXPECT_TRUE(o.output.ends_with("0\n")) << o.output;
    EXPECT_EQ(std::count(o.output.begin(), o.output.end(), '\n'), 2) << o.output;  // the warning once
}

TEST_F(Bounds, AStrictOneEndsTheKernel) {
    const Outcome o = exec(build("out[threadIdx.x] = p[threadIdx.x];"), "strict");
    EXPECT_NE(o.output.find("thread (100,0,0)"), std::string::npos) << o.output;
    EXPECT_TRUE(o.output.ends_with("700\n")) << o.output;
}

TEST_F(Bounds, WritesAndFarReadsEndItInAnyCase) {
    EXPECT_TRUE(exec(build("p[threadIdx.x] = 1;"), "relaxed").output.ends_with("700\n"));
    EXPECT_TRUE(exec(build("out[threadIdx.x] = p[100000000];"), "relaxed").output.ends_with("700\n"));
}

TEST_F(Bounds, OtherWordsAreRefused) {
    const Outcome o = exec(build(""), "loose");
    EXPECT_EQ(o.exitCode, 2);
    EXPECT_EQ(o.output, "bulkhead: --bounds loose: give relaxed or strict\n");
}

}  // namespace
}  // namespace bulkhead
