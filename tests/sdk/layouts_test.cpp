// Code of bulkhead cc against the host's: the same functions on both, at every level of optimisation.

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

class Layouts : public ::testing::TestWithParam<const char*> {
  protected:
    TemporaryDirectory folder;

    Outcome build(const std::string& text) {
        writeFile(folder / "program.cu", text);
        return run({BULKHEAD_PROGRAM, "cc", GetParam(), (folder / "program.cu").string(), "-o",
                    (folder / "program").string()});
    }
    Outcome start() { return run({(folder / "program").string()}); }
};

TEST_P(Layouts, OfRandomTypesAreTheHosts) {
    const Outcome made = run({"/usr/bin/python3", BULKHEAD_SOURCE_DIR "/tests/sdk/generate_layouts.py", "3", "40"});
    ASSERT_EQ(made.exitCode, 0) << made.output;
    ASSERT_EQ(build(made.output).output, "");
    const Outcome o = start();
    EXPECT_EQ(o.exitCode, 0);
    EXPECT_EQ(o.output, "0 of 40 differ\n");
}

TEST_P(Layouts, PaddingDoesNotSpoilWhatStandsBesideIt) {
    ASSERT_EQ(build("template <class A, class B> struct Padded {\n"
                    "    A value;\n    B flag;\n"
                    "    __host__ __device__ Padded(A v, B f) : value(v), flag(f) {}\n};\n"
                    "template <class T> __device__ T made(int x) { return T(x, true); }\n"
                    "template <class T> __device__ T smaller(T a, T b) { return a.value < b.value ? a : b; }\n"
                    "template <class T> __global__ void k(int* out) {\n"
                    "    T a = made<T>(3), b = made<T>(5), c = smaller(a, b);\n    *out = c.value;\n}\n"
                    "template <class T> int smallest() {\n"
                    "    int *out, value = -1;\n    cudaMalloc(&out, 4);\n    k<T><<<1, 1>>>(out);\n"
                    "    cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost);\n    return value;\n}\n"
                    "int main() {\n    printf(\"%d %d %d\\n\", smallest<Padded<int, bool>>(), "
                    "smallest<Padded<int, short>>(), smallest<Padded<short, char>>());\n}\n")
                  .output,
              "");
    EXPECT_EQ(start().output, "3 3 3\n");
}

INSTANTIATE_TEST_SUITE_P(Levels, Layouts, ::testing::Values("-O0", "-O1", "-O2", "-O3"),
                         [](const auto& info) { return std::string(info.param + 1); });

}  // namespace
}  // namespace bulkhead
