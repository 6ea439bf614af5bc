#include "compare/store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "temporary_directory.h"

namespace bulkhead::compare {
namespace {

RunSpec atax() {
    RunSpec spec;
    spec.workload = "ATAX";
    return spec;
}

RunFigures someFigures() {
    RunFigures figures;
    figures.cycles = 1234;
    figures.counters.threadInstructions = 5678;
    return figures;
}

TEST(Store, findsWhatWasKept) {
    const TemporaryDirectory folder;
    Store(folder / "runs", "1").keep(atax(), someFigures());
    const auto found = Store(folder / "runs", "1").find(atax());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->cycles, 1234u);
    EXPECT_EQ(found->counters.threadInstructions, 5678u);
}

TEST(Store, everythingThatDeterminesARunTellsItFromOthers) {
    const TemporaryDirectory folder;
    const Store store(folder.path(), "1");
    store.keep(atax(), someFigures());
    std::vector<RunSpec> others(7, atax());
    others[0].workload = "BICG";
    others[1].size = workloads::Size::test;
    others[2].seed = 2;
    others[3].gpu = "sim:gtx1080";
    others[4].settings = {"l1.ways=8"};
    others[5].scheduler = "lrr";
    others[6].warpInstructions = 1000;
    for (const RunSpec& other : others) EXPECT_FALSE(store.find(other));
    EXPECT_FALSE(Store(folder.path(), "2").find(atax()));
}

TEST(Store, aProfileWithTheSameNameAndAnotherFigureIsAnotherRun) {
    const TemporaryDirectory folder;
    RunSpec spec = atax();
    nlohmann::json profile =
        nlohmann::json::parse(std::ifstream(std::string(BULKHEAD_SOURCE_DIR) + "/profiles/gtx480.json"));
    spec.gpu = "sim:" + (folder / "mine.json").string();
    std::ofstream(folder / "mine.json") << profile;
    const Store store(folder.path(), "1");
    store.keep(spec, someFigures());
    EXPECT_TRUE(store.find(spec));
    profile["l1"]["mshrs"]["value"] = 64;
    std::ofstream(folder / "mine.json") << profile;
    EXPECT_FALSE(store.find(spec));
}

TEST(Store, aFileThatIsBrokenIsNamed) {
    const TemporaryDirectory folder;
    const Store store(folder.path(), "1");
    std::ofstream(store.fileOf(atax())) << "{";
    try {
        store.find(atax());
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("ATAX-gto-"), std::string::npos) << error.what();
    }
}

TEST(Store, aFileInItsPlaceIsRefused) {
    const TemporaryDirectory folder;
    std::ofstream(folder / "file") << "x";
    EXPECT_THROW(Store(folder / "file", "1"), Error);
}

// The published values of 64-bit FNV-1a.
TEST(Store, fingerprints) {
    EXPECT_EQ(fingerprint(""), "cbf29ce484222325");
    EXPECT_EQ(fingerprint("a"), "af63dc4c8601ec8c");
    EXPECT_EQ(fingerprint("foobar"), "85944171f73967e8");
}

}  // namespace
}  // namespace bulkhead::compare
