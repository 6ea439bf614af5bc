// What a neighbour costs, by resource: victims whose cause is known.

#include "corun/causes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace bulkhead::corun {
namespace {

using sim::Resource;
using sim::ResourceSet;

double sum(const Peeled& peeled) {
    double all = peeled.rest;
    for (const double one : peeled.byResource) all += one;
    return all;
}

ResourceSet everything() {
    ResourceSet all;
    return all.set();
}

TEST(Peeling, findsCostsThatDoNotDependOnEachOther) {
    const std::array<double, sim::kResources> costs = {3, 5, 7, 11, 13, 17};
    const auto time = [&](ResourceSet separate) {
        double seconds = 100 + 2;  // 2: what cannot be separated
        for (std::size_t i = 0; i < costs.size(); ++i)
            if (!separate[i]) seconds += costs[i];
        return std::optional(seconds);
    };
    const std::optional<Peeled> peeled = peel(100, *time({}), everything(), time);
    ASSERT_TRUE(peeled);
    for (std::size_t i = 0; i < costs.size(); ++i) EXPECT_DOUBLE_EQ(peeled->byResource[i], costs[i]);
    EXPECT_DOUBLE_EQ(peeled->rest, 2);
}

TEST(Peeling, sumsToWhatWasLostWhateverTheyHaveToDoWithEachOther) {
    // Whoever wants the bus wants a bank too: only both together help.
    const auto time = [](ResourceSet separate) {
        const bool dram =
            separate[static_cast<std::size_t>(Resource::bus)] && separate[static_cast<std::size_t>(Resource::banks)];
        const bool lines = separate[static_cast<std::size_t>(Resource::l2)];
        return std::optional(10 + (dram ? 0.0 : 4) + (lines ? 0.0 : 3) * (dram ? 1 : 2));
    };
    const std::optional<Peeled> peeled = peel(10, *time({}), everything(), time);
    ASSERT_TRUE(peeled);
    EXPECT_DOUBLE_EQ(sum(*peeled), 10);
    // The lines cost 6 where DRAM is everybody's and 3 where it is not.
    EXPECT_DOUBLE_EQ(peeled->byResource[static_cast<std::size_t>(Resource::l2)], 4.5);
}

TEST(Peeling, doesNotGuessWhereARunIsMissing) {
    const auto time = [](ResourceSet separate) { return separate.count() == 1 ? std::nullopt : std::optional(1.0); };
    EXPECT_FALSE(peel(1, 2, everything(), time));
}

PairSpec pairOf(const std::string& gpu, const std::string& victim, const std::string& aggressor) {
    PairSpec spec;
    spec.gpu = gpu;
    spec.victim.name = victim;
    spec.aggressor.kind = aggressor;
    return spec;
}

Pair measured(const PairSpec& spec) {
    const std::unique_ptr<CoRun> coRun = makeCoRun(coRunOf(spec));
    const Pairing pairing = measurePairs(coRun->actor(kVictim), coRun->actor(kAggressor), 1);
    if (pairing.pairs.empty()) throw Error("no pair: {}", pairing.why);
    return pairing.pairs.front();
}

/// Shares of what was lost, which must be all of it.
Causes sharesOf(const PairSpec& spec) {
    const Pair pair = measured(spec);
    std::optional<Causes> causes = explainPair(coRunOf(spec), pair);
    if (!causes) throw Error("no causes");
    const double lost = pair.together.seconds - pair.alone.seconds;
    EXPECT_NEAR(causes->total(), lost, 1e-6 * lost);
    for (double& cause : causes->byResource) cause /= lost;
    causes->room /= lost;
    causes->timeSlicing /= lost;
    return *causes;
}

TEST(Separation, aNeighbourWithItsOwnOfEverythingCostsNothing) {
    for (const char* kind : {"evict-random", "stream-read-write", "stream-atomic"}) {
        PairSpec spec = pairOf("sim:tx2", "random", kind);
        spec.victim.accesses = 1024;
        EXPECT_GT(measured(spec).together.seconds, 1.2 * measured(spec).alone.seconds) << kind;
        spec.separate = sim::namesOf(everything());
        const Pair apart = measured(spec);
        EXPECT_NEAR(apart.together.seconds / apart.alone.seconds, 1, 0.001) << kind;
    }
}

TEST(Separation, aNeighbourWhoWritesFetchesLinesOfItsOwn) {
    PairSpec spec = pairOf("sim:gtx480", "random", "stream-write");  // whose L2 fetches what writes miss
    spec.victim.accesses = 512;
    spec.separate = sim::namesOf(everything());
    const Pair apart = measured(spec);
    EXPECT_NEAR(apart.together.seconds / apart.alone.seconds, 1, 0.001);
}

TEST(Separation, aNeighbourOnTheSameSmsTakesNothingButRoom) {
    PairSpec spec = pairOf("sim:tx2", "latency", "compute");
    spec.shareSms = true;
    spec.victim.accesses = 512;
    EXPECT_GT(measured(spec).together.seconds, 1.01 * measured(spec).alone.seconds);
    spec.separate = {"sms", "l1"};
    const Pair apart = measured(spec);
    EXPECT_NEAR(apart.together.seconds / apart.alone.seconds, 1, 0.001);
}

TEST(Separation, refusesWhatIsNoResource) {
    EXPECT_THROW(sim::resourcesOf({"bus", "busses"}), Error);
    EXPECT_EQ(sim::namesOf(sim::resourcesOf({"l1", "bus"})), (std::vector<std::string>{"bus", "l1"}));
}

TEST(Causes, ofAChaseThroughL2BesideOneWhoEvictsAreItsLines) {
    PairSpec spec = pairOf("sim:tx2", "latency", "map-guided");
    spec.victim.accesses = 1024;
    const Causes shares = sharesOf(spec);
    EXPECT_GT(shares.of(Resource::l2), 0.7);
    EXPECT_EQ(shares.of(Resource::sms), 0);
    EXPECT_EQ(shares.timeSlicing, 0);
}

TEST(Causes, ofAStreamBesideAStreamAreTheBusAndTheBanks) {
    PairSpec spec = pairOf("sim:gtx1080", "bandwidth", "stream-read");
    spec.victim.bytes = 8 * 1024 * 1024;
    spec.victim.accesses = 512 * 1024;  // once: nothing is in the cache that could be pushed out
    const Causes shares = sharesOf(spec);
    EXPECT_GT(shares.of(Resource::bus) + shares.of(Resource::banks), 0.9);
    EXPECT_GT(shares.of(Resource::bus), shares.of(Resource::banks));
}

TEST(Causes, ofAChaseThroughDramBesideOneWhoWantsOneBankAreTheBanks) {
    PairSpec spec = pairOf("sim:tx2", "random", "bank");
    spec.victim.bytes = 4 * 1024 * 1024;
    spec.victim.accesses = 1024;
    spec.victim.cold = true;
    const Causes shares = sharesOf(spec);
    EXPECT_GT(shares.of(Resource::bus) + shares.of(Resource::banks), 0.9);
    EXPECT_GT(shares.of(Resource::banks), shares.of(Resource::bus));
}

TEST(Causes, ofReadersOfL2BesideOthersAreItsPorts) {
    PairSpec spec = pairOf("sim:gtx1080", "bandwidth", "stream-read");
    spec.victim.bytes = 512 * 1024;
    spec.victim.accesses = 128 * 1024;
    spec.aggressor.bytes = 512 * 1024;  // both fit
    const Causes shares = sharesOf(spec);
    EXPECT_GT(shares.of(Resource::ports), 0.9);
}

TEST(Causes, ofAComputationBesideAComputationOnItsSmsAreTheSms) {
    PairSpec spec = pairOf("sim:tx2", "Hotspot", "compute");
    spec.shareSms = true;
    const Causes shares = sharesOf(spec);
    EXPECT_GT(shares.of(Resource::sms), 0.85);
}

TEST(Causes, areNotGuessedForCopies) {
    PairSpec spec = pairOf("sim:gtx1080", "bandwidth", "copy-in");
    spec.victim.bytes = 16 * 1024 * 1024;
    spec.victim.accesses = 1024 * 1024;
    EXPECT_FALSE(explainPair(coRunOf(spec), measured(spec)));
}

TEST(Causes, ofAWorkloadThatIsLeftFewerSmsIsRoom) {
    const Causes shares = sharesOf(pairOf("sim:tx2", "SYRK", "compute"));
    EXPECT_GT(shares.room, 0.95);
}

TEST(Causes, ofProcessesThatTakeTurnsAreTheirTurns) {
    for (const char* kind : {"compute", "evict-random"}) {
        PairSpec spec = pairOf("sim:tx2", "ATAX", kind);
        spec.sharing = "processes";
        EXPECT_GT(sharesOf(spec).timeSlicing, 0.95) << kind;
    }
}

}  // namespace
}  // namespace bulkhead::corun
