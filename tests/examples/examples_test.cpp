// Every program of examples/, built the three ways that a user has, and run on a simulated GPU.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = fs::path(BULKHEAD_SOURCE_DIR) / "examples";

std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(kExamples))
        if (file.path().extension() == ".cu") names.push_back(file.path().stem());
    return names;
}

class Example : public ::testing::TestWithParam<std::string> {
  protected:
    TemporaryDirectory folder;

    std::string source() const { return (kExamples / (GetParam() + ".cu")).string(); }
    std::string program() const { return (folder / GetParam()).string(); }

    void build(const std::vector<std::string>& command) {
        const Outcome built = run(command);
        ASSERT_EQ(built.exitCode, 0) << built.output;
    }
    void expectPasses(const std::vector<std::string>& command) {
        const Outcome outcome = run(command);
        EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
        EXPECT_NE(outcome.output.find(GetParam() + ": passed\n"), std::string::npos) << outcome.output;
        if (GetParam() == "device_printf") {
            EXPECT_NE(outcome.output.find("thread 2 of block 1 says hello to the host: 2.50, even\n"),
                      std::string::npos)
                << outcome.output;
        }
    }
};

TEST_P(Example, PassesWhenBuiltByBulkheadCc) {
    build({BULKHEAD_PROGRAM, "cc", "-O2", source(), "-o", program()});
    expectPasses({BULKHEAD_PROGRAM, "exec", "--quiet", "--", program()});
    expectPasses({BULKHEAD_PROGRAM, "exec", "--quiet", "--sample", "--", program()});
    expectPasses({BULKHEAD_PROGRAM, "exec", "--quiet", "--functional", "--", program()});
}

TEST_P(Example, PassesWhenBuiltByNvcc) {
    const std::string nvcc = findNvcc();
    if (nvcc.empty()) GTEST_SKIP() << "nvcc is not installed";
    // One object, linked twice: with the shared runtime, and with our static one, found before NVIDIA's.
    const std::string object = program() + ".o";
    build({nvcc, "-O2", "-std=c++17", "-c", source(), "-o", object});
    build({nvcc, "-cudart", "shared", object, "-o", program()});
    expectPasses({BULKHEAD_PROGRAM, "exec", "--quiet", "--", program()});
    build({nvcc, "-L", BULKHEAD_LIBRARY_FOLDER, object, "-o", program()});
    expectPasses({BULKHEAD_PROGRAM, "exec", "--quiet", "--", program()});
}

INSTANTIATE_TEST_SUITE_P(All, Example, ::testing::ValuesIn(names()), [](const auto& info) { return info.param; });

TEST(Examples, AreTen) {
    EXPECT_GE(names().size(), 10U);
}

}  // namespace
}  // namespace bulkhead
