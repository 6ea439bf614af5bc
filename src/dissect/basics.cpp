#include "dissect/basics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/phrases.h"
#include "dissect/time_split.h"

namespace bulkhead::dissect {
namespace {

/// Random lines of the first or second KB of random 4 KB, each once: others are left untouched for other experiments.
std::vector<std::uint64_t> randomLines(const MemoryView& memory, std::size_t count, unsigned kb, Random& random) {
    constexpr Bytes kPlace = 4096, kLine = 128;
    std::vector<std::uint64_t> lines;
    while (lines.size() < count)
        lines.push_back(memory.base() + random.below(memory.bytes() / kPlace) * kPlace + kb * 1024 +
                        random.below(1024 / kLine) * kLine);
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[random.below(i)]);
    return lines;
}

void findLatencies(Probe& probe, const MemoryView& memory, ProbedCache& cache, Listener& listener, Random& random) {
    const std::vector<std::uint64_t> ring = randomLines(memory, 256, 0, random);
    const auto steps = static_cast<std::uint32_t>(ring.size());
    probe.writeRing(ring);
    clearCache(probe, memory, cache);
    const auto perStep = [&](std::uint32_t n, bool throughL1) {
        return static_cast<double>(probe.chase(ring[0], n, throughL1)) / n;
    };
    const double dram = perStep(steps, false);
    perStep(steps, false);
    const double l2 = perStep(8 * steps, false);
    const std::vector<std::uint64_t> small(ring.begin(), ring.begin() + 16);
    probe.writeRing(small);
    // Thousands of steps, so that the first round, which misses, does not count.
    const double l1 = static_cast<double>(probe.chase(small[0], 4096, true)) / 4096;
    if (l1 < 0.9 * l2) {
        listener.found({"L1 hit latency", l1, "cycles", 1, "pointer chase over 16 lines through L1"});
    } else {
        listener.found(
            {"L1 hit latency",
             {},
             "cycles",
             0,
             fmt::format("loads through L1 take {:.0f} cycles, as long as from L2: L1 does not cache global data",
                         l1)});
    }
    listener.found({"L2 hit latency", l2, "cycles", 1, fmt::format("pointer chase over {} lines, third round", steps)});
    listener.found({"DRAM latency", dram, "cycles", 1, "first round, after clearing the cache"});

    std::vector<Access> twice;
    const std::vector<std::uint64_t> lines = randomLines(memory, 200, 1, random);
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t line : lines) twice.push_back({line});
    const Times times = probe.timeAccesses(twice);
    const auto half = times.begin() + static_cast<std::ptrdiff_t>(lines.size());
    cache.missCycles = median(Times(times.begin(), half));
    cache.hitCycles = median(Times(half, times.end()));
    if (cache.missCycles < 1.2 * cache.hitCycles)
        throw Error("an access takes {:.0f} cycles from L2 and {:.0f} from DRAM: the GPU is too busy for timing",
                    cache.hitCycles, cache.missCycles);
}

/// What one miss brings with it: its sector, and more if there is a prefetcher.
void findSector(Probe& probe, const MemoryView& memory, ProbedCache& cache, Listener& listener, Random& random) {
    constexpr int kTries = 32;
    constexpr Bytes kStep = 8, kFarthest = 1024, kPageOf = 4096;
    std::vector<int> hits(kFarthest / kStep, 0);
    std::vector<Access> list;
    for (Bytes distance = kStep; distance < kFarthest; distance += kStep)
        for (int i = 0; i < kTries; ++i) {
            const std::uint64_t at = memory.base() + random.below(memory.bytes() / kPageOf) * kPageOf + 2048;
            list.push_back({at});
            list.push_back({at + distance});
        }
    const Times times = probe.timeAccesses(list);
    std::size_t at = 1;
    for (Bytes distance = kStep; distance < kFarthest; distance += kStep)
        for (int i = 0; i < kTries; ++i, at += 2) hits[distance / kStep] += cache.misses(times[at]) ? 0 : 1;
    Bytes sector = kStep;
    while (sector < kFarthest && 2 * hits[sector / kStep] > kTries) sector += kStep;
    cache.sectorBytes = std::bit_ceil(sector);
    bool prefetches = false;
    for (Bytes distance = sector; distance < kFarthest; distance += kStep)
        prefetches = prefetches || 2 * hits[distance / kStep] > kTries;
    listener.found({"L2 sector", static_cast<std::int64_t>(cache.sectorBytes), "B", 1,
                    "smallest distance from a miss at which another access misses too"});
    listener.found(
        {"prefetch", prefetches, "", 1,
         fmt::format("a miss {} the next {} B", prefetches ? "fetches lines of" : "fetches no line of", kFarthest)});
}

/// One line of each of many pages stays in L2; what takes longer with more pages is translation.
void findTlbReach(Probe& probe, const MemoryView& memory, const ProbedCache& cache, Listener& listener) {
    constexpr Bytes kPage = 2_MiB;
    // Few enough that all lines stay in L2, however they are spread over its sets.
    const std::size_t most = std::min<std::size_t>(memory.bytes() / kPage, cache.bytes / cache.lineBytes / 8);
    double few = 0;
    std::size_t reach = 0;
    for (std::size_t pages = std::min<std::size_t>(16, most); pages <= most; pages *= 2) {
        std::vector<std::uint64_t> ring;
        for (std::size_t i = 0; i < pages; ++i)
            ring.push_back(memory.base() + i * kPage + i * 37 % 1021 * cache.lineBytes);
        probe.writeRing(ring);
        probe.chase(ring[0], static_cast<std::uint32_t>(2 * pages), false);
        const double cycles = static_cast<double>(probe.chase(ring[0], static_cast<std::uint32_t>(pages), false)) /
                              static_cast<double>(pages);
        if (few == 0) few = cycles;
        if (cycles > 1.15 * few) break;
        reach = pages;
    }
    const bool bounded = 2 * reach <= most;
    listener.found({"TLB reach", bounded ? Value(static_cast<std::int64_t>(reach * kPage >> 20)) : Value(), "MB",
                    bounded ? 1.0 : 0.0,
                    bounded ? "a pointer chase over one line per page takes longer beyond it"
                            : fmt::format("no limit up to {} MB", reach * kPage >> 20)});
}

}  // namespace

ProbedCache findBasics(Probe& probe, const MemoryView& memory, Listener& listener, std::uint64_t seed) {
    listener.step("Measuring latencies and cache geometry");
    Random random(seed);
    ProbedCache cache;
    cache.bytes = probe.gpu().info().l2Bytes;
    if (cache.bytes == 0) throw Error("the driver does not report the size of the L2");
    findLatencies(probe, memory, cache, listener, random);
    findSector(probe, memory, cache, listener, random);
    findTlbReach(probe, memory, cache, listener);
    return cache;
}

Result hitsByFootprint(Probe& probe, const MemoryView& memory, const ProbedCache& cache, Listener& listener,
                       std::uint64_t seed, double& hitsWhenFull, Finding& capacity) {
    listener.step("Measuring the L2 capacity");
    constexpr std::size_t kSamples = 500;
    Result r;
    r.title = "L2 hit rate by footprint, after reading it sequentially";
    r.columns = {{"footprint", "KB"}, {"hit rate", "%"}};
    Random random(seed);
    Bytes read = 0;
    double held = 0, share = 1;
    for (const unsigned eighths : {4U, 6U, 7U, 8U, 9U, 10U, 12U, 16U}) {
        const Bytes footprint = cache.bytes / 8 * eighths / cache.lineBytes * cache.lineBytes;
        probe.touch(memory.base() + read, footprint - read, static_cast<std::uint32_t>(cache.sectorBytes));
        read = footprint;
        std::vector<Access> samples;
        for (std::size_t i = 0; i < kSamples; ++i)
            samples.push_back({memory.base() + random.below(footprint / cache.lineBytes) * cache.lineBytes});
        std::size_t hits = 0;
        for (std::uint32_t t : probe.timeAccesses(samples)) hits += cache.misses(t) ? 0 : 1;
        const double now = static_cast<double>(hits) / kSamples;
        r.add({static_cast<std::int64_t>(footprint >> 10), 100 * now});
        if (eighths == 8) hitsWhenFull = now;
        if (now * static_cast<double>(footprint) > held) {
            held = now * static_cast<double>(footprint);
            share = now;
        }
        listener.progress(eighths / 16.0);
    }
    r.charts.push_back(
        {Chart::Kind::line, "L2 hit rate by footprint", "footprint", {"hit rate"}, {}, {}, "", false, false});
    const double error = std::sqrt(std::max(0.0, share * (1 - share)) / kSamples) / share;
    capacity = {"L2 capacity", held / (1 << 20), "MB", 1 - error,
                fmt::format("largest footprint that stays cached, within {:.0f} %; the driver reports {:.4g} MB",
                            100 * error, static_cast<double>(cache.bytes) / (1 << 20))};
    r.question = "How much of what was read stays in the L2?";
    r.answer = fmt::format("At most {} MB; the driver reports {} MB.", brief(held / (1 << 20)),
                           brief(static_cast<double>(cache.bytes) / (1 << 20)));
    r.reading = "A footprint beyond the capacity loses lines, more the larger it is.";
    return r;
}

}  // namespace bulkhead::dissect
