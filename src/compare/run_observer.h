#pragma once

#include <optional>
#include <vector>

#include "compare/run.h"
#include "sim/interference_matrix.h"

namespace bulkhead::compare {

/// Watches one run: the state of its SMs on average and, where asked to, over time with the interference of its warps.
class RunObserver final : public sim::Observer {
  public:
    RunObserver(const arch::DeviceProfile&, bool everything);

    /// Puts what it saw into the measurement of the run.
    void report(RunMeasurement&) const;

    void l1Miss(Cycles, std::uint32_t sm, std::uint64_t line, std::uint32_t warp) override;
    void l1Eviction(Cycles, std::uint32_t sm, std::uint64_t line, std::uint32_t owner, std::uint32_t evictor) override;
    Cycles sampleInterval() const override { return interval_; }
    void sampleSm(Cycles, std::uint32_t sm, const sim::SmSample&) override;
    void sample(Cycles, const sim::Counters&, std::span<const std::uint32_t> activeWarpsBySm) override;

  private:
    /// Sums over samples of SMs, each weighed with the cycles it stands for.
    struct Sums {
        double weight = 0, resident = 0, active = 0, isolated = 0, reserved = 0, capacity = 0, used = 0;
        void add(const sim::SmSample&, double cycles);
    };
    struct Point {
        SeriesPoint at;
        Sums since;
    };
    void thin();

    Cycles interval_ = 1000;
    Cycles last_ = 0;
    Sums all_, recent_;
    std::optional<sim::InterferenceMatrix> matrix_;
    std::vector<Point> points_;
};

}  // namespace bulkhead::compare
