#pragma once

#include <algorithm>
#include <vector>

#include "sim/observer.h"

namespace bulkhead::sim {

/// Several that see the same. One of them may look closely.
class Observers final : public Observer {
  public:
    void add(Observer& observer) { all_.push_back(&observer); }

    void l1Miss(Cycles when, std::uint32_t sm, std::uint64_t line, std::uint32_t warp) override {
        for (Observer* o : all_) o->l1Miss(when, sm, line, warp);
    }
    void l1Eviction(Cycles when, std::uint32_t sm, std::uint64_t line, std::uint32_t owner,
                    std::uint32_t evictor) override {
        for (Observer* o : all_) o->l1Eviction(when, sm, line, owner, evictor);
    }
    void l2Eviction(Cycles when, std::uint32_t slice, std::uint64_t line, std::uint32_t ownerLaunch,
                    std::uint32_t evictorLaunch) override {
        for (Observer* o : all_) o->l2Eviction(when, slice, line, ownerLaunch, evictorLaunch);
    }
    void decided(Cycles when, std::uint32_t sm, const Decided& decided) override {
        for (Observer* o : all_) o->decided(when, sm, decided);
    }
    CloseLook* closeLook(std::uint32_t sm) override {
        for (Observer* o : all_)
            if (CloseLook* look = o->closeLook(sm)) return look;
        return nullptr;
    }
    void launchStarted(Cycles when, std::uint32_t launch) override {
        for (Observer* o : all_) o->launchStarted(when, launch);
    }
    void launchEnded(Cycles when, std::uint32_t launch) override {
        for (Observer* o : all_) o->launchEnded(when, launch);
    }
    void blockStarted(Cycles when, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch,
                      std::uint64_t block) override {
        for (Observer* o : all_) o->blockStarted(when, sm, slot, launch, block);
    }
    void blockEnded(Cycles when, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch,
                    std::uint64_t block) override {
        for (Observer* o : all_) o->blockEnded(when, sm, slot, launch, block);
    }
    void contextSwitched(Cycles when, std::uint32_t toGroup) override {
        for (Observer* o : all_) o->contextSwitched(when, toGroup);
    }
    /// As often as the one that wants most.
    Cycles sampleInterval() const override {
        Cycles least = 0;
        for (const Observer* o : all_)
            if (const Cycles wanted = o->sampleInterval(); wanted && (!least || wanted < least)) least = wanted;
        return least;
    }
    void sample(Cycles when, const Counters& counters, std::span<const std::uint32_t> activeWarpsBySm) override {
        for (Observer* o : all_) o->sample(when, counters, activeWarpsBySm);
    }
    void sampleSm(Cycles when, std::uint32_t sm, const SmSample& sample) override {
        for (Observer* o : all_) o->sampleSm(when, sm, sample);
    }

  private:
    std::vector<Observer*> all_;
};

}  // namespace bulkhead::sim
