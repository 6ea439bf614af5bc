// Figure 8 of Fractional GPUs: what threads that share a bank, or nothing but a memory module, do to each other.

#include "dissect/interference.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "arch/device_profile.h"
#include "dissect/set_check.h"
#include "subspaces.h"

namespace bulkhead::dissect {
namespace {

/// A GTX 1080 with other figures, and the hashes that dissect finds first.
struct Dissected {
    explicit Dissected(const std::vector<std::string>& settings = {})
        : gpu(open(settings)), probe(gpu), memory(gpu, ~Bytes{0}) {
        const arch::AddressMap::Roles map = gpu.profile()->map.roles();
        hashes = {sum(spanOf(map.slice), spanOf(map.bank)), sum(spanOf(map.slice), spanOf(map.set)),
                  bitRange(7, memory.addressBits()), static_cast<std::size_t>(gpu.profile()->l2.ways)};
    }
    static gpu::Gpu open(const std::vector<std::string>& settings) {
        gpu::SimulationOptions simulation;
        simulation.settings = settings;
        return gpu::Gpu::open("sim:gtx1080", simulation);
    }

    gpu::Gpu gpu;
    Probe probe;
    MemoryView memory;
    MemoryHashes hashes;
};

/// Cycles by case and number of threads.
class Figure8 {
  public:
    explicit Figure8(const std::vector<std::string>& settings = {}) {
        Dissected d(settings);
        Listener nobody;
        figure_ = interferenceByThreads(d.probe, d.memory, d.hashes, {1, 10, 30, 50}, nobody, 1);
        const arch::DeviceProfile& p = *d.gpu.profile();
        rowCycle =
            static_cast<double>((p.dram.tRAS + p.dram.tRP) * p.clock.coreMHz) / static_cast<double>(p.clock.memoryMHz);
    }
    double operator()(const std::string& name, std::int64_t threads) const {
        const auto column = std::ranges::find(figure_.columns, name, &Result::Column::name);
        const auto row =
            std::ranges::find_if(figure_.rows, [&](const auto& r) { return std::get<std::int64_t>(r[0]) == threads; });
        return std::get<double>(row->at(static_cast<std::size_t>(column - figure_.columns.begin())));
    }

    double rowCycle;  ///< core cycles that a bank needs from one row to the next

  private:
    Result figure_;
};

TEST(Figure8, EachThreadOfABankDelaysTheOthersByARowCycle) {
    const Figure8 cycles;
    for (const char* name : {"SCSB", "DCSB"}) {
        EXPECT_NEAR(cycles(name, 50) - cycles(name, 30), 20 * cycles.rowCycle, 0.05 * 20 * cycles.rowCycle) << name;
        // All 50 take turns.
        EXPECT_NEAR(cycles(name, 50), 50 * cycles.rowCycle, 0.05 * 50 * cycles.rowCycle) << name;
    }
}

// The paper's argument for coloring by module: a thread that shares no set and no bank with others waits all the same
// once their bank's queue is full, since a slice serves its requests in order.
TEST(Figure8, ThreadsOfOneModuleDelayEachOtherOnceABankIsFull) {
    const Figure8 cycles;
    for (const char* name : {"SCDB", "DCDB"}) {
        EXPECT_NEAR(cycles(name, 10), cycles(name, 1), 0.15 * cycles(name, 1)) << name;
        EXPECT_NEAR(cycles(name, 50) - cycles(name, 30), 20 * cycles.rowCycle, 0.05 * 20 * cycles.rowCycle) << name;
        EXPECT_LT(cycles(name, 50), cycles("SCSB", 50)) << name;
    }
}

TEST(Figure8, ThreadsOfAnotherModuleDelayNobody) {
    const Figure8 cycles;
    EXPECT_NEAR(cycles("DM", 50), cycles("DM", 1), 0.02 * cycles("DM", 1));
    EXPECT_NEAR(cycles("DM", 1), 458, 0.05 * 458);
    // "by a factor of more than 10x": 4534 / 458 in the figure.
    EXPECT_NEAR(cycles("SCSB", 50) / cycles("DM", 50), 9.9, 0.5);
}

TEST(Figure8, IsNearThePapersWhereThreadsWait) {
    const Figure8 cycles;
    // Read from the paper's figure.
    EXPECT_NEAR(cycles("SCSB", 50) / 4534, 1, 0.1);
    EXPECT_NEAR(cycles("DCSB", 50) / 4470, 1, 0.1);
    EXPECT_NEAR(cycles("SCDB", 50) / 3689, 1, 0.1);
    EXPECT_NEAR(cycles("DCDB", 50) / 3597, 1, 0.1);
    EXPECT_NEAR(cycles("SCSB", 30) / 2719, 1, 0.1);
    EXPECT_NEAR(cycles("DCDB", 30) / 1796, 1, 0.1);
}

// MSHRs, and ways of the set that they share, hold up the others as well.
TEST(Figure8, AModuleWithRoomForAllLetsOthersPass) {
    const Figure8 cycles({"dram.bankQueue=0", "l2.mshrs=1024", "l2.ways=64", "l2.bytes=8388608"});
    EXPECT_NEAR(cycles("DCDB", 50), cycles("DCDB", 1), 0.05 * cycles("DCDB", 1));
    EXPECT_NEAR(cycles("SCSB", 50), 50 * cycles.rowCycle, 0.05 * 50 * cycles.rowCycle);
}

// IV-C: 16 ways. A ring of 16 lines of one set misses once for each, one of 32 always, under LRU; 32 lines of different
// sets miss once each. Every ring is followed 16 times.
TEST(SetCheck, LinesOfOneSetMissOnceTheyAreMoreThanItsWays) {
    Dissected d;
    const Result r = missesBySet(d.probe, d.memory, d.hashes, 1);
    ASSERT_EQ(r.rows.size(), 3u);
    EXPECT_EQ(std::get<std::int64_t>(r.rows[0][2]), 16 * 16);
    EXPECT_EQ(std::get<std::int64_t>(r.rows[0][4]), 16);
    EXPECT_EQ(std::get<std::int64_t>(r.rows[1][2]), 16 * 32);
    EXPECT_EQ(std::get<std::int64_t>(r.rows[1][4]), 16 * 32);
    EXPECT_EQ(std::get<std::int64_t>(r.rows[2][2]), 16 * 32);
    EXPECT_EQ(std::get<std::int64_t>(r.rows[2][4]), 32);
}

// With functions of the set that are not the GPU's, lines "of one set" are of several.
TEST(SetCheck, AWrongHashShowsInTheMissRate) {
    Dissected d;
    Subspace fewer;
    for (std::size_t i = 0; i + 1 < d.hashes.set.basis().size(); ++i) fewer.add(d.hashes.set.basis()[i]);
    d.hashes.set = fewer;
    const Result r = missesBySet(d.probe, d.memory, d.hashes, 1);
    EXPECT_LT(std::get<double>(r.rows[1][5]), 90);
}

}  // namespace
}  // namespace bulkhead::dissect
