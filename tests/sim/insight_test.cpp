// Looking closely: what it sees is right, and nothing changes by it.

#include "sim/insight.h"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <random>
#include <set>

#include "harness.h"
#include "sim/observers.h"
#include "sim/timeline.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::repeat;

// Against a list in the order of last use, which says how far down a line lies.
TEST(ReuseDistances, areThoseOfAListInOrderOfLastUse) {
    std::mt19937 random(7);
    ReuseDistances reuse;
    std::list<std::uint64_t> order;
    for (int i = 0; i < 30'000; ++i) {
        const std::uint64_t line = (random() % 4 ? random() % 50 : random() % 700) * 128;
        std::uint64_t expected = 0;
        auto at = order.begin();
        while (at != order.end() && *at != line) ++at, ++expected;
        if (at == order.end()) {
            expected = ReuseDistances::kFirst;
        } else {
            order.erase(at);
        }
        order.push_front(line);
        ASSERT_EQ(reuse.use(line), expected) << i;
    }
}

TEST(SourceLines, areThoseOfTheLastLocBefore) {
    const std::string ptx =
        ".file 1 \"/home/a/one.cu\"\n.visible .entry k()\n{\n.loc 1 7 3\nadd.s32 %r1, %r1, 1;\n"
        ".loc\t2 19 5, function_name $L, inlined_at 1 8 1\nmul.lo.s32 %r1, %r1, 3;\n}\n"
        ".visible .entry other()\n{\nsub.s32 %r1, %r1, 1;\n}\n.file 2 \"two.h\"\n";
    EXPECT_EQ(sourceLine(ptx, ptx.find("add.s32")), "one.cu:7");
    EXPECT_EQ(sourceLine(ptx, ptx.find("mul.lo")), "two.h:19");
    EXPECT_EQ(sourceLine(ptx, ptx.find("sub.s32")), "");  // of another function
}

const Result& tableOf(const std::vector<Result>& results, const std::string& title) {
    for (const Result& r : results)
        if (r.title.starts_with(title)) return r;
    throw Error("no table {}", title);
}

double numberAt(const Result& r, std::size_t row, const std::string& name) {
    for (std::size_t c = 0; c < r.columns.size(); ++c) {
        if (r.columns[c].name != name) continue;
        const auto* whole = std::get_if<std::int64_t>(&r.rows.at(row)[c]);
        return whole ? static_cast<double>(*whole) : std::get<double>(r.rows.at(row)[c]);
    }
    throw Error("no column {}", name);
}

double sumOf(const Result& r, const std::string& name) {
    double sum = 0;
    for (std::size_t row = 0; row < r.rows.size(); ++row) sum += numberAt(r, row, name);
    return sum;
}

/// Warps that push each other out of L1D: each thread reads words of 256 KB at random.
std::string thrashing() {
    return kernelText(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.s32 %r5, %r2, 256, %r1; mov.u32 %r6, 0;\n"
        "loop: mad.lo.s32 %r5, %r5, 1664525, 1013904223; shr.u32 %r7, %r5, 12; and.b32 %r7, %r7, 65535;\n"
        "mul.wide.u32 %rd5, %r7, 4; add.s64 %rd5, %rd1, %rd5;\nld.global.u32 %r8, [%rd5];\nadd.s32 %r9, %r9, %r8;\n"
        "add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 20; @%p1 bra loop;\n");
}

struct Looked {
    Cycles cycles = 0;
    Counters counters;
    std::vector<Result> results;
    std::string trace;
};

Looked look(const std::string& scheduler, bool closely) {
    const std::vector<std::string> settings = {"sm.count=2",           "ciao.highEpoch=64",
                                               "ciao.lowEpoch=64",     "ciao.highCutoff=0.002",
                                               "ciao.lowCutoff=0.002", "ciao.trial=400"};
    Insight insight(test::profileWith("gtx480", settings));
    Timeline timeline(1, 500);
    Observers both;
    both.add(insight);
    both.add(timeline);
    Machine::Options options;
    options.scheduler = scheduler;
    options.observer = closely ? &both : nullptr;
    Harness h("gtx480", settings, options);
    const LaunchId launch = h.run(thrashing(), {{6}, {256}}, {h.buffer(256_KiB)});
    const LaunchRecord& record = h.gpu.record(launch);
    if (record.error) throw *record.error;
    return {record.ended - record.started, h.gpu.counters(launch), insight.results(), timeline.json()};
}

TEST(Insight, changesNothing) {
    for (const char* scheduler : {"gto", "ciao-c", "ccws", "ciao-a"})
        EXPECT_EQ(look(scheduler, true).cycles, look(scheduler, false).cycles) << scheduler;
}

TEST(Insight, addsUpToWhatWasCounted) {
    const Looked run = look("ciao-c", true);
    const Counters& c = run.counters;
    const Result& costs = tableOf(run.results, "cost by line of PTX");
    EXPECT_EQ(sumOf(costs, "executions"), static_cast<double>(c.warpInstructions));
    // Warps of 6 blocks x 8, each from its start to its last instruction.
    EXPECT_LE(sumOf(costs, "warps waited"), static_cast<double>(c.warpCycles));
    EXPECT_GE(sumOf(costs, "warps waited"), 0.9 * static_cast<double>(c.warpCycles));
    // Warps wait for a place at LD/ST, and at the sum for data.
    double memory = 0;
    for (std::size_t row = 0; row < costs.rows.size(); ++row) {
        const auto& text = std::get<std::string>(costs.rows[row][3]);
        if (text.starts_with("ld.global") || text.starts_with("add.s32 %r9")) memory += numberAt(costs, row, "share");
    }
    EXPECT_GT(memory, 80);

    const Result& latencies = tableOf(run.results, "latencies of loads");
    EXPECT_EQ(sumOf(latencies, "loads"), 20 * 6 * 8);  // rounds, blocks, warps
    const Result& reuse = tableOf(run.results, "reuse distances");
    const double first = std::stod(reuse.title.substr(reuse.title.find(": ") + 2));
    EXPECT_EQ(sumOf(reuse, "uses") + first, static_cast<double>(c.l1Hits + c.l1Misses + c.sharedCacheHits +
                                                                c.sharedCacheMisses + c.movedToL1 + c.movedToShared));
}

TEST(Insight, hasTheDecisionsOfCiaoAndNoneOfGto) {
    const Looked ciao = look("ciao-c", true), gto = look("gto", true);
    const Result& decided = tableOf(ciao.results, "decisions");
    std::map<std::string, int> counts;
    for (const auto& row : decided.rows) ++counts[std::get<std::string>(row[2])];
    EXPECT_GT(counts["isolated"], 0);
    EXPECT_GT(counts["stalled"], 0);
    // Nobody comes back who did not go.
    EXPECT_LE(counts["redirected back"], counts["isolated"]);
    EXPECT_LE(counts["reactivated"], counts["stalled"]);
    EXPECT_TRUE(tableOf(gto.results, "decisions").rows.empty());
}

// Memories are pooled before any limit is tried. A limit is that of Best-SWL's profiling, one more step of it or none
// (two schedulers), and one that is kept was tried before.
TEST(Insight, hasTheStepsOfTheAdaptiveScheduler) {
    const Looked run = look("ciao-a", true);
    const Result& decided = tableOf(run.results, "decisions");
    const std::set<std::int64_t> ladder = {2, 4, 6, 8, 12, 16, 24, 32};
    std::map<std::int64_t, std::set<std::int64_t>> triedBySm;
    std::map<std::int64_t, bool> pooled;
    int kept = 0;
    for (const auto& row : decided.rows) {
        const auto sm = std::get<std::int64_t>(row[1]);
        const auto& step = std::get<std::string>(row[2]);
        const auto* limit = std::get_if<std::int64_t>(&row[5]);
        EXPECT_TRUE(std::holds_alternative<std::monostate>(row[3])) << "about all warps, not one";
        if (step == "memories pooled") {
            EXPECT_FALSE(pooled[sm]);
            pooled[sm] = true;
            continue;
        }
        EXPECT_TRUE(pooled[sm]) << step;
        EXPECT_TRUE(!limit || ladder.contains(*limit)) << step;
        if (step == "limit tried" && limit) triedBySm[sm].insert(*limit);
        if (step != "limit kept") continue;
        ++kept;
        EXPECT_TRUE(!limit || triedBySm[sm].contains(*limit)) << step;
    }
    EXPECT_EQ(pooled.size(), 2u);  // SMs
    EXPECT_GT(kept, 0);
    EXPECT_NE(run.trace.find("\"memories pooled\""), std::string::npos);
    EXPECT_NE(run.trace.find("\"limit tried: "), std::string::npos);
}

TEST(Insight, seesWhoInterferesAndStallsOverTime) {
    const Looked run = look("gto", true);
    EXPECT_GT(sumOf(tableOf(run.results, "interference"), "VTA hits"), 0);
    const Result& time = tableOf(run.results, "over time");
    ASSERT_GT(time.rows.size(), 2u);
    // %: it does little but wait for data and for LD/ST, whose lines come one by one.
    EXPECT_GT(numberAt(time, 1, "stalled: memory") + numberAt(time, 1, "stalled: unit"), 50);
    EXPECT_LT(numberAt(time, 1, "L1D hit rate"), 0.5);
}

TEST(Timeline, hasStallsAndDecisions) {
    const std::string trace = look("ciao-c", true).trace;
    EXPECT_NE(trace.find("stalled: memory"), std::string::npos);
    EXPECT_NE(trace.find(" isolated\""), std::string::npos);
    EXPECT_NE(trace.find("for warp"), std::string::npos);
}

}  // namespace
}  // namespace bulkhead::sim
