#include "correlate/counter_files.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "temporary_directory.h"

namespace bulkhead::correlate {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"VA", "MM", "2DCONV"};

TEST(CounterFiles, areOfTheWorkloadWhoseNameIsAWordOfTheirs) {
    EXPECT_EQ(ownerOf("counters/ncu_VA.csv", kNames), "VA");
    EXPECT_EQ(ownerOf("mm.l2-hits.csv", kNames), "MM");
    EXPECT_EQ(ownerOf("2DCONV_3.csv", kNames), "2DCONV");
    EXPECT_FALSE(ownerOf("VALUES.csv", kNames));
    EXPECT_FALSE(ownerOf("VA/all.csv", kNames));
}

TEST(CounterFiles, aFolderStandsForItsFilesByName) {
    const TemporaryDirectory folder;
    const std::string page =
        "\"ID\",\"Kernel Name\",\"profiler__replayer_passes\"\n\"\",\"\",\"pass\"\n\"0\",\"k\",\"3\"\n";
    for (const char* const name : {"VA_2.csv", "VA_1.csv"}) writeFile(folder / name, page);
    writeFile(folder / "notes.txt", "no counters");
    const std::vector<std::string> named = {folder.path().string()};
    const std::vector<CounterFile> files = readCounterFiles(named, kNames);
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].path.filename(), "VA_1.csv");
    EXPECT_EQ(files[0].owner, "VA");
    EXPECT_EQ(mostPasses(files[0].runs), 3);
}

TEST(CounterFiles, whatIsNotThereIsRefused) {
    const TemporaryDirectory folder;
    const std::vector<std::string> empty = {folder.path().string()}, missing = {(folder / "no.csv").string()};
    EXPECT_THROW(readCounterFiles(empty, kNames), Error);
    EXPECT_THROW(readCounterFiles(missing, kNames), Error);
    EXPECT_TRUE(readCounterFiles({}, kNames).empty());
}

}  // namespace
}  // namespace bulkhead::correlate
