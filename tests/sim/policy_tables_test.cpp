// A policy that nobody can choose is dead: every file of a folder of policies must be named by a row of its table.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace bulkhead::sim {
namespace {

namespace fs = std::filesystem;

const fs::path kMemory = fs::path(BULKHEAD_SOURCE_DIR) / "src/sim/mem";

std::string contents(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// What a source defines that a row can name: a function that makes a policy, or one that serves a write.
std::string maker(const std::string& source) {
    std::smatch found;
    const std::regex definition(R"(\n(?:std::unique_ptr<\w+> |L2Slice::Served L2Slice::)(\w+)\()");
    return std::regex_search(source, found, definition) ? found[1].str() : "";
}

/// Rows end with the function, in the sources that have tables.
bool isInATable(const std::string& function) {
    const std::regex row("(, |&L2Slice::)" + function + "\\},");
    for (const char* table :
         {"replacement_policy.cpp", "prefetch_policy.cpp", "dram_channel.cpp", "row_policy.cpp", "l2_slice.cpp"}) {
        // Rows may be broken into lines.
        const std::string text = std::regex_replace(contents(kMemory / table), std::regex("\\s+"), " ");
        if (std::regex_search(text, row)) return true;
    }
    return false;
}

class PolicyFolder : public ::testing::TestWithParam<const char*> {};

TEST_P(PolicyFolder, HasNoFileThatIsNotInItsTable) {
    int files = 0;
    for (const auto& entry : fs::directory_iterator(kMemory / GetParam())) {
        if (entry.path().extension() != ".cpp") continue;
        ++files;
        const std::string function = maker(contents(entry.path()));
        EXPECT_FALSE(function.empty()) << entry.path() << " defines nothing that a table could name";
        EXPECT_TRUE(isInATable(function)) << entry.path() << ": " << function << " is in no table";
    }
    EXPECT_GT(files, 1);
}

INSTANTIATE_TEST_SUITE_P(Policies, PolicyFolder, ::testing::Values("replacement", "prefetch", "dram", "write"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace bulkhead::sim
