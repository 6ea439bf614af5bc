#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/files.h"
#include "dissect/dissect.h"
#include "hidden_maps.h"
#include "perturbed.h"
#include "subspaces.h"
#include "temporary_directory.h"

namespace bulkhead::dissect {
namespace {

struct Spans {
    Subspace module, bank, set;  ///< bank and set with the module's functions
    bool operator==(const Spans&) const = default;
};

Spans spansOf(const arch::AddressMap& map) {
    const auto& r = map.roles();
    return {spanOf(r.slice), sum(spanOf(r.slice), spanOf(r.bank)), sum(spanOf(r.slice), spanOf(r.set))};
}

const Finding& finding(const Dissection& d, const std::string& name) {
    const auto found =
        std::find_if(d.findings.begin(), d.findings.end(), [&](const Finding& f) { return f.name == name; });
    if (found == d.findings.end()) throw Error("no finding {}", name);
    return *found;
}

std::int64_t number(const Dissection& d, const std::string& name) {
    return std::get<std::int64_t>(finding(d, name).value);
}

Dissection run(const std::string& name, Options options, const std::vector<std::string>& settings = {}) {
    gpu::SimulationOptions simulation;
    simulation.settings = settings;
    gpu::Gpu gpu = gpu::Gpu::open(name, simulation);
    Listener silent;
    return dissect(gpu, options, silent);
}

Options quick(std::uint64_t seed) {
    Options options;
    options.seed = seed;
    options.figures = false;
    return options;
}

TEST(Dissect, Gtx1080sHashesAreFoundExactlyWithScatteredPagesAndPerturbedTimings) {
    Options options = quick(7);
    options.filter = perturbed(0.02, 3);
    const Dissection d = run("sim:gtx1080", options, {"memory.placement=scattered", "memory.pageBytes=64K"});
    ASSERT_TRUE(d.file);
    EXPECT_EQ(spansOf(d.file->map), spansOf(arch::findProfile("sim:gtx1080").map));
}

TEST(Dissect, PropertiesOfGtx1080AreThoseOfAppendixB) {
    const Dissection d = run("sim:gtx1080", quick(1));
    EXPECT_EQ(number(d, "L2 line"), 128);
    EXPECT_EQ(number(d, "L2 sector"), 32);
    EXPECT_EQ(number(d, "L2 ways"), 16);
    EXPECT_EQ(number(d, "L2 sets"), 1024);
    EXPECT_EQ(number(d, "DRAM banks"), 128);
    EXPECT_EQ(number(d, "DRAM row"), 2048);
    EXPECT_EQ(number(d, "memory modules"), 8);
    EXPECT_EQ(std::get<std::string>(finding(d, "L2 replacement").value), "LRU");
    EXPECT_EQ(std::get<std::string>(finding(d, "DRAM row policy").value), "open");
    EXPECT_NEAR(std::get<double>(finding(d, "L2 capacity").value), 2, 0.2);
    EXPECT_FALSE(std::get<bool>(finding(d, "prefetch").value));
    EXPECT_EQ(std::get<std::string>(finding(d, "colors by page size").value), "1 K: 8, 2 K: 4, 4 K: 2");
}

TEST(Dissect, ReplacementIsNamedWhereItIsNotLru) {
    const Dissection d = run("sim:gtx1080", quick(1), {"l2.replacement=tree-plru", "l2.ways=8", "l2.bytes=1M"});
    EXPECT_EQ(number(d, "L2 ways"), 8);
    EXPECT_EQ(number(d, "L2 line"), 128);
    EXPECT_EQ(std::get<std::string>(finding(d, "L2 replacement").value), "tree-PLRU");
}

TEST(Dissect, ASetHashThatIsNoXorStaysUndecided) {
    const Dissection d = run("sim:tx2", quick(1));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(finding(d, "L2 sets").value));
    EXPECT_EQ(number(d, "L2 ways"), 16);
    // 512 KB of 128 B lines in 16 ways are 256 sets.
    EXPECT_NEAR(std::get<double>(finding(d, "L2 sets (estimate)").value), 256, 80);
    EXPECT_EQ(std::get<std::string>(finding(d, "L2 set use by contiguous memory").value), "random");
    ASSERT_TRUE(d.file);
    EXPECT_TRUE(d.file->map.roles().set.empty());
    // The banks of both slices are found all the same.
    const Spans hidden = spansOf(arch::findProfile("sim:tx2").map);
    EXPECT_EQ(spansOf(d.file->map).bank, hidden.bank);
}

/// All that is done on a real GPU, and then what another process does with the map.
TEST(Dissect, SlicesWithoutAFormAreMappedByATableWherePhysicalAddressesAreUnknown) {
    const TemporaryDirectory directory;
    const std::string name = writeTableMap((directory / "table.json").string(), 5, 1);
    Options options = quick(1);
    options.usePhysical = false;
    const Dissection d = run(name, options);
    ASSERT_TRUE(d.file);
    EXPECT_EQ(number(d, "L2 slices"), 10);
    EXPECT_EQ(number(d, "L2 ways"), 4);
    EXPECT_NEAR(std::get<double>(finding(d, "L2 sets per slice").value), 32, 8);
    // All bits that choose the set are offset bits.
    EXPECT_EQ(std::get<std::string>(finding(d, "set within a slice").value), "7, 8, 9, 10, 18");
    EXPECT_EQ(std::get<double>(finding(d, "correct slices").value), 100);

    const auto path = directory / "map.json";
    writeFile(path, toJson(*d.file).dump());
    gpu::Gpu other = gpu::Gpu::open(name);
    options.seed = 2;
    Listener silent;
    const Verification v = verify(other, readMapFile(path), options, silent);
    EXPECT_GE(v.side, 0.99);
    EXPECT_GE(v.slice, 0.99);
}

TEST(Probe, ThreadsThatWaitForEachOtherAllHaveAPlace) {
    // 15 SMs of 8 blocks; the first one has the primary thread alone.
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx480");
    Probe probe(gpu, {});
    ASSERT_EQ(probe.mostInterfering(), 1u + 14 * 8);
    auto ring = gpu.context().array<std::uint64_t>(1);
    ring.upload(std::vector{ring.address()});
    std::vector<std::uint64_t> starts(1 + 14 * 8, ring.address());
    EXPECT_GT(probe.timeInterference(starts, 64), probe.timeInterference(std::span(starts).first(1), 64));
    starts.push_back(ring.address());
    EXPECT_THROW(probe.timeInterference(starts, 64), Error);
    EXPECT_GT(probe.timeInterference(std::span(starts).first(2), 64), 0);  // its context has not failed
}

TEST(Dissect, SlicesInThreesAreFoundWhereFewBlocksFitASm) {
    const Dissection d = run("sim:gtx480", quick(1));
    EXPECT_EQ(number(d, "L2 slices"), 12);
    EXPECT_EQ(number(d, "L2 ways"), 8);
}

TEST(Dissect, TimingsThatAreNoiseAloneAreRefused) {
    Options options = quick(1);
    const auto random = std::make_shared<Random>(1);
    options.filter = [random](Times& times) {
        for (std::uint32_t& t : times) t = 400 + static_cast<std::uint32_t>(random->below(400));
    };
    EXPECT_THROW(run("sim:gtx1080", options), Error);
}

TEST(MapFile, SurvivesWritingAndReading) {
    MapFile file;
    file.map = arch::findProfile("sim:gtx1080").map;
    file.gpu = "a GPU";
    file.uuid = "GPU-1";
    file.physical = true;
    file.confidence = 0.75;
    const TemporaryDirectory directory;
    const auto path = directory / "map.json";
    writeFile(path, toJson(file).dump());
    const MapFile again = readMapFile(path);
    EXPECT_EQ(again.map.roles(), file.map.roles());
    EXPECT_EQ(again.gpu, file.gpu);
    EXPECT_EQ(again.uuid, file.uuid);
    EXPECT_EQ(again.confidence, file.confidence);
    EXPECT_TRUE(again.physical);
}

TEST(MapFile, OtherFilesAreRefused) {
    const TemporaryDirectory directory;
    const auto path = directory / "other.json";
    writeFile(path, R"({"schema": "bulkhead.map/2"})");
    EXPECT_THROW(readMapFile(path), Error);
    writeFile(path, "not json");
    EXPECT_THROW(readMapFile(path), Error);
    EXPECT_THROW(readMapFile(directory / "missing.json"), Error);
}

}  // namespace
}  // namespace bulkhead::dissect
