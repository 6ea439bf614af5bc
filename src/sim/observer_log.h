#pragma once

#include <cstdint>
#include <vector>

#include "sim/observer.h"

namespace bulkhead::sim {

/// Keeps what units that advance together have to tell an observer until the end of a window, when what all of them
/// have kept is told in the order of time.
class ObserverLog final : public Observer {
  public:
    /// `closeLook`: of the SM whose log it is.
    explicit ObserverLog(CloseLook* closeLook = nullptr) : closeLook_(closeLook) {}

    CloseLook* closeLook(std::uint32_t) override { return closeLook_; }
    void decided(Cycles when, std::uint32_t sm, const Decided& d) override {
        const auto both = std::uint64_t{d.limit} << 32 | static_cast<std::uint64_t>(d.decision);
        events_.push_back({Kind::decided, when, sm, both, d.warp, d.interfered});
    }
    void l1Miss(Cycles when, std::uint32_t sm, std::uint64_t line, std::uint32_t warp) override {
        events_.push_back({Kind::l1Miss, when, sm, line, warp, 0});
    }
    void l1Eviction(Cycles when, std::uint32_t sm, std::uint64_t line, std::uint32_t owner,
                    std::uint32_t evictor) override {
        events_.push_back({Kind::l1Eviction, when, sm, line, owner, evictor});
    }
    void l2Eviction(Cycles when, std::uint32_t slice, std::uint64_t line, std::uint32_t ownerLaunch,
                    std::uint32_t evictorLaunch) override {
        events_.push_back({Kind::l2Eviction, when, slice, line, ownerLaunch, evictorLaunch});
    }
    void blockStarted(Cycles when, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch,
                      std::uint64_t block) override {
        events_.push_back({Kind::blockStarted, when, sm, block, slot, launch});
    }
    void blockEnded(Cycles when, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch,
                    std::uint64_t block) override {
        events_.push_back({Kind::blockEnded, when, sm, block, slot, launch});
    }

    /// Tells an observer what these have kept, and empties them. Of one cycle the first log's comes first.
    static void tell(Observer&, const std::vector<ObserverLog*>&);

  private:
    enum class Kind : std::uint8_t { l1Miss, l1Eviction, l2Eviction, blockStarted, blockEnded, decided };
    struct Event {
        Kind kind;
        Cycles when;
        std::uint32_t unit;
        std::uint64_t what;  ///< line, block, or decision and limit
        std::uint32_t first, second;

        void tell(Observer&) const;
    };

    CloseLook* closeLook_;
    std::vector<Event> events_;
};

}  // namespace bulkhead::sim
