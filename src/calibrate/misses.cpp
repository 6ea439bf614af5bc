#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/statistics.h"
#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

constexpr Bytes kLine = 128;

constexpr std::size_t kLanes = 32;

/// One warp loads so many lines at once, other lines in each round.
ProbeText burstText(std::size_t misses) {
    const std::size_t loads = (misses + kLanes - 1) / kLanes;
    ProbeText text;
    text.setup = fmt::format("setp.lt.u32 %p0, %lane, {};\nmov.u64 %d{}, 0;\n", misses - (loads - 1) * kLanes, loads);
    text.perRound =
        fmt::format("mad.lo.u32 %r1, %round, {}, %lane;\nmul.wide.u32 %d0, %r1, {};\nadd.u64 %d0, %d0, %region;\n",
                    loads * kLanes, kLine);
    for (std::size_t i = 0; i < loads; ++i)
        text.body +=
            fmt::format("{}ld.global.u64 %d{}, [%d0+{}];\n", i + 1 == loads ? "@%p0 " : "", i + 1, i * kLanes * kLine);
    // Waits for the loads, and stores nothing: stores would take turns at the port with them.
    for (std::size_t i = 1; i < loads; ++i) text.awaited += fmt::format("xor.b64 %d{0}, %d{0}, %d{1};\n", loads, i);
    text.awaited += fmt::format("setp.eq.u64 %p1, %d{0}, 12345;\n@%p1 st.volatile.global.u64 [%sink], %d{0};\n", loads);
    return text;
}

/// Bursts of misses that all take as long when they are alone.
class Bursts {
  public:
    /// From L2, or from DRAM: lines that were never used.
    Bursts(Session& s, bool fromDram)
        : bench_(s.bench()),
          bytes_((bench_.rounds() + 1) * kMost * kLine),
          memory_(bench_.freshMemory((fromDram ? kProbes : 1) * bytes_)),
          fromDram_(fromDram),
          latency_(s.known(fromDram ? "dram.latency" : "l2.hitLatency")) {
        if (!fromDram) s.probe().touch(memory_.address(), memory_.bytes(), 32);
        const std::vector<double> alone = {cycles(kFew), cycles(kFew), cycles(kFew)};
        start_ = percentile(alone, 50);
        // A request leaves in a cycle of L2 at best.
        slope_ = std::max((cycles(kSome) - start_) / (kSome - kFew), s.known("clock.coreMHz") / s.known("clock.l2MHz"));
    }

    /// What one more costs at the ports. L2 tells it better than DRAM, where each may find another row.
    double slope() const { return slope_; }
    void setSlope(double cycles) { slope_ = cycles; }

    /// Misses beyond the MSHRs wait until the first ones have come, and take a latency more. Nothing where the ports
    /// take as long to pass as many: `tried` says how many did not wait.
    std::optional<std::size_t> mostAtOnce(std::size_t& tried) {
        const std::size_t limit = std::min(kMost, static_cast<std::size_t>(0.75 * latency_ / slope_));
        std::size_t few = kFew, many = kSome;
        while (!wait(many)) {
            tried = few = many;
            if (many >= limit) return std::nullopt;
            many = std::min(2 * many, limit);
        }
        while (many - few > 1) {
            const std::size_t middle = (few + many) / 2;
            (wait(middle) ? many : few) = middle;
        }
        return few;
    }

  private:
    static constexpr std::size_t kProbes = 40, kFew = 8, kSome = 16, kMost = 30 * kLanes;

    bool wait(std::size_t misses) {
        const double usual = start_ + slope_ * static_cast<double>(misses - kFew);
        return cycles(misses) >
               usual + std::max(0.5 * (latency_ - slope_ * static_cast<double>(misses)), 0.3 * latency_);
    }
    double cycles(std::size_t misses) {
        ProbeShape shape;
        shape.region = memory_.address() + used_;
        if (fromDram_) used_ += bytes_;
        if (used_ > memory_.bytes()) throw Error("too many bursts of misses");
        return bench_.cycles(burstText(misses), shape);
    }

    Bench& bench_;
    Bytes bytes_;
    gpu::Buffer memory_;
    bool fromDram_;
    double latency_, start_ = 0, slope_ = 0;
    Bytes used_ = 0;
};

}  // namespace

void measureMisses(Session& s) {
    if (!s.knownFlag("l1.cachesGlobal")) {
        s.undecided("l1.mshrs: loads pass L1D by, and take none");
        return;
    }
    std::size_t tried = 0;
    const auto tell = [&](std::optional<std::size_t> found, const char* from) {
        if (found)
            s.found("l1.mshrs", static_cast<double>(*found),
                    fmt::format("the most misses to {} of which none waits for another", from));
        return found.has_value();
    };
    Bursts toL2(s, false);
    if (tell(toL2.mostAtOnce(tried), "L2")) return;
    Bursts toDram(s, true);
    toDram.setSlope(toL2.slope());
    if (tell(toDram.mostAtOnce(tried), "DRAM")) return;
    s.undecided(fmt::format("l1.mshrs: at least {}: ports take as long as DRAM to pass more", tried));
}

}  // namespace bulkhead::calibrate
