#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "corun/actor.h"
#include "gpu/launch_log.h"
#include "sim/observer.h"

namespace bulkhead::corun {

/// Notes where on a GPU that counts launches those run and, if it is to follow them, what they ask of the L2 over time
/// and whose lines they push out of it.
class MachineWatch final : public sim::Observer {
  public:
    /// Totals at a moment, by launch.
    struct Moment {
        std::uint64_t ns = 0;
        std::map<std::uint32_t, std::uint64_t> requests;  ///< lines that were asked of the L2
    };
    /// Lines of a launch that another, or itself, pushed out of a slice, in the stretch up to a moment.
    struct Eviction {
        std::uint64_t ns = 0;
        std::uint32_t slice = 0, owner = 0, evictor = 0;
        std::uint64_t count = 0;
    };

    /// Before the GPU is opened.
    void follow() { interval_ = kFirstInterval; }
    /// Of the GPU, once it is open.
    void setCounters(const gpu::LaunchCounters& counters) { counters_ = counters; }
    const std::vector<Moment>& moments() const { return moments_; }
    const std::vector<Eviction>& evictions() const { return evictions_; }

    Cycles sampleInterval() const override { return interval_; }
    void sample(Cycles, const sim::Counters&, std::span<const std::uint32_t>) override;
    void l2Eviction(Cycles, std::uint32_t slice, std::uint64_t line, std::uint32_t owner,
                    std::uint32_t evictor) override;
    void blockStarted(Cycles, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch, std::uint64_t block) override;
    void launchEnded(Cycles, std::uint32_t launch) override;

    /// None where no block of it has started.
    std::set<unsigned> sms(std::uint32_t launch) const;
    /// In the order in which they ended, since the counters were set.
    const std::vector<gpu::Launch>& ended() const { return ended_; }

  private:
    static constexpr Cycles kFirstInterval = 250;
    std::uint64_t requestsOf(std::uint32_t launch) const;
    void thin();

    std::map<std::uint32_t, std::set<unsigned>> sms_;
    std::vector<gpu::Launch> ended_;
    std::map<std::uint32_t, std::uint64_t> requestsOfEnded_;
    Cycles interval_ = 0;  ///< 0: nothing is followed
    std::optional<gpu::LaunchCounters> counters_;
    std::vector<Moment> moments_;
    std::vector<Eviction> evictions_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> recent_;  ///< since the moment
};

/// From the first launch's start to the last one's end. Nothing where there are none.
std::optional<ActorRun> runOfLaunches(const std::vector<gpu::Launch>&, const gpu::LaunchCounters&, const MachineWatch&);

}  // namespace bulkhead::corun
