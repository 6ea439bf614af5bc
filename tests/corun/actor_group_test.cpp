#include "corun/actor_group.h"

#include <gtest/gtest.h>

namespace bulkhead::corun {
namespace {

/// Says what it was told to, and counts.
class Fake final : public Actor {
  public:
    Fake(int& running, ActorReport report, bool starts = true)
        : running_(running), report_(std::move(report)), starts_(starts) {}
    void start(double) override {
        if (!starts_) throw Error("no place");
        ++running_;
    }
    ActorReport stop() override {
        --running_;
        return report_;
    }

  private:
    int& running_;
    ActorReport report_;
    bool starts_;
};

ActorReport report(std::vector<unsigned> sms, std::uint64_t startNs, std::uint64_t endNs, std::uint64_t bytes) {
    ActorReport r;
    r.sms = std::move(sms);
    r.startNs = startNs;
    r.endNs = endNs;
    r.bytes = bytes;
    return r;
}

TEST(ActorGroup, WorksFromItsLastStartToItsFirstEnd) {
    int running = 0;
    ActorGroup group;
    group.add(std::make_unique<Fake>(running, report({5, 6}, 100, 400, 1000)));
    group.add(std::make_unique<Fake>(running, report({2}, 200, 300, 500)));
    group.start(1);
    EXPECT_EQ(running, 2);
    const ActorReport all = group.stop();
    EXPECT_EQ(running, 0);
    EXPECT_EQ(all.sms, (std::vector<unsigned>{2, 5, 6}));
    EXPECT_EQ(all.startNs, 200u);
    EXPECT_EQ(all.endNs, 300u);
    EXPECT_EQ(all.bytes, 1500u);
}

TEST(ActorGroup, NoneWorksIfOneCannot) {
    int running = 0;
    ActorGroup group;
    group.add(std::make_unique<Fake>(running, ActorReport()));
    group.add(std::make_unique<Fake>(running, ActorReport(), false));
    EXPECT_THROW(group.start(1), Error);
    EXPECT_EQ(running, 0);
}

}  // namespace
}  // namespace bulkhead::corun
