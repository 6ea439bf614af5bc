#include "dissect/basics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace bulkhead::dissect {
namespace {

std::uint32_t median(Times times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

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

void findLatencies(Probe& probe, const MemoryView& memory, CacheShape& cache, Listener& listener, Random& random) {
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
        listener.found({"L1 hit latency", l1, "cycles", 1, "chase of 16 lines through L1"});
    } else {
        listener.found({"L1 hit latency",
                        {},
                        "cycles",
                        0,
                        fmt::format("loads through L1 take {:.0f} cycles, as from L2: it keeps no global data", l1)});
    }
    listener.found({"L2 hit latency", l2, "cycles", 1, fmt::format("chase of {} lines, the third round", steps)});
    listener.found({"DRAM latency", dram, "cycles", 1, "the first round, after clearing the cache"});

    std::vector<Access> twice;
    const std::vector<std::uint64_t> lines = randomLines(memory, 200, 1, random);
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t line : lines) twice.push_back({line});
    const Times times = probe.timeAccesses(twice);
    const auto half = times.begin() + static_cast<std::ptrdiff_t>(lines.size());
    cache.missCycles = median(Times(times.begin(), half));
    cache.hitCycles = median(Times(half, times.end()));
    if (cache.missCycles < 1.2 * cache.hitCycles)
        throw Error("an access takes {:.0f} cycles from L2 and {:.0f} from DRAM: the GPU is too busy to time",
                    cache.hitCycles, cache.missCycles);
}

/// What one miss brings with it: its sector, and more if there is a prefetcher.
void findSector(Probe& probe, const MemoryView& memory, CacheShape& cache, Listener& listener, Random& random) {
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
                    "the first distance from a miss that misses too"});
    listener.found({"prefetch", prefetches, "", 1,
                    fmt::format("no line up to {} B behind a miss is there already: {}", kFarthest, !prefetches)});
}

/// One line of each of many pages stays in L2; what takes longer with more pages is translation.
void findTlbReach(Probe& probe, const MemoryView& memory, const CacheShape& cache, Listener& listener) {
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
                    bounded ? "chase of one line a page takes longer with more"
                            : fmt::format("none seen up to {} MB", reach * kPage >> 20)});
}

}  // namespace

CacheShape findBasics(Probe& probe, const MemoryView& memory, Listener& listener, std::uint64_t seed) {
    listener.step("latencies and shape of the caches");
    Random random(seed);
    CacheShape cache;
    cache.bytes = probe.gpu().info().l2Bytes;
    if (cache.bytes == 0) throw Error("the driver tells no size of L2");
    findLatencies(probe, memory, cache, listener, random);
    findSector(probe, memory, cache, listener, random);
    findTlbReach(probe, memory, cache, listener);
    return cache;
}

Result hitsByFootprint(Probe& probe, const MemoryView& memory, const CacheShape& cache, Listener& listener,
                       std::uint64_t seed, double& hitsWhenFull, Finding& capacity) {
    listener.step("what L2 holds");
    constexpr std::size_t kSamples = 500;
    Result r;
    r.title = "Hits in L2 by footprint, after reading it from front to back";
    r.columns = {{"footprint", "KB"}, {"hits", "%"}};
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
    r.charts.push_back({Chart::Kind::line, "hits by footprint", "footprint", {"hits"}, {}, {}, "", false, false});
    const double error = std::sqrt(std::max(0.0, share * (1 - share)) / kSamples) / share;
    capacity = {"L2 capacity", held / (1 << 20), "MB", 1 - error,
                fmt::format("the most that is still there after reading, within {:.0f} %; the driver says {:.4g} MB",
                            100 * error, static_cast<double>(cache.bytes) / (1 << 20))};
    return r;
}

}  // namespace bulkhead::dissect
