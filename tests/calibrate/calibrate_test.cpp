#include "calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "arch/parameter_table.h"
#include "base/error.h"
#include "base/random.h"
#include "calibrate/chase.h"
#include "calibrate/overlay.h"
#include "random_profiles.h"
#include "temporary_directory.h"

namespace bulkhead::calibrate {
namespace {

/// How near a measured parameter must come to the profile's own.
struct Tolerance {
    const char* key;
    double share;   ///< of the value
    double cycles;  ///< or so much, whichever is more
};

// Chains are exact, as the simulator is: whatever else a round does is the same with more of them. Where many warps
// compete, the last ones end alone, which costs up to a few per cent of the time that was meant to be of full use.
constexpr Tolerance kTolerances[] = {
    {"op.control.interval", 0.05, 0.5},
    {"launch.latency", 0, 8},  // the block's own start and end
    {"launch.blockInterval", 0.02, 0},
    {"interval", 0.02, 0.4},
    // A request waits for the next edge of another clock, which may come at once.
    {"l2.hitLatency", 0, 2},
    {"dram.latency", 0, 4},
    {"l2.atomicInterval", 0.1, 0.3},
    {"clock.l2MHz", 0.08, 0},        // slices are not used evenly
    {"clock.coreMHz", 0, 0.5},       // nanoseconds are whole
    {"sharing.quantumUs", 0.02, 2},  // a look at the time takes microseconds
    {"sharing.switchUs", 0.02, 3},
    {"l1.mshrs", 0, 1},
    {"l1.tagsPerCycle", 0.1, 0},
    {"hostLink.mbPerS", 1e-4, 0},
};

double allowed(const std::string& key, double own) {
    for (const Tolerance& t : kTolerances)
        if (key.ends_with(t.key)) return std::max(t.share * own, t.cycles);
    return 0.05;  // exact, but for the last digit of a quotient
}

struct Case {
    TemporaryDirectory directory;
    arch::DeviceProfile own, base;
    Calibration found;

    Case(std::uint64_t structure, std::uint64_t seed, Options options = {})
        : own(randomProfile(structure, seed)), base(randomProfile(structure, seed + 1000)) {
        gpu::Gpu gpu = gpu::Gpu::open(writtenProfile(own, (directory / "own.json").string()));
        writtenProfile(base, (directory / "base.json").string());
        options.base = (directory / "base.json").string();
        Listener silent;
        found = calibrate(gpu, options, silent);
    }
};

void expectOwnFigures(const Case& c) {
    for (const Figure& f : c.found.figures) {
        if (f.key.empty()) continue;
        const arch::Descriptor& d = *arch::findParameter(f.key);
        EXPECT_EQ(f.refused, "") << f.key;
        if (!f.text.empty()) {
            EXPECT_EQ(f.text, arch::asText(d, c.own)) << f.key;
            continue;
        }
        const double own =
            d.kind == arch::Descriptor::Kind::decimal ? arch::inUnits(d.get(c.own)) : static_cast<double>(d.get(c.own));
        EXPECT_NEAR(f.value, own, allowed(f.key, own)) << f.key << " of " << c.own.name << ", " << f.note;
    }
    for (const Undecided& u : c.found.undecided) ADD_FAILURE() << u.measurement << ": " << u.why;
}

/// A figure that profiles have no parameter for.
double other(const Calibration& c, const std::string& name) {
    for (const Figure& f : c.figures)
        if (f.name == name) return f.value;
    throw Error("no figure {}", name);
}

class RandomProfiles : public testing::TestWithParam<int> {};

TEST_P(RandomProfiles, OperationsAndLaunchesAreGivenBack) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    Options options;
    options.only = {"attributes", "clock", "launches", "operations", "branches"};
    expectOwnFigures(Case(seed, seed, options));
}

TEST_P(RandomProfiles, CachesAreGivenBack) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    Options options;
    options.only = {"shared-memory", "l1", "constant-cache"};
    expectOwnFigures(Case(seed, seed, options));
}

TEST_P(RandomProfiles, InstructionCacheIsGivenBack) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    Options options;
    options.only = {"instruction-cache"};
    const Case c(seed, seed, options);
    expectOwnFigures(c);
    // A line comes from L2, as what a load asks for. While it comes, the chain's last instruction ends, for which the
    // next one would have waited anyhow.
    const double miss = other(c.found, "miss of the instruction cache");
    const auto latency = static_cast<double>(c.own.l2.hitLatency);
    EXPECT_LT(miss, latency + 4);
    EXPECT_GT(miss, latency - static_cast<double>(c.own.latency[static_cast<int>(arch::OpClass::integer)]) - 4);
}

TEST_P(RandomProfiles, MemoryIsGivenBack) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    Options options;
    options.only = {"attributes",     "clock",   "l2-latency", "l2-shape", "l2-sides",  "l2-bandwidth",
                    "dram-bandwidth", "atomics", "misses",     "copies",   "time-slice"};
    const Case c(seed, seed, options);
    expectOwnFigures(c);
    EXPECT_EQ(other(c.found, "bytes that a miss of L2 fetches"), c.own.l2.sectorBytes);
    EXPECT_NEAR(other(c.found, "L2 capacity by footprint") * 0x1p20, c.own.l2.bytes, 0.05 * c.own.l2.bytes);
    EXPECT_NEAR(other(c.found, "DRAM read bandwidth"), c.own.dramGBps(), 0.1 * c.own.dramGBps());
    // A slice is done with a sector at a time, and its ports move at least as much.
    const double perSector = static_cast<double>(c.own.l2.atomicInterval) * static_cast<double>(c.own.clock.coreMHz) /
                             static_cast<double>(c.own.clock.l2MHz);
    EXPECT_NEAR(other(c.found, "atomic add, float, same address, reduces"), perSector, 0.1 * perSector + 0.2);
}

TEST(Calibrate, TellsWhatGreenContextsHaveAndWhoRunsBesideWhom) {
    // How the driver API documents it by compute capability: SMs that a share has at least, and by which it grows.
    struct {
        const char* gpu;
        double least, step;
    } const cases[] = {{"sim:gtx1080", 1, 1}, {"sim:v100", 2, 2}, {"sim:h200", 8, 8}};
    for (const auto& c : cases) {
        gpu::Gpu gpu = gpu::Gpu::open(c.gpu);
        Options options;
        options.only = {"sharing"};
        Listener silent;
        const Calibration found = calibrate(gpu, options, silent);
        EXPECT_EQ(other(found, "smallest green context"), c.least) << c.gpu;
        EXPECT_EQ(other(found, "the next larger one has more"), c.step) << c.gpu;
        EXPECT_GT(other(found, "kernels of two green contexts at the same time"), 80) << c.gpu;
        EXPECT_GT(other(found, "kernels of two contexts under MPS at the same time"), 80) << c.gpu;
        // They take turns.
        EXPECT_EQ(other(found, "kernels of two contexts at the same time"), 0) << c.gpu;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProfiles, testing::Range(1, 7));

/// Every time up to half a per cent longer, and one of five by half.
NoiseFilter busyNeighbour() {
    return [random = Random(5)](std::vector<double>& times) mutable {
        for (double& t : times) t *= 1 + 0.005 * random.uniform();
        times[random.below(times.size())] *= 1.5;
    };
}

TEST(Calibrate, NoiseMovesFiguresByLittle) {
    Options options;
    options.noise = busyNeighbour();
    options.only = {"attributes", "operations", "shared-memory", "l1", "constant-cache"};
    const Case c(3, 3, options);
    for (const Figure& f : c.found.figures) {
        if (f.key.empty() || !f.text.empty()) continue;
        const auto own = static_cast<double>(arch::findParameter(f.key)->get(c.own));
        EXPECT_NEAR(f.value, own, std::max(1.0, 0.04 * own)) << f.key;
    }
    EXPECT_EQ(c.found.profile.shared.banks, c.own.shared.banks);
    EXPECT_EQ(c.found.profile.constant.lineBytes, c.own.constant.lineBytes);
    EXPECT_EQ(c.found.profile.l1.sectorBytes, c.own.l1.sectorBytes);
}

TEST(Calibrate, AFigureSaysWhereItComesFromAndTheRestKeepsItsSource) {
    Options options;
    options.only = {"clock"};
    const Case c(1, 1, options);
    const auto& from = c.found.profile.provenance;
    EXPECT_TRUE(from.at("clock.coreMHz").starts_with("measured: bulkhead calibrate, clock, on sim:random1, driver"))
        << from.at("clock.coreMHz");
    EXPECT_EQ(from.at("dram.tRCD"), c.base.provenance.at("dram.tRCD"));
    EXPECT_EQ(c.found.profile.clock.coreMHz, c.own.clock.coreMHz);
    EXPECT_EQ(c.found.profile.launch.latency, c.base.launch.latency);
}

TEST(Calibrate, WhatAProfileCannotHaveIsLeftOutAndSaysWhy) {
    arch::DeviceProfile p = arch::findProfile("v100");
    std::vector<Figure> figures(2);
    figures[0].key = "l1.bytes";  // L1D and shared memory divide 128 KB
    figures[0].value = 122880;
    figures[1].key = "l1.hitLatency";
    figures[1].value = 33.2;
    for (Figure& f : figures) f.measurement = "l1";
    overlay(p, figures, "a GPU");
    EXPECT_EQ(p.l1.bytes, 131072);
    EXPECT_NE(figures[0].refused.find("sm.onChipBytes"), std::string::npos) << figures[0].refused;
    EXPECT_EQ(figures[0].written, "");
    EXPECT_EQ(p.l1.hitLatency, 33);
    EXPECT_EQ(figures[1].written, "33");
    EXPECT_EQ(figures[1].was, "28");
}

TEST(Calibrate, FiguresThatNeedEachOtherGoInTogether) {
    arch::DeviceProfile p = arch::findProfile("v100");
    std::vector<Figure> figures(3);
    figures[0].key = "l2.hitLatency";  // more than the base's DRAM takes
    figures[0].value = 600;
    figures[1].key = "dram.latency";
    figures[1].value = 900;
    figures[2].key = "sm.sharedBytes";  // no carve-out of the base
    figures[2].value = 1000;
    for (Figure& f : figures) f.measurement = "l2-latency";
    overlay(p, figures, "a GPU");
    EXPECT_EQ(p.l2.hitLatency, 600);
    EXPECT_EQ(p.dram.latency, 900);
    EXPECT_EQ(p.sm.sharedBytes, 98304);
}

TEST(Calibrate, AnswersWithWhatDiffersMost) {
    Calibration c;
    c.base = "h200";
    const auto add = [&c](const char* key, double value, const char* was, const char* written) {
        Figure f;
        f.key = key, f.value = value, f.was = was, f.written = written;
        c.figures.push_back(f);
    };
    add("sm.count", 132, "132", "132");
    add("l2.hitLatency", 308, "280", "308");  // a tenth more
    add("op.fp64.interval", 1, "4", "1");     // three quarters less
    add("launch.blockInterval", 1.19, "1.190", "1.19");
    add("l2.bytes", 62914560, "1", "");  // measured, and not written
    const Result table = figureTable(c);
    EXPECT_EQ(table.answer, "In 2 of 4 that were measured, most in op.fp64.interval: 1, not 4.");
    std::vector<Value> keys;
    for (const auto& row : table.rows) keys.push_back(row[0]);
    EXPECT_EQ(keys, (std::vector<Value>{"op.fp64.interval", "l2.hitLatency", "sm.count", "launch.blockInterval",
                                        "l2.bytes"}));
    EXPECT_EQ(table.rows[4][2], Value("62914560"));
}

TEST(Calibrate, StartsFromTheNearestComputeCapability) {
    gpu::DeviceInfo info;
    info.computeMajor = 9;
    info.sms = 114;
    EXPECT_EQ(nearestProfile(info).name, "h200");
    info.computeMajor = 6;
    info.computeMinor = 1;
    info.sms = 20;
    EXPECT_EQ(nearestProfile(info).name, "gtx1080");
    info.computeMajor = 7;
    info.computeMinor = 5;
    EXPECT_EQ(nearestProfile(info).name, "v100");
}

TEST(Calibrate, RefusesWhatItDoesNotKnow) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:tx2");
    Listener silent;
    Options options;
    options.only = {"clocks"};
    EXPECT_THROW(calibrate(gpu, options, silent), Error);
    options.only = {"clock"};
    options.base = "no-such-gpu";
    EXPECT_THROW(calibrate(gpu, options, silent), Error);
}

TEST(LargestFitting, IsTheLastThatFits) {
    for (const std::size_t last : {1u, 2u, 7u, 8u, 9u, 31u, 32u, 33u, 100u})
        EXPECT_EQ(largestFitting(1, 100, [&](std::size_t n) { return n <= last; }), last);
    EXPECT_EQ(largestFitting(4, 100, [](std::size_t) { return false; }), 0u);
}

}  // namespace
}  // namespace bulkhead::calibrate
