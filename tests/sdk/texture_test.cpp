// A program with textures and surfaces, built by bulkhead cc and run on a simulated GPU.

#include <gtest/gtest.h>

#include <string>

#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

TEST(Textures, AProgramOfEveryFunctionComputesWhatTheHostDoes) {
    TemporaryDirectory folder;
    const std::string program = (folder / "textures").string();
    const Outcome built = run({BULKHEAD_PROGRAM, "cc", "-O2",
                               std::string(BULKHEAD_SOURCE_DIR) + "/tests/sdk/programs/textures.cu", "-o", program});
    ASSERT_EQ(built.exitCode, 0) << built.output;
    for (const char* threads : {"1", "2", "3"}) {
        const Outcome o = run({"env", std::string("BULKHEAD_THREADS=") + threads, BULKHEAD_PROGRAM, "exec", "--gpu",
                               "sim:gtx1080", "--", program});
        EXPECT_EQ(o.exitCode, 0) << o.output;
        EXPECT_NE(o.output.find("textures: passed"), std::string::npos) << o.output;
    }
}

}  // namespace
}  // namespace bulkhead
