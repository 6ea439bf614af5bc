// Memory policies of simulated GPUs, told from hits, misses and latencies alone.

#include <gtest/gtest.h>

#include "arch/device_profile.h"
#include "dissect/basics.h"
#include "dissect/replacement.h"
#include "dissect/row_policy.h"
#include "perturbed.h"
#include "sim/mem/replacement_policy.h"

namespace bulkhead::dissect {
namespace {

/// A gtx1080 with an L2 of so many ways, whose map the test knows and dissect does not.
struct Bench {
    explicit Bench(const std::vector<std::string>& settings, int ways = 16, TimingFilter filter = {})
        : gpu(open(settings, ways)), probe(gpu, std::move(filter)), memory(gpu, 128_MiB), ways(ways) {
        cache.bytes = gpu.info().l2Bytes;
        cache.hitCycles = 216;  // of the profile
        cache.missCycles = 517;
    }
    static gpu::Gpu open(const std::vector<std::string>& settings, int ways) {
        gpu::SimulationOptions simulation;
        simulation.settings = settings;
        simulation.settings.push_back("l2.ways=" + std::to_string(ways));
        simulation.settings.push_back("l2.bytes=" + std::to_string(ways * 1024 * 128));
        return gpu::Gpu::open("sim:gtx1080", simulation);
    }
    std::uint64_t primary() const { return memory.base() + 1_MiB; }
    /// Whether a line shares the set of the primary.
    bool sharesSet(std::uint64_t line) const {
        const auto home = map.locate(memory.physical(primary())), where = map.locate(memory.physical(line));
        return where.slice == home.slice && where.set == home.set;
    }
    /// Lines behind it that do, or do not.
    std::vector<std::uint64_t> lines(std::size_t count, bool ofTheSet) const {
        std::vector<std::uint64_t> list;
        for (std::uint64_t at = primary() + 128; list.size() < count; at += 128)
            if (sharesSet(at) == ofTheSet) list.push_back(at);
        return list;
    }
    EvictionSet evictionSet(std::uint32_t rounds) const {
        return {primary(), lines(static_cast<std::size_t>(ways), true), 0, rounds};
    }

    gpu::Gpu gpu;
    Probe probe;
    MemoryView memory;
    ProbedCache cache;
    int ways;
    const arch::AddressMap map = arch::findProfile("gtx1080").map;
};

class EveryReplacement : public ::testing::TestWithParam<std::size_t> {
  protected:
    const sim::ReplacementChoice& choice() const { return sim::replacementPolicies()[GetParam()]; }
    std::vector<std::string> settings() const { return {"l2.replacement=" + std::string(choice().name)}; }
};

TEST_P(EveryReplacement, IsNamed) {
    for (const int ways : {4, 12}) {
        Bench bench(settings(), ways);
        const Replacement found = findReplacement(bench.probe, bench.memory, bench.cache, bench.evictionSet(64), {});
        EXPECT_EQ(found.policy, choice().title) << ways << " ways; " << found.evidence;
        EXPECT_EQ(found.evictedTogether, 128u);
    }
}

TEST_P(EveryReplacement, IsNamedAlthoughSomeTimingsAreWrong) {
    Bench bench(settings(), 16, perturbed(0.02, 5));
    EXPECT_EQ(findReplacement(bench.probe, bench.memory, bench.cache, bench.evictionSet(64), {}).policy,
              choice().title);
}

TEST_P(EveryReplacement, DoesNotHideHowManyWaysThereAre) {
    Bench bench(settings(), 8);
    // 32 lines of the set among four times as many others.
    std::vector<std::uint64_t> candidates = bench.lines(128, false);
    const std::vector<std::uint64_t> sharing = bench.lines(32, true);
    candidates.insert(candidates.end(), sharing.begin(), sharing.end());
    LineSource source;
    source.primary = [&](Random&) { return bench.primary(); };
    source.candidates = [&](std::uint64_t, std::size_t, Random& random) {
        for (std::size_t i = candidates.size(); i > 1; --i) std::swap(candidates[i - 1], candidates[random.below(i)]);
        return candidates;
    };
    source.first = source.most = candidates.size();
    SetProbe probe(bench.probe, bench.cache);
    const auto set = probe.find(source, 1, {});
    ASSERT_TRUE(set);
    EXPECT_EQ(set->lines.size(), 8u) << set->rounds << " rounds";
    for (const std::uint64_t line : set->lines) EXPECT_TRUE(bench.sharesSet(line));
}

INSTANTIATE_TEST_SUITE_P(Dissect, EveryReplacement, ::testing::Range(std::size_t{0}, sim::replacementPolicies().size()),
                         [](const auto& info) {
                             std::string name(sim::replacementPolicies()[info.param].name);
                             std::erase(name, '-');
                             return name;
                         });

/// The policy that the simulator has, as dissect names it.
std::string rowPolicy(const std::vector<std::string>& settings) {
    struct Kept final : Listener {
        void found(const Finding& finding) override {
            if (finding.name == "DRAM row policy") policy = std::get<std::string>(finding.value);
        }
        std::string policy = "nothing";
    } kept;
    Bench bench(settings);
    RowConflicts conflicts(bench.probe, bench.memory, bench.cache);
    if (!conflicts.calibrate(6000, 1)) return "no conflicts";
    // The map is linear: what two addresses of a bank differ by keeps others in one row, or does not.
    Rows rows;
    const auto home = bench.map.locate(0);
    for (arch::PhysicalAddress at = 128; rows.within.size() < 4 || rows.between.size() < 4; at += 128) {
        const auto where = bench.map.locate(at);
        if (where.slice == home.slice && where.bank == home.bank)
            (where.row == home.row ? rows.within : rows.between).push_back(at);
    }
    findRowPolicy(conflicts, rows, conflicts.split()->slow - conflicts.split()->usual, 1, kept);
    return kept.policy;
}

TEST(Dissect, RowPoliciesAreNamed) {
    EXPECT_EQ(rowPolicy({}), "open");
    EXPECT_EQ(rowPolicy({"dram.rowPolicy=closed"}), "closed");
    EXPECT_EQ(rowPolicy({"dram.rowPolicy=timeout", "dram.rowTimeout=400"}), "timeout");
    EXPECT_EQ(rowPolicy({"dram.rowPolicy=timeout", "dram.rowTimeout=2000"}), "timeout");
}

}  // namespace
}  // namespace bulkhead::dissect
