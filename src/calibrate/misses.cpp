#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

/// Misses beyond the MSHRs wait until the first ones have come: time then rises by a latency at once.
void measureMisses(Session& s) {
    Bench& b = s.bench();
    const auto most = static_cast<std::size_t>(s.known("sm.maxThreadsPerBlock"));
    const gpu::Buffer memory = b.context().allocate((b.rounds() + 2) * most * kLine);
    // All of it in L2 beforehand.
    s.probe().touch(memory.address(), memory.bytes(), 32);
    const ProbeText text = burstText();
    const auto cycles = [&](std::size_t misses) {
        ProbeShape shape;
        shape.threads = static_cast<unsigned>(most);
        shape.count = misses;
        shape.region = memory.address();
        return b.cycles(text, shape);
    };
    const double latency = s.known("l2.hitLatency");
    const double each = std::clamp((cycles(16) - cycles(8)) / 8, 0.0, 8.0);
    std::size_t few = 8, many = 0;
    double before = cycles(few);
    for (std::size_t n = 16; n <= most; n *= 2) {
        const double now = cycles(n);
        if (now - before > static_cast<double>(n - few) * each + 0.4 * latency) {
            many = n;
            break;
        }
        few = n;
        before = now;
    }
    if (many == 0) {
        s.undecided(fmt::format("l1.mshrs: at least {}; more misses at once only take turns at the ports", few));
        return;
    }
    const std::size_t start = few;
    while (many - few > 1) {
        const std::size_t middle = (few + many) / 2;
        const bool waits = cycles(middle) - before > static_cast<double>(middle - start) * each + 0.4 * latency;
        (waits ? many : few) = middle;
    }
    s.found("l1.mshrs", static_cast<double>(few), "the most misses to L2 of which none waits for another");
}

}  // namespace bulkhead::calibrate
