#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "base/result.h"
#include "sim/close_look.h"
#include "sim/interference_matrix.h"

namespace bulkhead::sim {

/// Sees why a run went as it did, on any workload and under any scheduler: speed, hit rates and stalls by cause over
/// time, which warp interferes with which, what the scheduler decided and for whom, reuse distances, latencies of
/// loads, and what each line of PTX cost. Looks closely, which makes a simulation slower, and changes nothing in it.
class Insight final : public Observer {
  public:
    explicit Insight(const arch::DeviceProfile&);

    /// Tables, with charts. Costs by line of source are there where the PTX has .loc.
    std::vector<Result> results() const;

    CloseLook* closeLook(std::uint32_t sm) override { return looks_.at(sm).get(); }
    void l1Miss(Cycles, std::uint32_t sm, std::uint64_t line, std::uint32_t warp) override;
    void l1Eviction(Cycles, std::uint32_t sm, std::uint64_t line, std::uint32_t owner, std::uint32_t evictor) override;
    void decided(Cycles, std::uint32_t sm, const Decided&) override;
    Cycles sampleInterval() const override { return interval_; }
    void sampleSm(Cycles, std::uint32_t sm, const SmSample&) override;
    void sample(Cycles, const Counters&, std::span<const std::uint32_t> activeWarpsBySm) override;

  private:
    /// A stretch of time.
    struct Stretch {
        Cycles end = 0;
        Counters counted;
        std::uint64_t interference = 0;
        std::array<std::uint64_t, kDecisions> decisions = {};
        double weight = 0, resident = 0, active = 0, isolated = 0;  ///< of SMs that have warps

        void append(const Stretch&);
    };
    struct Moment {
        Cycles when;
        std::uint32_t sm;
        Decided decided;
    };

    Result overTime() const;
    Result pairs() const;
    Result decisionTable() const;
    Result histogram(const std::string& title, const std::string& of, const std::string& unit,
                     const CloseLook::Histogram& (CloseLook::*)() const, std::uint64_t never) const;
    Result costTable() const;
    Result sourceTable() const;

    Cycles interval_ = 100;                          ///< at first
    std::vector<std::unique_ptr<CloseLook>> looks_;  ///< by SM
    InterferenceMatrix matrix_;
    std::uint32_t sms_;
    Counters last_;
    std::uint64_t lastInterference_ = 0;
    Stretch now_;
    Cycles lastSample_ = 0;
    std::vector<Stretch> stretches_;
    std::vector<Moment> decisions_;  ///< the first ones
    std::uint64_t decided_ = 0;      ///< all of them
};

}  // namespace bulkhead::sim
