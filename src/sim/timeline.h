#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/observer.h"

namespace bulkhead::sim {

/// Records what ran where and when, for the Chrome and Perfetto trace viewers: launches on one track, the blocks of
/// each SM on their slots, and what its policy decided; IPC, active and isolated warps, hit rates, stalls by cause and
/// interference as curves. Times are simulated microseconds.
class Timeline final : public Observer {
  public:
    /// `name` gives a launch's kernel; `microsecondsPerCycle` from the core clock.
    Timeline(double microsecondsPerCycle, Cycles sampleInterval);

    void nameLaunch(std::uint32_t launch, std::string kernel);
    std::string json() const;

    void l1Eviction(Cycles, std::uint32_t sm, std::uint64_t line, std::uint32_t owner, std::uint32_t evictor) override;
    void launchStarted(Cycles, std::uint32_t launch) override;
    void launchEnded(Cycles, std::uint32_t launch) override;
    void blockStarted(Cycles, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch, std::uint64_t block) override;
    void blockEnded(Cycles, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch, std::uint64_t block) override;
    void contextSwitched(Cycles, std::uint32_t toGroup) override;
    void decided(Cycles, std::uint32_t sm, const Decided&) override;
    Cycles sampleInterval() const override { return interval_; }
    void sampleSm(Cycles, std::uint32_t sm, const SmSample&) override;
    void sample(Cycles, const Counters&, std::span<const std::uint32_t> activeWarpsBySm) override;

  private:
    enum class Kind : std::uint8_t { launchBegin, launchEnd, blockBegin, blockEnd, contextSwitch, decision };
    struct Mark {
        Kind kind;
        Cycles when;
        std::uint32_t sm, slot, launch;
        std::uint64_t block;
        Decided decided = {};
    };
    struct Sample {
        Cycles when;
        double ipc, l1HitRate, l2HitRate;
        std::uint64_t activeWarps, isolatedWarps, interference;
        std::array<double, kStalls> stalled;  ///< shares of schedulers' cycles
    };
    double usPerCycle_;
    Cycles interval_;
    std::vector<Mark> marks_;
    std::vector<Sample> samples_;
    std::vector<std::string> kernels_;
    Counters last_;
    Cycles lastSample_ = 0;
    std::uint64_t isolated_ = 0;      ///< warps of the SMs looked at so far
    std::uint64_t interference_ = 0;  ///< since the last sample: lines that one warp pushed out of another's
};

}  // namespace bulkhead::sim
