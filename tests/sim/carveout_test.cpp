// L1D and shared memory in one array (Volta and later): how it is divided, and what is left for a cache in unused
// shared memory (CIAO IV-B).

#include <gtest/gtest.h>

#include "harness.h"
#include "sim/occupancy.h"
#include "sim/sm/shared_cache.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;

constexpr std::uint32_t kKiB = 1024;

/// The division of a V100's 128 KB for blocks of 128 threads with that much shared memory each.
OnChipDivision divided(const std::vector<std::string>& settings, std::uint32_t sharedPerBlock, std::uint32_t* blocks,
                       int percent = kNoCarveout) {
    Harness h("v100", settings);
    const LoadedModule module = h.gpu.load(h.context, ptx::parse(kernelText(""), "test.ptx"));
    const Occupancy o = occupancyOf(test::profileWith("v100", settings), *module.program->kernel("k"), {128, 1, 1},
                                    sharedPerBlock, percent);
    if (blocks) *blocks = o.blocksPerSm;
    return o.onChip;
}

TEST(Carveout, isWhatBlocksNeedUnlessSomeoneAsks) {
    std::uint32_t blocks = 0;
    OnChipDivision d = divided({}, 0, &blocks);
    EXPECT_EQ(d.sharedBytes, 0u);
    EXPECT_EQ(d.l1Bytes, 128 * kKiB);
    d = divided({}, 8 * kKiB, &blocks);
    EXPECT_EQ(blocks, 12u);  // 96 KB
    EXPECT_EQ(d.l1Bytes, 32 * kKiB);
    EXPECT_FALSE(d.preferred);
}

TEST(Carveout, thatIsPreferredIsTakenFromL1) {
    const OnChipDivision d = divided({"sm.carveout=40960"}, 0, nullptr);
    EXPECT_EQ(d.sharedBytes, 64 * kKiB);  // the next one that there is
    EXPECT_EQ(d.l1Bytes, 64 * kKiB);
}

TEST(Carveout, thatIsSmallLimitsTheBlocksAndLeavesMoreToL1) {
    std::uint32_t blocks = 0;
    EXPECT_EQ(divided({"sm.carveout=16384"}, 8 * kKiB, &blocks).l1Bytes, 112 * kKiB);
    EXPECT_EQ(blocks, 2u);
    // One block must fit.
    EXPECT_EQ(divided({"sm.carveout=0"}, 20 * kKiB, &blocks).l1Bytes, 96 * kKiB);
    EXPECT_EQ(blocks, 1u);
}

TEST(Carveout, ofALaunchIsAPercentageOfTheLargest) {
    EXPECT_EQ(divided({}, 0, nullptr, 50).sharedBytes, 64 * kKiB);  // 48 of 96 KB
    EXPECT_EQ(divided({}, 0, nullptr, 100).sharedBytes, 96 * kKiB);
    EXPECT_EQ(divided({"sm.carveout=8192"}, 0, nullptr, 100).sharedBytes, 8 * kKiB);  // the setting is no hint
}

TEST(Carveout, isRefusedWhereThereIsNone) {
    EXPECT_THROW(test::profileWith("gtx1080", {"sm.carveout=0"}), Error);
    EXPECT_THROW(test::profileWith("v100", {"sm.carveout=98305"}), Error);
}

// No more blocks are on the SM at a time than the carve-out holds, however many would fit the largest one.
TEST(Carveout, isAllThatBlocksHave) {
    const std::string sleeps = kernelText("nanosleep.u32 1000;");
    const auto time = [&](const std::string& carveout) {
        Harness h("v100", {"sm.count=1", "sm.carveout=" + carveout});
        return h.cycles(sleeps, {{8, 1, 1}, {32, 1, 1}, 8 * kKiB});
    };
    const double one = static_cast<double>(time("8192")), two = static_cast<double>(time("16384")),
                 all = static_cast<double>(time("65536"));
    EXPECT_NEAR(one / all, 8, 0.8);
    EXPECT_NEAR(two / all, 4, 0.4);
}

// Another launch with another division waits for an empty SM, and then has its own.
TEST(Carveout, changesOnceTheSmIsEmpty) {
    const std::string sleeps = kernelText("nanosleep.u32 1000;");
    Harness h("v100", {"sm.count=1", "sm.carveout=8192"});
    const StreamId other = h.newStream(h.context);
    const LaunchId small = h.start(sleeps, {{4, 1, 1}, {32, 1, 1}, 8 * kKiB});
    const LaunchId large = h.start(sleeps, {{2, 1, 1}, {32, 1, 1}, 60 * kKiB}, {}, other);
    h.finishAll();
    EXPECT_EQ(h.gpu.record(small).state, LaunchRecord::State::done);
    EXPECT_EQ(h.gpu.record(large).state, LaunchRecord::State::done);
    EXPECT_GE(h.gpu.record(large).ended, h.gpu.record(small).ended);
}

/// Remembers the largest cache that an SM had in its shared memory.
struct Capacity final : Observer {
    Cycles sampleInterval() const override { return 100; }
    void sampleSm(Cycles, std::uint32_t, const SmSample& sample) override {
        most = std::max(most, sample.sharedCacheCapacity);
    }
    std::uint32_t most = 0;
};

std::uint32_t cacheOf(const std::string& gpu, const std::vector<std::string>& settings, std::uint32_t shared = 0) {
    Capacity seen;
    Machine::Options options;
    options.scheduler = "ciao-c";
    options.observer = &seen;
    Harness h(gpu, settings, options);
    h.run(kernelText("nanosleep.u32 1000;"), {{1, 1, 1}, {32, 1, 1}, shared});
    return seen.most;
}

TEST(Carveout, unusedSharedMemoryIsOfTheCarveoutOnly) {
    EXPECT_EQ(cacheOf("v100", {}), 0u);                            // all of it is L1D's
    EXPECT_EQ(cacheOf("v100", {"sm.carveout=65536"}), 32 * kKiB);  // a power of two, and its tags
    EXPECT_EQ(cacheOf("v100", {"sm.carveout=98304"}), 64 * kKiB);
    EXPECT_EQ(cacheOf("v100", {"sm.carveout=65536"}, 48 * kKiB), 8 * kKiB);  // of the 16 KB that the block leaves
    EXPECT_EQ(cacheOf("gtx480", {}), 32 * kKiB);                             // always carved out there
}

TEST(Ineffective, schedulersSaySo) {
    const auto why = [](const std::string& gpu, const std::string& scheduler, std::vector<std::string> settings = {}) {
        return whyIneffective(test::profileWith(gpu, settings), scheduler);
    };
    EXPECT_EQ(why("gtx480", "ciao-c"), "");
    EXPECT_NE(why("gtx1080", "ciao-p").find("does not cache global loads"), std::string::npos);
    EXPECT_NE(why("gtx1080", "ccws").find("does not cache global loads"), std::string::npos);
    EXPECT_EQ(why("gtx1080", "best-swl:4"), "");
    EXPECT_EQ(why("gtx1080", "gto"), "");
    EXPECT_NE(why("h200", "ciao-p").find("sm.carveout"), std::string::npos);
    EXPECT_EQ(why("h200", "ciao-p", {"sm.carveout=32768"}), "");
    EXPECT_EQ(why("h200", "ciao-t"), "");
}

}  // namespace
}  // namespace bulkhead::sim
