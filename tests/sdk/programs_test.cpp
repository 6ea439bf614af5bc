// Programs that check our headers by themselves, on both sides: each is built by bulkhead cc and run.

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

struct Program {
    const char* name;
    const char* arch;
    const char* gpu = "sim:gtx1080";
};

class Programs : public ::testing::TestWithParam<Program> {};

TEST_P(Programs, AgreeWithTheirReferences) {
    const TemporaryDirectory folder;
    const std::string program = (folder / "program").string();
    const std::string source = std::string(BULKHEAD_SOURCE_DIR "/tests/sdk/programs/") + GetParam().name + ".cu";
    ASSERT_EQ(
        run({BULKHEAD_PROGRAM, "cc", "-O1", std::string("-arch=") + GetParam().arch, source, "-o", program}).output,
        "");
    const Outcome o = run({"env", std::string("BULKHEAD_GPU=") + GetParam().gpu, program});
    EXPECT_EQ(o.exitCode, 0);
    EXPECT_EQ(o.output, "passed\n");
}

// sm_52 has no arithmetic on halves, sm_80 some on bfloat16.
INSTANTIATE_TEST_SUITE_P(Headers, Programs,
                         ::testing::Values(Program{"complex", "sm_75"}, Program{"leftovers", "sm_75"},
                                           Program{"leftovers", "sm_90"}, Program{"simd", "sm_75"},
                                           Program{"device_heap", "sm_75"}, Program{"random_numbers", "sm_75"},
                                           Program{"managed", "sm_75"}, Program{"managed", "sm_90"},
                                           Program{"groups", "sm_60"}, Program{"groups", "sm_75"},
                                           Program{"clusters", "sm_90", "sim:h200"},
                                           Program{"matrices", "sm_80", "sim:h200"}, Program{"short_floats", "sm_52"},
                                           Program{"short_floats", "sm_80"}),
                         [](const auto& info) { return std::string(info.param.name) + "_" + info.param.arch; });

}  // namespace
}  // namespace bulkhead
