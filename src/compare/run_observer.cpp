#include "compare/run_observer.h"

namespace bulkhead::compare {
namespace {

constexpr std::size_t kMostPoints = 256;

double perWeight(double sum, double weight) {
    return weight > 0 ? sum / weight : 0;
}

}  // namespace

RunObserver::RunObserver(const arch::DeviceProfile& profile, bool everything) {
    if (everything) matrix_.emplace(profile);
}

void RunObserver::Sums::add(const sim::SmSample& s, double cycles) {
    weight += cycles;
    resident += cycles * s.residentWarps;
    active += cycles * s.activeWarps;
    isolated += cycles * s.isolatedWarps;
    reserved += cycles * s.sharedReserved;
    capacity += cycles * s.sharedCacheCapacity;
    used += cycles * s.sharedCacheUsed;
}

void RunObserver::l1Miss(Cycles now, std::uint32_t sm, std::uint64_t line, std::uint32_t warp) {
    if (matrix_) matrix_->l1Miss(now, sm, line, warp);
}

void RunObserver::l1Eviction(Cycles now, std::uint32_t sm, std::uint64_t line, std::uint32_t owner,
                             std::uint32_t evictor) {
    if (matrix_) matrix_->l1Eviction(now, sm, line, owner, evictor);
}

void RunObserver::sampleSm(Cycles now, std::uint32_t, const sim::SmSample& sample) {
    if (sample.residentWarps == 0) return;
    const auto cycles = static_cast<double>(now - last_);
    all_.add(sample, cycles);
    recent_.add(sample, cycles);
}

void RunObserver::sample(Cycles now, const sim::Counters& totals, std::span<const std::uint32_t>) {
    last_ = now;
    if (!matrix_) return;
    points_.push_back({{now, totals.threadInstructions, matrix_->total(), 0, 0}, recent_});
    recent_ = {};
    if (points_.size() == kMostPoints) thin();
}

/// A long run has as many points as a short one, further apart.
void RunObserver::thin() {
    std::vector<Point> half;
    for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
        const Sums& first = points_[i].since;
        Point merged = points_[i + 1];
        merged.since.weight += first.weight;
        merged.since.active += first.active;
        merged.since.isolated += first.isolated;
        half.push_back(merged);
    }
    points_ = std::move(half);
    interval_ *= 2;
}

void RunObserver::report(RunMeasurement& measurement) const {
    measurement.residentWarps = perWeight(all_.resident, all_.weight);
    measurement.activeWarps = perWeight(all_.active, all_.weight);
    measurement.isolatedWarps = perWeight(all_.isolated, all_.weight);
    measurement.sharedReserved = perWeight(all_.reserved, all_.weight);
    measurement.sharedCacheCapacity = perWeight(all_.capacity, all_.weight);
    measurement.sharedCacheUsed = perWeight(all_.used, all_.weight);
    if (!matrix_) return;
    for (const Point& point : points_) {
        measurement.series.push_back(point.at);
        measurement.series.back().activeWarps = perWeight(point.since.active, point.since.weight);
        measurement.series.back().isolatedWarps = perWeight(point.since.isolated, point.since.weight);
    }
    measurement.warps = matrix_->warps();
    for (std::uint32_t interfered = 0; interfered < measurement.warps; ++interfered)
        for (std::uint32_t interfering = 0; interfering < measurement.warps; ++interfering)
            measurement.interference.push_back(matrix_->hits(0, interfered, interfering));
}

}  // namespace bulkhead::compare
