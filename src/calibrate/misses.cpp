#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

constexpr Bytes kLine = 128;

/// So many threads of one SM load a line each at once, other lines in each round.
ProbeText burstText() {
    ProbeText text;
    text.setup = "cvt.u32.u64 %r0, %count;\nsetp.lt.u32 %p0, %thread, %r0;\nmov.u64 %d1, 0;\n";
    text.perRound = "mad.lo.u32 %r1, %round, %r0, %thread;\nmul.wide.u32 %d0, %r1, 128;\nadd.u64 %d0, %d0, %region;\n";
    text.body = "@%p0 ld.global.u64 %d1, [%d0];\n";
    text.awaited = await64("%d1");
    return text;
}

/// Bursts of misses that all take as long when they are alone.
class Bursts {
  public:
    /// From L2, or from DRAM: lines that were never used.
    Bursts(Session& s, bool fromDram)
        : bench_(s.bench()),
          most_(bench_.threadsPerBlock()),
          bytes_((bench_.rounds() + 1) * most_ * kLine),
          memory_(bench_.context().allocate((fromDram ? kProbes : 1) * bytes_)),
          fromDram_(fromDram),
          latency_(s.known(fromDram ? "dram.latency" : "l2.hitLatency")) {
        if (!fromDram) s.probe().touch(memory_.address(), memory_.bytes(), 32);
        start_ = cycles(kFew);
        // A request leaves in a cycle of L2 at best.
        slope_ = std::max((cycles(kSome) - start_) / (kSome - kFew), s.known("clock.coreMHz") / s.known("clock.l2MHz"));
    }

    /// Misses beyond the MSHRs wait until the first ones have come, and take a latency more. Nothing where the ports
    /// take as long to pass as many: `tried` says how many did not wait.
    std::optional<std::size_t> mostAtOnce(std::size_t& tried) {
        const std::size_t limit = std::min(most_, static_cast<std::size_t>(0.8 * latency_ / slope_));
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
    static constexpr std::size_t kProbes = 40, kFew = 8, kSome = 16;

    bool wait(std::size_t misses) {
        const double usual = start_ + slope_ * static_cast<double>(misses - kFew);
        return cycles(misses) > usual + 0.5 * (latency_ - slope_ * static_cast<double>(misses));
    }
    double cycles(std::size_t misses) {
        ProbeShape shape;
        shape.threads = static_cast<unsigned>(most_);
        shape.count = misses;
        shape.region = memory_.address() + used_;
        if (fromDram_) used_ += bytes_;
        if (used_ > memory_.bytes()) throw Error("too many bursts of misses");
        return bench_.cycles(burstText(), shape);
    }

    Bench& bench_;
    std::size_t most_;
    Bytes bytes_;
    gpu::Buffer memory_;
    bool fromDram_;
    double latency_, start_ = 0, slope_ = 0;
    Bytes used_ = 0;
};

}  // namespace

void measureMisses(Session& s) {
    std::size_t tried = 0;
    for (const bool fromDram : {false, true})
        if (const auto found = Bursts(s, fromDram).mostAtOnce(tried)) {
            s.found("l1.mshrs", static_cast<double>(*found),
                    fmt::format("the most misses to {} of which none waits for another", fromDram ? "DRAM" : "L2"));
            return;
        }
    s.undecided(fmt::format("l1.mshrs: at least {}: ports take as long as DRAM to pass more", tried));
}

}  // namespace bulkhead::calibrate
