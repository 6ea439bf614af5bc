// A project of CMake's CUDA language, built by bulkhead cc under nvcc's name.

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

const std::string kNvcc = std::string(BULKHEAD_LIBRARY_FOLDER) + "/../sdk/toolkit/bin/nvcc";

TEST(CMake, BuildsAProjectWithDeviceCodeInSeveralFilesAndALibrary) {
    TemporaryDirectory folder;
    writeFile(folder / "CMakeLists.txt",
              "cmake_minimum_required(VERSION 3.18)\nproject(tried LANGUAGES CXX CUDA)\n"
              "add_library(part STATIC part.cu)\nadd_executable(program main.cu host.cpp)\n"
              "target_link_libraries(program PRIVATE part)\n"
              "set_target_properties(part program PROPERTIES CUDA_SEPARABLE_COMPILATION ON CUDA_STANDARD 17)\n");
    writeFile(folder / "part.cu", "__device__ int five() { return 5; }\n");
    writeFile(folder / "host.cpp", "int twice(int x) { return 2 * x; }\n");
    writeFile(folder / "main.cu",
              "__device__ int five();\nint twice(int);\n__global__ void k(int* p) { *p = five(); }\n"
              "int main() {\n    int *p, value = 0;\n    cudaMalloc(&p, 4);\n    k<<<1, 1>>>(p);\n"
              "    cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);\n    printf(\"%d\\n\", twice(value));\n}\n");
    const std::string source = folder.path().string(), build = (folder / "build").string();
    const Outcome configured =
        run({"/usr/bin/env", "CUDACXX=" + kNvcc, "cmake", "-S", source, "-B", build, "-G", "Ninja"});
    ASSERT_EQ(configured.exitCode, 0) << configured.output;
    EXPECT_NE(configured.output.find("The CUDA compiler identification is NVIDIA 13.0"), std::string::npos);
    const Outcome built = run({"cmake", "--build", build});
    ASSERT_EQ(built.exitCode, 0) << built.output;
    EXPECT_EQ(run({BULKHEAD_PROGRAM, "exec", "--quiet", "--", build + "/program"}).output, "10\n");
}

TEST(CMake, TheCompilerTellsItsRelease) {
    EXPECT_NE(run({kNvcc, "--version"}).output.find("release 13.0"), std::string::npos);
}

}  // namespace
}  // namespace bulkhead
