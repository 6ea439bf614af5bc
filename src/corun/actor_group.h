#pragma once

#include <memory>
#include <vector>

#include "corun/actor.h"

namespace bulkhead::corun {

/// Actors that work in the background together, as one.
class ActorGroup final : public Actor {
  public:
    void add(std::unique_ptr<Actor> actor) { actors_.push_back(std::move(actor)); }

    /// All of them, or none if one cannot.
    void start(double limitSeconds) override;
    /// Together from when the last one was under way until the first one ended.
    ActorReport stop() override;
    void keepBusy() override;
    std::uint64_t completed() override;

  private:
    std::vector<std::unique_ptr<Actor>> actors_;
};

}  // namespace bulkhead::corun
