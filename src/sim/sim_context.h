#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/device_profile.h"
#include "sim/access_windows.h"
#include "sim/clock.h"
#include "sim/counters.h"
#include "sim/event_queue.h"
#include "sim/launch_tally.h"
#include "sim/machine_config.h"
#include "sim/mem/request.h"
#include "sim/observer.h"
#include "sim/separation.h"

namespace bulkhead::sim {

/// Bytes so far: L2 responses, DRAM both ways.
struct Traffic {
    std::uint64_t l2 = 0, dram = 0;

    Traffic& operator+=(const Traffic& o) {
        l2 += o.l2;
        dram += o.dram;
        return *this;
    }
};

/// What all units of a simulated GPU share. Nothing in it changes while they advance.
struct SimShared {
    explicit SimShared(const arch::DeviceProfile& p, ResourceSet separate = {})
        : profile(p),
          config(p),
          l2Clock(p.clock.l2MHz, p.clock.coreMHz),
          memoryClock(p.clock.memoryMHz, p.clock.coreMHz),
          separation(separate) {}

    const arch::DeviceProfile& profile;
    const MachineConfig config;
    const ClockDomain l2Clock, memoryClock;
    Separation separation;
    RequestStore requests;
    AccessWindows windows;
    Traffic traffic;       ///< at the beginning of the window
    Cycles windowEnd = 0;  ///< when units that advance apart meet again
};

/// What units that advance together share: their time, events to come, the requests that they begin, and what they
/// count. Units of different contexts, such as two SMs, meet at the end of a window only. A unit reads the time and
/// adds to the rest; who runs the units has a Simulation.
class SimContext {
  public:
    SimContext(const SimContext&) = delete;
    SimContext& operator=(const SimContext&) = delete;

    const arch::DeviceProfile& profile;
    const MachineConfig& config;
    const ClockDomain &l2Clock, &memoryClock;
    const Separation& separation;
    Observer* const observer;
    RequestPool requests;

    /// Stays where it is, for those who look often.
    const Cycles& now() const { return now_; }

    void schedule(Cycles when, EventKind kind, std::uint32_t subject) { events_.push(when, kind, subject); }
    /// `Method` of the unit is called with the subject of every event of that kind. The unit must stay where it is.
    template <auto Method, class Unit>
    void onEvent(EventKind kind, Unit& unit) {
        handlers_.set<Method>(kind, unit);
    }

    /// Of what was counted here since the machine last took it. Launch 0 is nobody.
    Counters& counters(std::uint32_t launch) { return tally_.of(launch); }

    /// Of the whole GPU, until the window began.
    const Traffic& traffic() const { return shared_.traffic; }
    void l2Answered(std::uint64_t bytes) { traffic_.l2 += bytes; }
    void dramMoved(std::uint64_t bytes) { traffic_.dram += bytes; }

    /// How a launch wants a line to be kept.
    Retention retentionOf(std::uint32_t launch, std::uint64_t line) const { return shared_.windows.of(launch, line); }

    /// What others do shows from here on.
    Cycles windowEnd() const { return shared_.windowEnd; }

    /// Something that a spinning warp could be waiting for has happened: a store, an atomic that changed memory, a
    /// barrier passed, a warp that started or ended, something the host did.
    void noteEffect() { ++effects_; }

  protected:
    SimContext(SimShared& shared, Observer* o)
        : profile(shared.profile),
          config(shared.config),
          l2Clock(shared.l2Clock),
          memoryClock(shared.memoryClock),
          separation(shared.separation),
          observer(o),
          requests(shared.requests),
          shared_(shared) {}
    ~SimContext() = default;

    SimShared& shared_;
    Cycles now_ = 0;
    EventHandlers handlers_;
    EventQueue events_;
    LaunchTally tally_;
    Traffic traffic_;
    std::uint64_t effects_ = 0;
};

/// The same for the one who runs the units: passes time, hands out events, takes what was counted.
class Simulation final : public SimContext {
  public:
    explicit Simulation(SimShared& shared, Observer* observer = nullptr) : SimContext(shared, observer) {}

    /// Of the earliest event, or kNever.
    Cycles nextEvent() const { return events_.next(); }
    /// Events before that time must have been handled.
    void advanceTo(Cycles when) {
        now_ = when;
        events_.advance(when);
    }
    /// All of this cycle, those included that they bring about.
    void handleEvents() {
        Event event;
        while (events_.popAt(now_, event)) handlers_.handle(event);
    }

    LaunchTally& tally() { return tally_; }
    const LaunchTally& tally() const { return tally_; }
    const Traffic& ownTraffic() const { return traffic_; }
    std::uint64_t effects() const { return effects_; }
};

}  // namespace bulkhead::sim
