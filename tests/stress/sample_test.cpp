#include "stress/sample.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "experiment/local_executor.h"
#include "stress/stress.h"
#include "temporary_directory.h"

namespace bulkhead::stress {
namespace {

Options small() {
    Options options;
    options.pair.gpu = "sim:tx2";
    options.pair.victim.accesses = 256;
    options.pair.victim.bytes = 16384;
    options.pair.victim.limitSeconds = 0.25;
    options.samples = 2;
    for (const char* kind : {"compute", "evict-random"}) {
        corun::AggressorSpec aggressor;
        aggressor.kind = kind;
        aggressor.layout.blocks = 1;
        options.aggressors.push_back(aggressor);
    }
    return options;
}

TEST(Samples, anotherProcessUnderstandsTheDescription) {
    SampleSpec spec{small().pair};
    spec.pair.sharing = "mps";
    spec.pair.shareSms = true;
    spec.pair.separate = {"l2"};
    spec.explain = true;
    spec.pair.seed = (std::uint64_t{1} << 63) + 1;
    spec.pair.victim.layout = {3, 0, {1, 2}};
    spec.pair.victim.cold = true;
    spec.pair.aggressor = small().aggressors[1];
    spec.pair.aggressor.gigabytesPerSecond = 0.1;
    const nlohmann::json heard = parseJson(jsonText(describe(spec)), "description");
    EXPECT_EQ(SampleSpec::fromJson(heard, "run").toJson(), spec.toJson());
}

corun::Encounter meet(const char* aggressor, corun::Pair& pair) {
    corun::PairSpec spec = small().pair;
    spec.victim.bytes = 128 << 10;  // a quarter of the L2
    spec.victim.accesses = 1024;
    spec.aggressor.kind = aggressor;
    corun::CoRunSpec coRun = coRunOf(spec);
    coRun.followed = true;
    const std::unique_ptr<corun::CoRun> followed = makeCoRun(coRun);
    pair = measureSample(*followed).pairing.pairs.at(0);
    return encounterOf(*followed->watch(), pair).value();
}

TEST(Samples, tellHowVictimAndAggressorMet) {
    corun::Pair pair;
    const corun::Encounter met = meet("evict-random", pair);
    struct Sum {
        double victim = 0, aggressor = 0, us = 0;
    } alone, together;
    for (const corun::Encounter::Stretch& s : met.stretches) {
        Sum& sum = s.endUs <= met.togetherUs ? alone : together;
        sum.victim += static_cast<double>(s.victim);
        sum.aggressor += static_cast<double>(s.aggressor);
        sum.us += s.endUs - s.beginUs;
    }
    // It does the same work in both: its rate falls as its time grows. Its launches also count what comes before and
    // after the timed part.
    const auto counted = [](const sim::Counters& c) { return static_cast<double>(c.l2Hits + c.l2Misses + c.l2Merges); };
    const double slower = pair.together.seconds / pair.alone.seconds;
    EXPECT_GT(slower, 1.5);
    EXPECT_NEAR(alone.victim / alone.us / (together.victim / together.us), slower, 0.1 * slower);
    EXPECT_LE(alone.victim, counted(pair.alone.counters));
    EXPECT_GE(alone.victim, 1024);  // accesses, none of which a warp shares with another
    EXPECT_LE(together.victim, counted(pair.together.counters));
    EXPECT_LE(alone.us, pair.alone.seconds * 1e6);
    EXPECT_EQ(alone.aggressor, 0);
    EXPECT_GT(together.aggressor, together.victim);
    using Who = corun::Encounter;
    const std::uint64_t lost = met.evictions[Who::victim][Who::aggressor];
    EXPECT_GT(lost, 100u);
    EXPECT_EQ(std::accumulate(met.lostBySlice.begin(), met.lostBySlice.end(), std::uint64_t{0}), lost);
    // Pure computation touches no memory.
    const corun::Encounter beside = meet("compute", pair);
    EXPECT_LT(beside.evictions[Who::victim][Who::aggressor], 20u);
}

TEST(Samples, keepHowVictimAndAggressorMet) {
    SampleMeasurement m;
    m.encounter.emplace();
    m.encounter->stretches = {{0, 1.5, 3, 0}, {1.5, 2, 1, 40}};
    m.encounter->togetherUs = 1.5;
    m.encounter->evictions = {{{1, 2}, {3, 4}}};
    m.encounter->lostBySlice = {0, 2};
    const nlohmann::json kept = parseJson(jsonText(m.toJson()), "run");
    EXPECT_EQ(SampleMeasurement::fromJson(kept, "run").toJson(), m.toJson());
    nlohmann::json broken = kept;
    broken["encounter"]["evictions"] = {{1, 2}};
    EXPECT_THROW(SampleMeasurement::fromJson(broken, "run"), Error);
}

TEST(Samples, aProgramThatChangesIsAnotherVictim) {
    const TemporaryDirectory folder;
    SampleSpec spec{small().pair};
    spec.pair.victim.name = "\"" + (folder / "program").string() + "\" 1";
    writeFile(folder / "program", "one");
    const nlohmann::ordered_json one = spec.toJson();
    writeFile(folder / "program", "two");
    EXPECT_NE(spec.toJson(), one);
}

TEST(Samples, asRunsOfABatchFindWhatTheyFindOneAfterTheOther) {
    const TemporaryDirectory folder;
    const Options options = small();
    SampleBatch batch({folder.path(), "1"}, std::make_shared<experiment::LocalExecutor>(2));
    Outcome here, there, kept;
    stress(options, here);
    stress(options, there, batch);
    EXPECT_EQ(batch.executed(), 4u);
    stress(options, kept, batch);
    EXPECT_EQ(batch.executed(), 4u);
    for (const Outcome& other : {there, kept}) {
        ASSERT_EQ(other.cells.size(), 2u);
        for (std::size_t i = 0; i < 2; ++i) {
            const SampleMeasurement one{here.cells[i].pairing, here.cells[i].causes},
                two{other.cells[i].pairing, other.cells[i].causes};
            EXPECT_EQ(other.cells[i].explained, here.cells[i].explained);
            EXPECT_EQ(one.pairing.pairs.size(), 2u);
            EXPECT_EQ(one.toJson(), two.toJson());
        }
    }
}

TEST(Samples, afterOneThatFailedDoNotCount) {
    Options options = small();
    options.aggressors.resize(1);
    options.aggressors[0].sms = 100;  // more than there are
    SampleBatch batch({{}, "1"}, std::make_shared<experiment::LocalExecutor>(2));
    Outcome here, there;
    stress(options, here);
    stress(options, there, batch);
    EXPECT_NE(here.cells[0].refusal, "");
    EXPECT_EQ(there.cells[0].refusal, here.cells[0].refusal);
    EXPECT_EQ(there.cells[0].pairing.measured(), 0u);
}

}  // namespace
}  // namespace bulkhead::stress
