#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "calibrate/chase.h"
#include "calibrate/measurement.h"
#include "dissect/basics.h"
#include "dissect/sides.h"
#include "dissect/time_split.h"

namespace bulkhead::calibrate {
namespace {

/// Lines that nobody has used before, each in a piece of memory of its own, within a KB at this offset. All in few
/// pages: translation would take time too.
std::vector<std::uint64_t> freshLines(Session& s, std::size_t count, Bytes offset) {
    constexpr Bytes kPiece = 4096, kApart = 128;
    const Bytes span = std::min<Bytes>(32_MiB, s.memory().bytes());
    Random random(s.bench().seed());
    std::vector<std::uint64_t> lines;
    while (lines.size() < count)
        lines.push_back(s.memory().base() + random.below(span / kPiece) * kPiece + offset +
                        random.below(1024 / kApart) * kApart);
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[random.below(i)]);
    return lines;
}

/// Keeps what dissect finds.
class Findings final : public dissect::Listener {
  public:
    void found(const dissect::Finding& f) override { all.push_back(f); }
    const dissect::Finding* named(std::string_view name) const {
        const auto it = std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.name == name; });
        return it == all.end() ? nullptr : &*it;
    }
    std::vector<dissect::Finding> all;
};

std::uint32_t medianOf(const std::vector<std::uint32_t>& times) {
    return dissect::median(times);
}

}  // namespace

void measureL2Latency(Session& s) {
    Bench& b = s.bench();
    // Loads of lines never used, by addresses that no load has to bring; first of all, while rows of DRAM are closed.
    const std::vector<std::uint64_t> lines = freshLines(s, b.effort(12u, 512u), 3072);
    const std::size_t count = lines.size();
    // One line of each page before them, so that translation is there.
    std::vector<dissect::Access> accesses;
    for (Bytes page = 0; page < 32_MiB && page < s.memory().bytes() && !b.exact(); page += 2_MiB)
        accesses.push_back({s.memory().base() + page});
    const auto before = static_cast<std::ptrdiff_t>(accesses.size());
    for (int round = 0; round < 2; ++round)
        for (const std::uint64_t line : lines) accesses.push_back({line});
    dissect::Times times = s.probe().timeAccesses(accesses);
    times.erase(times.begin(), times.begin() + before);
    const auto half = times.begin() + static_cast<std::ptrdiff_t>(count);
    dissect::Times first(times.begin(), half);
    std::sort(first.begin(), first.end());
    // Where rows stay open for ever, some lines find the row of another one: most of the fastest find none.
    const std::uint32_t miss = first[b.exact() ? count / 5 : count / 2], again = medianOf({half, times.end()});

    constexpr std::size_t kLines = 256;
    auto [memory, base] = alignedMemory(b, 4_MiB, 2_MiB);
    Chase chase(b, memory, base, "ld.global.cg.u64");
    // Some lines of every slice.
    chase.ring(shuffledRing(kLines, 4_MiB / kLines, b.seed()));
    const double hit = chase.latency();
    s.found("l2.hitLatency", hit, fmt::format("mean over {} lines", kLines));
    if (miss < 1.1 * again) throw Error("lines never used come as fast as from L2: something else is at work");
    s.found("dram.latency", hit + miss - again, fmt::format("over {} lines that were never used", count));
}

void measureL2Shape(Session& s) {
    Bench& b = s.bench();
    Findings findings;
    const dissect::ProbedCache cache = dissect::findBasics(s.probe(), s.memory(), findings, b.seed());
    s.foundOther("bytes that a miss of L2 fetches", static_cast<double>(cache.sectorBytes), "B");
    if (const dissect::Finding* tlb = findings.named("TLB reach"))
        if (const auto* megabytes = std::get_if<std::int64_t>(&tlb->value))
            s.foundOther("TLB reach", static_cast<double>(*megabytes), "MB");
    double whenFull = 0;
    dissect::Finding capacity;
    dissect::hitsByFootprint(s.probe(), s.memory(), cache, findings, b.seed(), whenFull, capacity);
    if (const auto* megabytes = std::get_if<double>(&capacity.value))
        s.foundOther("L2 capacity by footprint", *megabytes, "MB", capacity.evidence);
}

/// Atomics execute at a line's home, whichever SM they come from.
void measureL2Sides(Session& s) {
    Bench& b = s.bench();
    std::vector<std::uint64_t> lines = freshLines(s, b.effort(24u, 64u), 2048);
    const auto sides = dissect::findSides(s.probe(), lines, b.effort(3u, 25u));
    if (!sides) {
        s.found("l2.sides", 1, "latencies of atomics are of one kind");
        s.found("l2.farLatency", 0);
        s.found("l2.halfLatency", 0);
        return;
    }
    std::vector<std::uint32_t> nearest, farther, halves;
    for (std::size_t sm = 0; sm < sides->latencies.size(); ++sm) {
        dissect::Times close, away;
        for (const std::uint32_t t : sides->latencies[sm]) (t > sides->threshold[sm] ? away : close).push_back(t);
        if (close.size() < 4 || away.size() < 4) continue;
        const auto split = dissect::splitTwo(close);
        nearest.push_back(split ? static_cast<std::uint32_t>(std::lround(split->usual)) : medianOf(close));
        farther.push_back(medianOf(away));
        if (split) halves.push_back(static_cast<std::uint32_t>(std::lround(split->slow - split->usual)));
    }
    if (nearest.empty()) throw Error("too few lines of either side");
    s.found("l2.sides", 2);
    s.found("l2.farLatency", static_cast<double>(medianOf(farther)) - medianOf(nearest),
            fmt::format("atomics take {} and {} cycles", medianOf(nearest), medianOf(farther)));
    s.found("l2.halfLatency", 2 * halves.size() > nearest.size() ? medianOf(halves) : 0);
}

}  // namespace bulkhead::calibrate
