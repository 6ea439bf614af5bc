// What becomes of kept runs, and of runs that cannot be kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

using Words = std::vector<std::string>;
namespace fs = std::filesystem;

/// A variable of the environment, as it was before once this goes.
class Variable {
  public:
    Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
        if (const char* const before = std::getenv(name)) before_ = before;
        set(value);
    }
    ~Variable() { set(before_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    void set(const std::optional<std::string>& value) const {
        value ? ::setenv(name_, value->c_str(), 1) : ::unsetenv(name_);
    }
    const char* name_;
    std::optional<std::string> before_;
};

const Words kCompare = {"compare", "--workloads", "VA", "--schedulers", "gto,lrr", "--size", "test"};
const Words kEvaluate = {"isolate", "evaluate", "--applications", "VA", "--neighbours", "VA",
                         "--size",  "test",     "--methods",      "cp", "--csv",        "-"};
const Words kReproduce = {"reproduce", "interference", "--figures", "table1", "--samples", "1", "--accesses", "256"};
const Words kStress = {"stress",    "--victim", "latency",    "--aggressors", "compute,evict-random",
                       "--samples", "3",        "--accesses", "64",           "--csv",
                       "-"};

Words in(const Words& command, const fs::path& store) {
    Words words = command;
    words.insert(words.end(), {"--store", store.string()});
    return words;
}

std::ptrdiff_t lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

TEST(KeptRuns, DamageIsSaidOnceAndMadeAgain) {
    for (const Words& command : {kCompare, kEvaluate, kReproduce, kStress}) {
        SCOPED_TRACE(command[1]);
        const TemporaryDirectory folder;
        const Outcome first = run(in(command, folder.path()));
        ASSERT_EQ(first.exitCode, 0) << first.err;
        EXPECT_EQ(first.err, "");
        std::vector<fs::path> files(fs::directory_iterator(folder.path()), {});
        ASSERT_FALSE(files.empty());
        std::sort(files.begin(), files.end());
        const std::string good = readFile(files.front());
        for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), good + "x"}) {
            std::ofstream(files.front(), std::ios::binary) << bad;
            const Outcome again = run(in(command, folder.path()));
            EXPECT_EQ(again.exitCode, 0) << again.err;
            EXPECT_EQ(again.out, first.out);
            EXPECT_EQ(again.err, "bulkhead: " + files.front().string() + ": is damaged: the run is repeated\n");
            const Outcome mended = run(in(command, folder.path()));
            EXPECT_EQ(mended.out, first.out);
            EXPECT_EQ(mended.err, "");
        }
    }
}

TEST(KeptRuns, SamplesAreTheSameOneByOneAndAsRuns) {
    const TemporaryDirectory folder;
    const Outcome oneByOne = run(kStress), asRuns = run(in(kStress, folder.path()));
    EXPECT_EQ(oneByOne.exitCode, 0) << oneByOne.err;
    EXPECT_EQ(asRuns.out, oneByOne.out);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 6);  // three beside each of two aggressors
    Words limited = in(kStress, folder.path());
    limited.insert(limited.end(), {"--cell-limit", "5"});
    expectRefused(limited, "leave out --cell-limit");
}

TEST(KeptRuns, WithoutAHomeNothingIsKept) {
    const TemporaryDirectory temporary;
    const Variable cache("XDG_CACHE_HOME", std::nullopt), home("HOME", std::nullopt),
        folder("TMPDIR", temporary.path().string());
    for (const Words& command : {kCompare, kEvaluate, kReproduce}) {
        const Outcome o = run(command);
        EXPECT_EQ(o.exitCode, 0) << o.err;
        EXPECT_NE(o.out, "");
        EXPECT_EQ(o.err, "bulkhead: no run is kept for later: neither XDG_CACHE_HOME nor HOME names a folder\n");
    }
    EXPECT_TRUE(fs::is_empty(temporary.path())) << "others could have made what is looked for there";
}

TEST(KeptRuns, ACacheThatCannotBeMadeIsDoneWithout) {
    const TemporaryDirectory folder;
    writeFile(folder / "file", "");
    for (const std::string& cache : {std::string("/proc"), (folder / "file").string()}) {
        const Variable variable("XDG_CACHE_HOME", cache);
        const Outcome o = run(kCompare);
        EXPECT_EQ(o.exitCode, 0) << o.err;
        EXPECT_TRUE(o.err.starts_with("bulkhead: " + cache + "/bulkhead/runs: ")) << o.err;
        EXPECT_EQ(lines(o.err), 1);
    }
}

TEST(KeptRuns, ARelativeCacheIsNone) {
    const TemporaryDirectory folder;
    const Variable cache("XDG_CACHE_HOME", "relative"), home("HOME", folder.path().string());
    const Outcome o = run(kCompare);
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_EQ(o.err, "");
    EXPECT_FALSE(fs::is_empty(folder / ".cache/bulkhead/runs"));
    EXPECT_FALSE(fs::exists("relative"));
}

TEST(KeptRuns, AStoreThatTakesNoFilesIsSaidOnce) {
    for (const Words& command : {kCompare, kEvaluate, kReproduce}) {
        const Outcome o = run(in(command, "/proc"));
        EXPECT_EQ(o.exitCode, 0) << o.err;
        EXPECT_NE(o.out, "");
        EXPECT_TRUE(o.err.starts_with("bulkhead: /proc: cannot keep runs here: ")) << o.err;
        EXPECT_EQ(lines(o.err), 1) << o.err;
    }
}

TEST(KeptRuns, AFullDiskIsSaidOnce) {
    const TemporaryDirectory folder;
    Surroundings full;
    full.diskBytes = 4096;
    const Outcome o = run(in(kCompare, folder / "runs"), full);
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_EQ(o.err, "bulkhead: " + (folder / "runs").string() + ": cannot keep runs here: File too large\n");
    EXPECT_TRUE(fs::is_empty(folder / "runs"));
}

}  // namespace
}  // namespace bulkhead::cli
