// Programs with more rights than whoever starts them: their user's environment decides nothing.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

class PrivilegedProgram : public testing::Test {
  protected:
    TemporaryDirectory folder;
    const std::string ordinary = (folder / "ordinary").string(), privileged = (folder / "privileged").string();

    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "only root can give a program another group's rights";
        struct statvfs system = {};
        if (statvfs(folder.path().c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0)
            GTEST_SKIP() << folder.path() << " is mounted nosuid";
        const std::filesystem::path source = BULKHEAD_SOURCE_DIR;
        const Outcome built = run({BULKHEAD_PROGRAM, "cc", "-O2", (source / "examples/vector_add.cu").string(),
                                   "-lbulkhead", "-o", ordinary});
        ASSERT_EQ(built.exitCode, 0) << built.output;
        std::filesystem::copy_file(ordinary, privileged);
        constexpr gid_t kGroup = 65534;
        ASSERT_EQ(chown(privileged.c_str(), 0, kGroup), 0);
        ASSERT_EQ(chmod(privileged.c_str(), 02755), 0);
    }
    static Outcome start(const std::string& program, std::vector<std::string> variables) {
        variables.insert(variables.begin(), "env");
        variables.push_back(program);
        return run(variables);
    }
};

TEST_F(PrivilegedProgram, WritesNoFileThatItsUserNames) {
    const std::filesystem::path file = folder / "stats.json";
    const std::vector<std::string> variables = {"BULKHEAD_STATS=" + file.string(), "BULKHEAD_SUMMARY=1",
                                                "BULKHEAD_GPU=sim:gtx480"};
    const Outcome told = start(ordinary, variables);
    EXPECT_EQ(told.exitCode, 0);
    EXPECT_NE(told.output.find("kernels on sim:gtx480"), std::string::npos) << told.output;
    EXPECT_TRUE(std::filesystem::remove(file));

    const Outcome outcome = start(privileged, variables);
    EXPECT_EQ(outcome.exitCode, 0);
    EXPECT_EQ(outcome.output, "vector_add: passed\n");
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(PrivilegedProgram, LoadsNoDriverThatItsUserNames) {
    const std::filesystem::path loaded = folder / "loaded", source = folder / "other.cpp",
                                library = folder / "other.so";
    writeFile(source, "#include <cstdio>\n[[gnu::constructor]] static void tell() { std::fclose(std::fopen(\"" +
                          loaded.string() + "\", \"w\")); }\n");
    const Outcome built = run({"c++", "-shared", "-fPIC", source.string(), "-o", library.string()});
    ASSERT_EQ(built.exitCode, 0) << built.output;
    const std::vector<std::string> variables = {"BULKHEAD_LIBCUDA=" + library.string(), "BULKHEAD_GPU=cuda:0",
                                                "BULKHEAD_PARTITION=A"};
    EXPECT_NE(start(ordinary, variables).exitCode, 0);
    EXPECT_TRUE(std::filesystem::remove(loaded));

    EXPECT_EQ(start(privileged, variables).output, "vector_add: passed\n");
    EXPECT_FALSE(std::filesystem::exists(loaded));
}

}  // namespace
}  // namespace bulkhead
