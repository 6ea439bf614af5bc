// What the example aggressor and the example way of sharing of docs/extending.md do, once they are in the tables.
// docs.extending builds it with them.

#include <gtest/gtest.h>

#include "corun/pair_spec.h"
#include "corun/pairs.h"

namespace bulkhead::corun {
namespace {

Pair measure(const CoRunSpec& spec) {
    const std::unique_ptr<CoRun> coRun = makeCoRun(spec);
    const Pairing pairing = measurePairs(coRun->actor(kVictim), coRun->actor(kAggressor), 1);
    if (pairing.pairs.empty()) throw Error("no pair: {}", pairing.why);
    return pairing.pairs.front();
}

/// Beside an aggressor, on a small GPU.
Pair beside(const std::string& aggressor, const std::string& victim, bool cold) {
    PairSpec spec;
    spec.victim.name = victim;
    spec.victim.accesses = 2048;
    spec.victim.cold = cold;
    spec.aggressor.kind = aggressor;
    return measure(coRunOf(spec));
}

TEST(ExtendedCoRun, RowConflictsClosesTheRowsThatAVictimReadsInOrder) {
    const Pair pair = beside("row-conflicts", "sequential", true);
    const auto hits = [](const sim::Counters& counters) {
        return static_cast<double>(counters.dramRowHits) / static_cast<double>(counters.dramReads);
    };
    EXPECT_GT(hits(pair.alone.counters), 0.9);
    EXPECT_LT(hits(pair.together.counters), 0.1);
}

TEST(ExtendedCoRun, RowConflictsSlowsAVictimThatAnIdleNeighbourDoesNot) {
    const auto slowdown = [](const std::string& aggressor) {
        const Pair pair = beside(aggressor, "random", false);
        return pair.together.seconds / pair.alone.seconds;
    };
    EXPECT_NEAR(slowdown("compute"), 1, 0.01);
    EXPECT_GT(slowdown("row-conflicts"), 1.5);
}

TEST(ExtendedCoRun, UnevenLeavesTheSecondPartitionAQuarterOfTheSms) {
    PairSpec pair;
    pair.gpu = "sim:gtx1080";
    pair.victim.name = "VA";  // whose sums are compared with the CPU's, alone and together
    pair.aggressor.kind = "stream-read";
    CoRunSpec spec = coRunOf(pair);
    spec.sharing.way = "uneven";
    const Pair measured = measure(spec);
    EXPECT_EQ(measured.aggressor.sms.size(), 5u);
    EXPECT_EQ(measured.together.sms.size(), 15u);
    EXPECT_TRUE(disjoint(measured.together.sms, measured.aggressor.sms));
    EXPECT_GT(measured.aggressor.bytes, 0u);
}

}  // namespace
}  // namespace bulkhead::corun
