// Runs that give no sample, on a simulated GPU: real victims and aggressors that do not meet as they should.

#include "corun/pairs.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "corun/pair_spec.h"

namespace bulkhead::corun {
namespace {

PairSpec smallPair() {
    PairSpec spec;
    spec.victim.name = "random";
    spec.victim.bytes = 16 * 1024;
    spec.victim.accesses = 256;
    spec.aggressor.kind = "evict-random";
    return spec;
}

/// Does something before every run, beside an aggressor or not.
class DisturbedVictim final : public Actor {
  public:
    DisturbedVictim(Actor& inner, std::function<void()> disturb) : inner_(inner), disturb_(std::move(disturb)) {}
    std::optional<ActorRun> run(const Rounds& rounds) override {
        disturb_();
        return inner_.run(rounds);
    }
    void settle() override { inner_.settle(); }
    void prepare() override { inner_.prepare(); }

  private:
    Actor& inner_;
    std::function<void()> disturb_;
};

/// Says how often it was started and stopped.
class CountedAggressor final : public Actor {
  public:
    explicit CountedAggressor(Actor& inner) : inner_(inner) {}
    void start(double limitSeconds) override {
        inner_.start(limitSeconds);
        ++started;
    }
    ActorReport stop() override {
        ++stopped;
        return inner_.stop();
    }
    unsigned started = 0, stopped = 0;

  private:
    Actor& inner_;
};

TEST(Pairing, AVictimThatDoesNotOverlapItsAggressorIsNoSample) {
    const std::unique_ptr<CoRun> coRun = makeCoRun(coRunOf(smallPair()));
    CountedAggressor aggressor(coRun->actor(kAggressor));
    DisturbedVictim victim(coRun->actor(kVictim), [&] {
        if (aggressor.started > aggressor.stopped) aggressor.stop();
    });
    const Pairing pairing = measurePairs(victim, aggressor, 1);
    EXPECT_TRUE(pairing.pairs.empty());
    EXPECT_EQ(pairing.apart, 1u);
    EXPECT_EQ(pairing.lost(), 1u);
    EXPECT_NE(pairing.why.find("did not run during the whole"), std::string::npos) << pairing.why;
}

TEST(Pairing, AnAggressorIsStoppedWhenTheVictimFailsBesideIt) {
    const std::unique_ptr<CoRun> coRun = makeCoRun(coRunOf(smallPair()));
    CountedAggressor aggressor(coRun->actor(kAggressor));
    DisturbedVictim victim(coRun->actor(kVictim), [&] {
        if (aggressor.started > 0) throw Error("an illegal address");
    });
    const Pairing pairing = measurePairs(victim, aggressor, 3);
    EXPECT_TRUE(pairing.pairs.empty());
    EXPECT_EQ(pairing.failed, 1u);
    EXPECT_EQ(pairing.why, "an illegal address");
    EXPECT_EQ(aggressor.started, 1u);
    EXPECT_EQ(aggressor.stopped, 1u);
}

}  // namespace
}  // namespace bulkhead::corun
