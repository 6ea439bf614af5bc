// Runs that give no sample, on a simulated GPU: real victims and aggressors that do not meet as they should.

#include "corun/pairing.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "corun/arena.h"

namespace bulkhead::corun {
namespace {

ArenaSpec smallArena() {
    ArenaSpec spec;
    spec.victim.name = "random";
    spec.victim.bytes = 16 * 1024;
    spec.victim.accesses = 256;
    spec.aggressor.kind = "evict-random";
    return spec;
}

/// Does something before every run, beside an aggressor or not.
class DisturbedVictim final : public Victim {
  public:
    DisturbedVictim(Victim& inner, std::function<void()> disturb) : inner_(inner), disturb_(std::move(disturb)) {}
    std::optional<VictimRun> run() override {
        disturb_();
        return inner_.run();
    }
    void settle() override { inner_.settle(); }
    void prepare() override { inner_.prepare(); }

  private:
    Victim& inner_;
    std::function<void()> disturb_;
};

/// Says how often it was started and stopped.
class CountedAssault final : public Assault {
  public:
    explicit CountedAssault(Assault& inner) : inner_(inner) {}
    void start(double limitSeconds) override {
        inner_.start(limitSeconds);
        ++started;
    }
    AggressorReport stop() override {
        ++stopped;
        return inner_.stop();
    }
    unsigned started = 0, stopped = 0;

  private:
    Assault& inner_;
};

TEST(Pairing, AVictimThatDoesNotOverlapItsAggressorIsNoSample) {
    const std::unique_ptr<Arena> arena = makeArena(smallArena());
    CountedAssault aggressor(arena->aggressor());
    DisturbedVictim victim(arena->victim(), [&] {
        if (aggressor.started > aggressor.stopped) aggressor.stop();
    });
    const Pairing pairing = measurePairs(victim, aggressor, 1);
    EXPECT_TRUE(pairing.pairs.empty());
    EXPECT_EQ(pairing.apart, 1u);
    EXPECT_EQ(pairing.lost(), 1u);
    EXPECT_NE(pairing.why.find("did not run all the while"), std::string::npos) << pairing.why;
}

TEST(Pairing, AnAggressorIsStoppedWhenTheVictimFailsBesideIt) {
    const std::unique_ptr<Arena> arena = makeArena(smallArena());
    CountedAssault aggressor(arena->aggressor());
    DisturbedVictim victim(arena->victim(), [&] {
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
