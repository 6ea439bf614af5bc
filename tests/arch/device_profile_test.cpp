#include "arch/device_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "temporary_directory.h"

namespace bulkhead::arch {
namespace {

namespace fs = std::filesystem;
const fs::path kTests = fs::path(BULKHEAD_SOURCE_DIR) / "tests" / "arch";

std::string messageOf(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

class EveryProfileFile : public testing::TestWithParam<std::string> {};

TEST_P(EveryProfileFile, IsValidAndNamedAsItsFile) {
    const DeviceProfile p = findProfile(GetParam());
    EXPECT_EQ(p.name, GetParam());
    EXPECT_NO_THROW(p.validate());
}

TEST_P(EveryProfileFile, SaysWhereEachFigureComesFrom) {
    const DeviceProfile p = findProfile(GetParam());
    EXPECT_EQ(p.provenance.size(), parameters(p).size() + 1);  // and the map
    for (const Parameter& f : parameters(p)) {
        EXPECT_FALSE(f.meaning.empty()) << f.key;
        EXPECT_TRUE(f.provenance.starts_with("published: ") || f.provenance.starts_with("measured: ") ||
                    f.provenance.starts_with("assumed: "))
            << f.key;
    }
}

TEST_P(EveryProfileFile, NamesSourcesThatCanBeLookedUpAndReasons) {
    for (const auto& [key, from] : findProfile(GetParam()).provenance) {
        EXPECT_EQ(from.find("memory, not looked up"), std::string::npos) << key << ": " << from;
        EXPECT_EQ(from.find("from memory"), std::string::npos) << key << ": " << from;
        // That no source is known is no reason for a value.
        EXPECT_NE(from, "assumed: not published") << key;
        EXPECT_NE(from, "assumed: not measured") << key;
    }
}

TEST_P(EveryProfileFile, SurvivesJson) {
    const DeviceProfile p = findProfile(GetParam());
    const nlohmann::json once = p.toJson();
    EXPECT_EQ(DeviceProfile::fromJson(nlohmann::json::parse(once.dump()), "again").toJson(), once);
    EXPECT_EQ(once,
              nlohmann::json::parse(readFile(fs::path(BULKHEAD_SOURCE_DIR) / "profiles" / (GetParam() + ".json"))));
}

TEST_P(EveryProfileFile, EveryFigureCanBeSetToItsOwnValue) {
    const DeviceProfile before = findProfile(GetParam());
    DeviceProfile p = before;
    for (const Parameter& f : parameters(before)) p.set(f.key, f.value);
    const auto a = parameters(before), b = parameters(p);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].value, b[i].value) << a[i].key;
    EXPECT_NO_THROW(p.validate());
}

INSTANTIATE_TEST_SUITE_P(Profiles, EveryProfileFile, testing::ValuesIn(profileNames()),
                         [](const auto& i) { return i.param; });

TEST(Profiles, AreTheSixOfTheDesignAndAVariant) {
    EXPECT_EQ(profileNames(),
              (std::vector<std::string>{"gtx1070", "gtx1080", "gtx480", "gtx480_gpgpusim", "h200", "tx2", "v100"}));
}

TEST(Profiles, TheDocumentationListsEveryFigure) {
    std::set<std::string> rows, wanted;
    std::istringstream page(readFile(fs::path(BULKHEAD_SOURCE_DIR) / "docs" / "profiles.md"));
    std::string line;
    while (std::getline(page, line) && line != "## Every parameter") {
    }
    while (std::getline(page, line))
        if (line.starts_with("| `")) rows.insert(line);
    for (const Parameter& f : parameters(findProfile("gtx480")))
        wanted.insert("| `" + f.key + "` | " + f.unit + " | " + f.meaning + " | " + f.value + " | " +
                      f.provenance.substr(0, f.provenance.find(':')) + " |");
    EXPECT_EQ(rows, wanted);
}

TEST(Profiles, Gtx480IsTableOneOfCiao) {
    const DeviceProfile p = findProfile("gtx480");
    EXPECT_EQ(p.sm.count, 15);
    EXPECT_EQ(p.sm.maxThreads, 1536);
    EXPECT_EQ(p.l1.bytes, 16 * 1024);
    EXPECT_EQ(p.l1.lineBytes, 128);
    EXPECT_EQ(p.l1.ways, 4);
    EXPECT_TRUE(p.l1.localWriteBack);
    EXPECT_EQ(p.l1.hitLatency, 1);
    EXPECT_EQ(p.l1.setHash, DeviceProfile::SetHash::xorFold);
    EXPECT_EQ(p.sm.sharedBytes, 48 * 1024);
    EXPECT_EQ(p.shared.latency, 1);
    EXPECT_EQ(p.shared.banks, 32);
    EXPECT_EQ(p.l2.bytes, 768 * 1024);
    EXPECT_EQ(p.l2.lineBytes, 128);
    EXPECT_EQ(p.l2.ways, 8);
    EXPECT_EQ(p.map.banksPerChannel(), 16u);
    EXPECT_EQ(p.dram.tCL, 12);
    EXPECT_EQ(p.dram.tRCD, 12);
    EXPECT_EQ(p.dram.tRAS, 28);
}

TEST(Profiles, Gtx480KeepsAContiguousArrayOfItsL2Size) {
    // A hash that folds within aligned 32 KB must not overload any set of a contiguous array.
    const DeviceProfile p = findProfile("gtx480");
    std::map<std::pair<unsigned, unsigned>, int> lines;
    for (std::uint64_t a = 0; a < 768 * 1024; a += 128) {
        const auto l = p.map.locate(5 * 32 * 1024 + a);
        ++lines[{l.slice, l.set}];
    }
    EXPECT_EQ(lines.size(), 12u * 64u);
    for (const auto& [place, n] : lines) EXPECT_EQ(n, 8);
}

TEST(Profiles, Tx2HasTheLatenciesOfTableOne) {
    const DeviceProfile p = findProfile("tx2");
    EXPECT_EQ(p.sm.count, 2);
    EXPECT_EQ(p.l2.bytes, 512 * 1024);
    EXPECT_EQ(p.l2.hitLatency, 116);
    EXPECT_EQ(p.dram.latency, 519);
    EXPECT_EQ(p.memory.placement, DeviceProfile::PagePlacement::scattered);
}

TEST(Profiles, Tx2CachesAboutHalfOfACacheSizedArray) {
    // Demystifying Cache Interference, 4.2.1: eight arrays of 512 KB, 36-55 % of the second pass hits. Under LRU a
    // line hits exactly if its set holds no more lines of the array than it has ways.
    const DeviceProfile p = findProfile("tx2");
    const std::uint64_t frames = static_cast<std::uint64_t>(p.dram.bytes) / 4096;
    for (unsigned seed = 1; seed <= 6; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<std::uint64_t> order(frames);
        std::iota(order.begin(), order.end(), std::uint64_t{0});
        std::shuffle(order.begin(), order.end(), random);
        for (unsigned array = 0; array < 8; ++array) {
            std::map<std::pair<unsigned, unsigned>, int> lines;
            for (unsigned page = 0; page < 128; ++page)
                for (unsigned line = 0; line < 32; ++line) {
                    const auto l = p.map.locate(order[array * 128 + page] * 4096 + line * 128);
                    ++lines[{l.slice, l.set}];
                }
            int hits = 0;
            for (const auto& [place, n] : lines) hits += n <= p.l2.ways ? n : 0;
            EXPECT_GE(hits, 4096 * 36 / 100) << "seed " << seed << " array " << array;
            EXPECT_LE(hits, 4096 * 55 / 100) << "seed " << seed << " array " << array;
        }
    }
}

TEST(Profiles, BandwidthsAreThePublishedOnes) {
    const std::map<std::string, double> expected = {{"gtx480", 177.4}, {"tx2", 59.7},  {"gtx1070", 256.3},
                                                    {"gtx1080", 320.}, {"v100", 900.}, {"h200", 4800.}};
    for (const auto& [name, bandwidth] : expected)
        EXPECT_NEAR(findProfile(name).dramGBps(), bandwidth, bandwidth * 0.005) << name;
}

TEST(Profiles, H200MapAgreesWithTheMeasuredSlices) {
    // side, 2 MB page of one allocation, offset, slice: slices are numbered arbitrarily on each side, so measured and
    // computed numbers must be in one-to-one correspondence. The allocation begins at 264 x 2 MB.
    const AddressMap map = findProfile("h200").map;
    std::istringstream rows(readFile(kTests / "h200_slices.csv"));
    std::string line;
    std::getline(rows, line);
    std::map<std::pair<unsigned, unsigned>, unsigned> computed;
    std::map<unsigned, std::pair<unsigned, unsigned>> measured;
    int count = 0;
    while (std::getline(rows, line)) {
        unsigned side = 0, page = 0, offset = 0, slice = 0;
        ASSERT_EQ(std::sscanf(line.c_str(), "%u,%u,%u,%u", &side, &page, &offset, &slice), 4);
        const unsigned found = map.locate((std::uint64_t{page} + 264) * 2_MiB + offset).slice;
        ASSERT_EQ(found / 47, side) << line;
        ASSERT_EQ(computed.emplace(std::pair(side, slice), found).first->second, found) << line;
        ASSERT_EQ(measured.emplace(found, std::pair(side, slice)).first->second, std::pair(side, slice)) << line;
        ++count;
    }
    EXPECT_GT(count, 2000);
    EXPECT_EQ(computed.size(), 94u);
}

TEST(Profiles, H200AlternatesTwoSlicesInOneKilobyte) {
    const AddressMap map = findProfile("h200").map;
    for (std::uint64_t chunk = 0; chunk < 4_GiB; chunk += 7_MiB + 4_KiB) {
        std::set<unsigned> slices, sides;
        for (std::uint64_t a = chunk; a < chunk + 4_KiB; a += 256) {
            slices.insert(map.locate(a).slice);
            sides.insert(map.locate(a).slice / 47);
            EXPECT_EQ(map.locate(a).slice, map.locate(a ^ 512).slice);
            EXPECT_NE(map.locate(a).slice, map.locate(a ^ 256).slice);
        }
        EXPECT_EQ(sides.size(), 1u) << "a 4 KB chunk has one side";
        EXPECT_EQ(slices.size(), 8u) << "a 4 KB chunk touches 8 slices";
    }
    EXPECT_EQ(map.colors(4_KiB), 2u);
}

TEST(Set, ChangesAFigureAndItsSource) {
    DeviceProfile p = findProfile("gtx480");
    p.set("l1.ways", "8");
    p.set("op.fp32.latency", "7");
    p.set("unit.sfu", "3");
    p.set("l1.cachesGlobal", "false");
    p.set("l1.setHash", "linear");
    p.set("memory.placement", "scattered");
    EXPECT_EQ(p.l1.ways, 8);
    EXPECT_EQ(p.latency[static_cast<int>(OpClass::fp32)], 7);
    EXPECT_EQ(p.unitCount[static_cast<int>(Unit::sfu)], 3);
    EXPECT_FALSE(p.l1.cachesGlobal);
    EXPECT_EQ(p.l1.setHash, DeviceProfile::SetHash::linear);
    EXPECT_EQ(p.memory.placement, DeviceProfile::PagePlacement::scattered);
    EXPECT_EQ(p.provenance.at("l1.ways"), "assumed: set by the user");
    EXPECT_NO_THROW(p.validate());
}

TEST(Set, ReadsListsAndSizes) {
    DeviceProfile p = findProfile("gtx480");
    // CIAO's GTO-cap: 48 KB of L1D and 16 KB of shared memory.
    applySettings(p, {"sm.carveouts=16K", "sm.sharedBytes=16K", "sm.maxSharedPerBlock=16384", "l1.bytes=48K"});
    EXPECT_EQ(p.sm.carveouts, std::vector<std::int64_t>{16384});
    EXPECT_EQ(p.l1.bytes, 49152);
    p.set("sm.carveouts", "0,8K,16384");
    EXPECT_EQ(p.sm.carveouts, (std::vector<std::int64_t>{0, 8192, 16384}));
}

TEST(Set, RefusesWhatIsNoValue) {
    DeviceProfile p = findProfile("gtx480");
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, std::string>>{{"l1.ways", ""},
                                                          {"l1.ways", "four"},
                                                          {"l1.ways", "4x"},
                                                          {"l1.ways", "4K"},
                                                          {"l1.ways", "-4"},
                                                          {"l1.ways", "99999999999999999999"},
                                                          {"l1.bytes", "16KB"},
                                                          {"l1.bytes", "9999999999G"},
                                                          {"l1.cachesGlobal", "1"},
                                                          {"l1.setHash", "random"},
                                                          {"sm.carveouts", "1,,2"},
                                                          {"sm.carveouts", "a"}})
        EXPECT_THROW(p.set(key, value), Error) << key << "=" << value;
    EXPECT_EQ(messageOf([&] { p.set("l1.way", "4"); }), "unknown key l1.way (did you mean l1.ways?)");
    EXPECT_EQ(messageOf([&] { applySettings(p, {"l1.ways"}); }), "--set l1.ways: must be KEY=VALUE, as in l1.ways=8");
}

TEST(Validate, NamesProfileKeyValueAndWhatWouldBeRight) {
    DeviceProfile p = findProfile("gtx480");
    p.set("l2.ways", "7");
    EXPECT_EQ(messageOf([&] { p.validate(); }),
              "profile gtx480: l2.bytes = 786432: must be 12 slices x 64 sets x 7 ways x 128 B = 688128");
}

TEST(Validate, RefusesImpossibleGeometry) {
    const std::vector<std::pair<std::string, std::vector<std::string>>> impossible = {
        {"l1.bytes", {"l1.ways=3"}},
        {"l1.lineBytes", {"l1.lineBytes=96"}},
        {"l1.sectorBytes", {"l1.sectorBytes=256"}},
        {"l2.sectorBytes", {"l2.sectorBytes=96"}},
        {"constant.bytes", {"constant.bytes=8000"}},
        {"sm.maxThreads", {"sm.maxThreads=1500"}},
        {"sm.maxThreads", {"sm.maxThreads=4096"}},
        {"l1.lineBytes", {"l1.lineBytes=64", "l1.sectorBytes=64"}},
        {"l2.lineBytes", {"l2.lineBytes=256", "l2.bytes=1536K"}},
        {"sm.maxThreadsPerBlock", {"sm.maxThreadsPerBlock=2048"}},
        {"sm.registers", {"sm.registers=32800"}},
        {"sm.registers", {"sm.registers=1024"}},
        {"sm.maxSharedPerBlock", {"sm.maxSharedPerBlock=64K"}},
        {"sm.carveouts", {"sm.carveouts="}},
        {"sm.carveouts", {"sm.carveouts=48K,16K"}},
        {"sm.carveouts", {"sm.onChipBytes=0"}},
        {"sm.carveouts", {"sm.onChipBytes=32K"}},
        {"l2.sides", {"l2.sides=2"}},
        {"l2.farLatency", {"l2.farLatency=100"}},
        {"l2.halfLatency", {"l2.halfLatency=30"}},
        {"dram.latency", {"dram.latency=180"}},
        {"dram.tRAS", {"dram.tRAS=5"}},
        {"dram.burstBytes", {"dram.burstBytes=256"}},
        {"dram.bytes", {"dram.bytes=1000000000"}},
        {"memory.pageBytes", {"memory.pageBytes=5000"}},
        {"memory.reservedBytes", {"memory.reservedBytes=2G"}},
        {"shared.banks", {"shared.banks=31"}},
    };
    for (const auto& [key, settings] : impossible) {
        DeviceProfile p = findProfile("gtx480");
        const std::string message = messageOf([&p, &list = settings] { applySettings(p, list); });
        EXPECT_TRUE(message.starts_with("profile gtx480: " + key + " = ")) << settings[0] << " -> " << message;
    }
}

TEST(FindProfile, TakesNamesAndFiles) {
    EXPECT_EQ(findProfile("sim:gtx480").name, "gtx480");
    const std::string file = (fs::path(BULKHEAD_SOURCE_DIR) / "profiles" / "v100.json").string();
    EXPECT_EQ(findProfile(file).name, "v100");
    EXPECT_EQ(findProfile("sim:" + file).name, "v100");
    EXPECT_EQ(messageOf([] { findProfile("gtx980"); }),
              "no GPU is called gtx980 (did you mean gtx480?); there are gtx1070, gtx1080, gtx480, "
              "gtx480_gpgpusim, h200, tx2, v100, and files NAME.json");
    EXPECT_EQ(messageOf([] { findProfile("nowhere.json"); }), "nowhere.json: no such file");
}

TEST(FindProfile, ADirectoryCanStandInForTheEmbeddedOnes) {
    const TemporaryDirectory directory;
    DeviceProfile p = findProfile("tx2");
    p.name = "mine";
    writeFile(directory / "mine.json", p.toJson().dump());
    ::setenv("BULKHEAD_PROFILES", directory.path().c_str(), 1);
    EXPECT_EQ(profileNames(), std::vector<std::string>{"mine"});
    EXPECT_EQ(findProfile("mine").sm.count, 2);
    EXPECT_THROW(findProfile("tx2"), Error);
    ::setenv("BULKHEAD_PROFILES", "/nonexistent", 1);
    EXPECT_THROW(profileNames(), Error);
    ::unsetenv("BULKHEAD_PROFILES");
}

TEST(BrokenProfiles, AreEachRefusedInOneLineThatNamesTheFile) {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(kTests / "broken")) {
        const std::string message = messageOf([&] { DeviceProfile::load(entry.path()); });
        EXPECT_TRUE(message.starts_with(entry.path().string() + ": ")) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        EXPECT_LT(message.size(), entry.path().string().size() + 300) << message;
        ++count;
    }
    EXPECT_GE(count, 30);
    EXPECT_THROW(DeviceProfile::load(kTests / "broken" / "missing.json"), Error);
}

}  // namespace
}  // namespace bulkhead::arch
