#include "compare/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/random.h"
#include "temporary_directory.h"

namespace bulkhead::compare {
namespace {

RunSpec atax() {
    RunSpec spec;
    spec.workload = "ATAX";
    return spec;
}

RunMeasurement someMeasurement() {
    RunMeasurement measurement;
    measurement.cycles = 1234;
    measurement.counters.threadInstructions = 5678;
    return measurement;
}

TEST(Store, findsWhatWasKept) {
    const TemporaryDirectory folder;
    Store(folder / "runs", "1").keep(atax(), someMeasurement());
    const auto found = Store(folder / "runs", "1").find(atax());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->cycles, 1234u);
    EXPECT_EQ(found->counters.threadInstructions, 5678u);
}

TEST(Store, everythingThatDeterminesARunTellsItFromOthers) {
    const TemporaryDirectory folder;
    const Store store(folder.path(), "1");
    store.keep(atax(), someMeasurement());
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
    store.keep(spec, someMeasurement());
    EXPECT_TRUE(store.find(spec));
    profile["l1"]["mshrs"]["value"] = 64;
    std::ofstream(folder / "mine.json") << profile;
    EXPECT_FALSE(store.find(spec));
}

/// A store that counts what it warns of.
struct Warned {
    explicit Warned(const std::filesystem::path& folder)
        : store(folder, "1", [this](const std::string& line) { lines.push_back(line); }) {}
    std::vector<std::string> lines;
    Store store;
};

/// Found as it was kept, or not found with a line that names the file; never anything else.
void expectRightOrMissing(const Warned& warned) {
    const std::optional<RunMeasurement> found = warned.store.find(atax());
    if (found) {
        EXPECT_EQ(found->toJson(), someMeasurement().toJson());
        EXPECT_TRUE(warned.lines.empty());
    } else {
        ASSERT_EQ(warned.lines.size(), 1u);
        EXPECT_EQ(warned.lines.front(), warned.store.fileOf(atax()).string() + ": is damaged: the run is repeated");
    }
}

/// The bytes with one bit the other way round.
std::string flipped(std::string bytes, std::size_t bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    return bytes;
}

TEST(ResultFolders, everyFlippedBitIsAMiss) {
    const TemporaryDirectory folder;
    std::size_t warnings = 0;
    const experiment::ResultFolder results(folder.path(), "1", [&](const std::string&) { ++warnings; });
    const nlohmann::ordered_json spec = {{"seed", 7}}, measurement = {{"cycles", 1234}, {"seconds", 0.5}};
    results.keep("x", spec, measurement);
    ASSERT_EQ(results.find("x", spec), nlohmann::json(measurement));
    const std::string good = readFile(results.fileOf("x", spec));
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        std::ofstream(results.fileOf("x", spec), std::ios::binary) << flipped(good, bit);
        EXPECT_FALSE(results.find("x", spec)) << "bit " << bit;
        EXPECT_EQ(warnings, bit + 1);
    }
}

TEST(Store, flippedBitsAreMisses) {
    const TemporaryDirectory folder;
    Store(folder.path(), "1").keep(atax(), someMeasurement());
    const std::filesystem::path file = Store(folder.path(), "1").fileOf(atax());
    const std::string good = readFile(file);
    Random random(1);
    for (int i = 0; i < 300; ++i) {
        std::ofstream(file, std::ios::binary) << flipped(good, random.below(8 * good.size()));
        const Warned warned(folder.path());
        expectRightOrMissing(warned);
    }
}

TEST(Store, everyCutIsAMiss) {
    const TemporaryDirectory folder;
    Store(folder.path(), "1").keep(atax(), someMeasurement());
    const std::filesystem::path file = Store(folder.path(), "1").fileOf(atax());
    const std::string good = readFile(file);
    for (std::size_t length = 0; length < good.size(); length += length < 100 ? 1 : 197) {
        std::ofstream(file, std::ios::binary) << good.substr(0, length);
        const Warned warned(folder.path());
        expectRightOrMissing(warned);
        EXPECT_FALSE(warned.lines.empty()) << length;
    }
}

TEST(Store, figuresOfAnotherFormAreAMissThoughTheFileIsWhole) {
    const TemporaryDirectory folder;
    experiment::ResultFolder(folder.path(), "1").keep(nameOf(atax()), atax().toJson(), {{"cycles", -1}});
    const Warned warned(folder.path());
    expectRightOrMissing(warned);
    EXPECT_FALSE(warned.lines.empty());
}

TEST(Store, whatTakesTheFilesPlaceIsAMissAndIsSaid) {
    const TemporaryDirectory folder;
    const Warned warned(folder.path());
    const std::filesystem::path file = warned.store.fileOf(atax());
    std::filesystem::create_directory(file);
    EXPECT_FALSE(warned.store.find(atax()));
    warned.store.keep(atax(), someMeasurement());
    std::filesystem::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);  // which nobody writes into, or reads from
    EXPECT_FALSE(warned.store.find(atax()));
    warned.store.keep(atax(), someMeasurement());
    EXPECT_EQ(warned.lines,
              std::vector<std::string>(2, file.string() + ": is not a file: the run is repeated each time"));
}

TEST(Store, whatCannotBeKeptIsSaidAndCostsNothing) {
    const Warned warned("/proc");  // which takes no files, whoever asks
    EXPECT_NO_THROW(warned.store.keep(atax(), someMeasurement()));
    ASSERT_EQ(warned.lines.size(), 1u);
    EXPECT_TRUE(warned.lines.front().starts_with("/proc: cannot keep runs here: ")) << warned.lines.front();
    EXPECT_FALSE(warned.store.find(atax()));
}

TEST(Store, aFullDiskLeavesNoPartOfAFile) {
    const TemporaryDirectory folder;
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);  // as on a full disk, a write beyond the limit fails
        const rlimit most = {100, 100};
        ::setrlimit(RLIMIT_FSIZE, &most);
        const Warned warned(folder.path());
        warned.store.keep(atax(), someMeasurement());
        ::_exit(warned.lines.size() == 1 && !warned.store.find(atax()) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Store, aFolderThatMayOnlyBeReadIsRead) {
    const TemporaryDirectory folder;
    Store(folder.path(), "1").keep(atax(), someMeasurement());
    std::filesystem::permissions(folder.path(), static_cast<std::filesystem::perms>(0555));
    const pid_t child = ::fork();
    if (child == 0) {
        constexpr uid_t kNobody = 65534;
        if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(2);
        const Warned warned(folder.path());
        const bool found = warned.store.find(atax()).has_value();
        RunSpec other = atax();
        other.seed = 2;
        warned.store.keep(other, someMeasurement());
        ::_exit(found && warned.lines.size() == 1 && !warned.store.find(other) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::filesystem::permissions(folder.path(), static_cast<std::filesystem::perms>(0755));
    EXPECT_EQ(status, 0);
}

TEST(Store, withoutAFolderNothingIsKept) {
    const Store store({}, "1");
    store.keep(atax(), someMeasurement());
    EXPECT_FALSE(store.find(atax()));
    EXPECT_FALSE(std::filesystem::exists(store.fileOf(atax())));
}

TEST(Store, readersSeeWholeFilesWhileOthersWrite) {
    const TemporaryDirectory folder;
    constexpr int kWriters = 4, kTimes = 50;
    std::vector<pid_t> writers;
    for (int i = 0; i < kWriters; ++i) {
        writers.push_back(::fork());
        if (writers.back() != 0) continue;
        const Warned warned(folder.path());
        for (int n = 0; n < kTimes; ++n) warned.store.keep(atax(), someMeasurement());
        ::_exit(warned.lines.empty() ? 0 : 1);
    }
    const Warned warned(folder.path());
    bool seen = false;
    for (std::size_t ended = 0; ended < writers.size();) {
        const bool found = warned.store.find(atax()).has_value();
        EXPECT_TRUE(found || !seen) << "it was there, and is not";
        seen = seen || found;
        int status = 0;
        if (::waitpid(writers[ended], &status, WNOHANG) == writers[ended]) {
            EXPECT_EQ(status, 0);
            ++ended;
        }
    }
    EXPECT_TRUE(seen);
    EXPECT_TRUE(warned.lines.empty()) << warned.lines.front();
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "a temporary file was left";
}

TEST(Store, aFileInItsPlaceIsRefused) {
    const TemporaryDirectory folder;
    std::ofstream(folder / "file") << "x";
    EXPECT_THROW(Store(folder / "file", "1"), Error);
}

// The published values of 64-bit FNV-1a.
TEST(Store, fingerprints) {
    EXPECT_EQ(experiment::fingerprint(""), "cbf29ce484222325");
    EXPECT_EQ(experiment::fingerprint("a"), "af63dc4c8601ec8c");
    EXPECT_EQ(experiment::fingerprint("foobar"), "85944171f73967e8");
}

TEST(RunSpec, anotherProcessUnderstandsTheDescription) {
    RunSpec spec;
    spec.workload = "NN";
    spec.size = workloads::Size::test;
    spec.seed = (std::uint64_t{1} << 63) + 1;
    spec.gpu = "sim:gtx1080";
    spec.settings = {"l2.hitLatency=100"};
    spec.scheduler = "best-swl:4";
    spec.warpInstructions = 1000;
    spec.observe = true;
    const nlohmann::json heard = parseJson(jsonText(describe(spec)), "description");
    EXPECT_EQ(RunSpec::fromJson(heard, "run").toJson(), spec.toJson());
    nlohmann::json strange = heard;
    strange["strange"] = 1;
    EXPECT_THROW(RunSpec::fromJson(strange, "run"), Error);
}

}  // namespace
}  // namespace bulkhead::compare
