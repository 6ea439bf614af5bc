#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

namespace fs = std::filesystem;

/// What was kept, and when.
std::map<std::string, fs::file_time_type> kept(const fs::path& folder) {
    std::map<std::string, fs::file_time_type> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        files[entry.path().filename().string()] = entry.last_write_time();
    return files;
}

/// The results without what differs between two runs of the same.
nlohmann::json figures(const Outcome& o) {
    nlohmann::json json = nlohmann::json::parse(o.out);
    for (nlohmann::json& result : json["results"]) {
        result.erase("provenance");
        for (nlohmann::json& row : result["rows"]) row.erase("simulated in");
    }
    return json;
}

class ReproduceVerb : public testing::Test {
  protected:
    Outcome reproduce(std::vector<std::string> words, const std::string& store, const Surroundings& around = {}) {
        words.insert(words.begin(), "reproduce");
        words.insert(words.end(), {"--json", "-", "--jobs", "1", "--store", (folder_ / store).string()});
        return run(words, around);
    }
    TemporaryDirectory folder_;
};

TEST_F(ReproduceVerb, GoesOnWhereItWasInterrupted) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"ciao", "--figures", "1b", "--size", "default", "--limit", "150000"},
          std::vector<std::string>{"interference", "--figures", "table1,table3", "--samples", "1", "--accesses",
                                   "512"}}) {
        Surroundings impatient;
        impatient.patienceS = 1;
        reproduce(words, "runs", impatient);
        fs::create_directories(folder_ / "runs");
        const auto before = kept(folder_ / "runs");
        const Outcome second = reproduce(words, "runs");
        ASSERT_EQ(second.exitCode, 0) << second.err;
        const auto after = kept(folder_ / "runs");
        for (const auto& [file, time] : before) EXPECT_EQ(after.at(file), time) << file;
        EXPECT_FALSE(after.empty());

        // A third has nothing left to do, and all three say the same as one that was never interrupted.
        const Outcome third = reproduce(words, "runs"), whole = reproduce(words, "elsewhere");
        EXPECT_EQ(kept(folder_ / "runs"), after);
        EXPECT_EQ(figures(third), figures(second));
        EXPECT_EQ(figures(whole), figures(second));
    }
}

TEST_F(ReproduceVerb, SaysWhatAShortenedRunLeavesOut) {
    const Outcome o = reproduce({"ciao", "--quick", "--figures", "overhead"}, "runs");
    ASSERT_EQ(o.exitCode, 0) << o.err;
    EXPECT_NE(o.err.find("shortened"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("200000 warp instructions"), std::string::npos) << o.err;
}

TEST_F(ReproduceVerb, RefusesUnknownPapersAndFigures) {
    expectRefused({"reproduce", "relativity"}, "choose interference, fgpu, ciao or all");
    expectRefused({"reproduce", "ciao", "--figures", "99"}, "choose from 1a, 1b");
    expectRefused({"reproduce", "all", "--gpu", "sim:tx2"}, "each paper has its own GPUs");
}

}  // namespace
}  // namespace bulkhead::cli
