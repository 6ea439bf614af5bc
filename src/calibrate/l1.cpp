#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "calibrate/chase.h"
#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

constexpr Bytes kMemory = 32_MiB, kMostL1 = 512_KiB;
constexpr const char* kThroughL1 = "ld.global.u64";
constexpr const char* kPastL1 = "ld.global.cg.u64";

/// Bytes that a miss brings: in a ring that L1D cannot hold, one pointer in each is the closest at which all miss.
double fetchedBytes(Chase& chase, const CacheTimes& times, Bytes held) {
    for (Bytes step = 8; step <= 512; step *= 2) {
        chase.ring(sequentialRing(4 * held / step, step));
        if (chase.perStep() > times.hit + 0.85 * (times.miss - times.hit)) return static_cast<double>(step);
    }
    throw Error("L1D: a miss brings more than 512 B");
}

/// Where L1D and shared memory divide one memory, L1D has what one of the divisions leaves: that which is nearest, if
/// one is near. Replacement that is not perfect leaves a few per cent of a footprint as large as the cache unused.
void tellSize(Session& s, Bytes bytes) {
    const auto held = static_cast<double>(bytes);
    const char* const how = "the largest footprint that stays, by a kernel without shared memory";
    const arch::DeviceProfile::Sm& sm = s.base().sm;
    if (s.bench().exact() || sm.onChipBytes == 0) return s.found("l1.bytes", held, how);
    for (const std::int64_t carveout : sm.carveouts) {
        const auto left = static_cast<double>(sm.onChipBytes - carveout);
        if (held > left || held < 0.95 * left) continue;
        if (carveout == sm.carveouts.front())
            return s.found("l1.bytes", left, fmt::format("{}: {:.0f} B of it", how, held));
        return s.foundOther(
            "L1D beside no shared memory", held, "B",
            fmt::format("as a carve-out of {} B leaves it: the driver's default is not the smallest", carveout));
    }
    s.foundOther("L1D beside no shared memory", held, "B", "no carve-out of the base leaves as much");
}

/// Chains of pointers to themselves, of every lane in a line of its own and in banks of its own.
ProbeText linesOfALoad(unsigned chains, std::uint32_t length, Bytes stride) {
    ProbeText text;
    text.setup = fmt::format("mad.wide.u32 %d8, %lane, {}, %region;\nst.global.u64 [%d8], %d8;\nbar.sync 0;\n", stride);
    addChains(text, chains, length, kThroughL1, 'd');
    return text;
}

void measureLinesPerCycle(Session& s, std::uint64_t region, Bytes line) {
    constexpr unsigned kChains = 4, kLines = 32;
    Bench& b = s.bench();
    ProbeShape all;
    all.threads = b.threadsPerBlock();
    all.region = region;
    const auto make = [&](std::uint32_t n) { return linesOfALoad(kChains, n, line + sizeof(std::uint64_t)); };
    const double each = b.cyclesEachOfMany(make, 8, all) / kChains;
    s.found("l1.tagsPerCycle", kLines / each, fmt::format("{:.4g} cycles a load of {} lines", each, kLines));
}

}  // namespace

void measureL1(Session& s) {
    Bench& b = s.bench();
    auto [memory, base] = alignedMemory(b, kMemory, 2_MiB);
    Chase through(b, memory, base, kThroughL1), past(b, memory, base, kPastL1);
    through.ring({0});
    past.ring({0});
    const double hit = through.latency(), l2 = past.latency();
    if (hit > 0.9 * l2) {
        s.foundText("l1.cachesGlobal", "false", fmt::format("a load takes {:.4g} cycles, past L1D {:.4g}", hit, l2));
        s.undecided("L1D caches no global loads: its size and latency cannot be told by them");
        return;
    }
    s.foundText("l1.cachesGlobal", "true", fmt::format("a load takes {:.4g} cycles, past L1D {:.4g}", hit, l2));
    s.found("l1.hitLatency", hit);

    const auto line = static_cast<Bytes>(s.base().l1.lineBytes);
    measureLinesPerCycle(s, base, line);
    // As a ring of one line, with what the loop adds.
    past.ring(shuffledRing(64, line, b.seed()));
    const double missStep = past.perStep();
    through.ring(shuffledRing(16, line, b.seed()));
    const CacheTimes times = {through.perStep(), missStep, b.exact() ? 0.0 : 0.02};
    const std::size_t lines = largestFitting(8, kMostL1 / line, [&](std::size_t n) {
        through.ring(shuffledRing(n, line, b.seed()));
        return times.holds(through.perStep());
    });
    if (lines == 0 || lines == kMostL1 / line) {
        s.undecided("l1.bytes: no footprint tells where it ends");
        return;
    }
    const Bytes bytes = lines * line;
    tellSize(s, bytes);
    s.found("l1.sectorBytes", fetchedBytes(through, times, bytes));
    if (const auto found = findAssociativity(through, times, bytes, line)) {
        s.found("l1.ways", static_cast<double>(found->ways));
        s.foundText("l1.setHash", found->folded ? "xor" : "linear");
    } else {
        s.undecided("l1.ways: sets follow neither low address bits nor their XOR");
    }
}

}  // namespace bulkhead::calibrate
