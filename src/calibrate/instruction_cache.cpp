#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "calibrate/chase.h"
#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

constexpr std::uint32_t kCodeChains = 4, kShortestCode = 128, kLongestCode = 32768;  ///< instructions
constexpr std::uint32_t kCodeStep = 8;  ///< instructions by which sizes are told

/// Code without branches: chains that take turns, whose instructions differ where an assembler could make one of two.
ProbeText straightCode(std::uint32_t instructions) {
    ProbeText text;
    text.setup = "ld.volatile.global.b32 %r8, [%input+96];\nld.volatile.global.b32 %r9, [%input+104];\n";
    for (std::uint32_t c = 0; c < kCodeChains; ++c) {
        text.setup += fmt::format("ld.volatile.global.b32 %r{}, [%input+{}];\n", c, 8 * c);
        text.awaited += await32(fmt::format("%r{}", c));
    }
    for (std::uint32_t i = 0; i < instructions; ++i)
        text.body += i / kCodeChains % 2 == 0 ? fmt::format("add.u32 %r{0}, %r{0}, %r8;\n", i % kCodeChains)
                                              : fmt::format("xor.b32 %r{0}, %r{0}, %r9;\n", i % kCodeChains);
    return text;
}

/// Cycles of an instruction, in a loop over so many.
double perInstruction(Bench& b, std::uint32_t instructions) {
    ProbeShape shape;
    shape.repeats = b.effort(4u, 16u);
    return b.cycles(straightCode(instructions), shape) / (static_cast<double>(instructions) * shape.repeats);
}

/// Code that notes the time at every second instruction: a line that has to come from L2 or farther shows as a pause.
/// Bytes of code by pauses.
double bytesBetweenPauses(Bench& b, Bytes codeBytes, Bytes width, double latency) {
    const auto notes = static_cast<std::uint32_t>(codeBytes / (2 * width));
    ProbeText text;
    for (std::uint32_t i = 0; i < notes; ++i)
        text.body += fmt::format("mov.u32 %r0, %clock;\nst.volatile.global.u32 [%region+{}], %r0;\n", 4 * i);
    const gpu::Array<std::uint32_t> told = b.context().array<std::uint32_t>(notes);
    ProbeShape shape;
    shape.threads = 1;
    shape.rounds = 1;
    shape.region = told.buffer().address();
    b.cycles(text, shape);
    const std::vector<std::uint32_t> times = told.download();
    std::vector<std::uint32_t> gaps;
    for (std::size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
    std::vector<std::uint32_t> sorted = gaps;
    std::ranges::sort(sorted);
    const double within = sorted[sorted.size() / 4];  // most notes follow each other within a line
    const auto pauses = std::ranges::count_if(gaps, [&](std::uint32_t gap) { return gap > within + latency / 3; });
    return static_cast<double>(gaps.size() * 2 * width) / static_cast<double>(std::max<std::ptrdiff_t>(pauses, 1));
}

}  // namespace

void measureInstructionCache(Session& s) {
    Bench& b = s.bench();
    const auto width = static_cast<Bytes>(s.known("instruction.width"));
    CacheTimes times;
    times.hit = perInstruction(b, kShortestCode);
    times.tolerated = b.exact() ? 0.0 : 0.25;
    // Hardware has smaller caches before this one, from which code comes somewhat slower: there, what comes from L2 is
    // what is slowest.
    const double slow = b.exact() ? 1.5 * times.hit + 1 : 0.75 * perInstruction(b, kLongestCode);
    std::uint32_t tooMany = 2 * kShortestCode;
    for (; tooMany <= kLongestCode; tooMany *= 2) {
        const double each = perInstruction(b, tooMany);
        if (each > slow) break;
        times.hit = b.exact() ? std::min(times.hit, each) : each;  // the loop itself counts for less
    }
    if (tooMany > kLongestCode) {
        s.undecided(fmt::format("instruction.bytes: a loop over {} KB of code runs at full speed",
                                kLongestCode * width / 1024));
        return;
    }
    // Beyond twice what fits, no line is found again.
    times.miss = perInstruction(b, 2 * tooMany);
    while (tooMany > 2 * kShortestCode && !times.holds(perInstruction(b, tooMany / 2))) tooMany /= 2;
    const std::size_t held =
        kCodeStep * largestFitting(tooMany / 2 / kCodeStep, tooMany / kCodeStep, [&](std::size_t steps) {
            return times.holds(perInstruction(b, static_cast<std::uint32_t>(steps) * kCodeStep));
        });
    // Lines at both ends belong to the code around the loop. Elsewhere constants take some of a cache whose size is a
    // power of two.
    const Bytes heldBytes = held * width;
    const Bytes bytes =
        b.exact() ? (heldBytes / 1024 + 1) * 1024 : Bytes{1} << std::lround(std::log2(static_cast<double>(heldBytes)));
    s.found("instruction.bytes", static_cast<double>(bytes), fmt::format("loops over {} B of code stay", heldBytes));
    const double apart = bytesBetweenPauses(b, 4 * bytes, width, s.known("l2.hitLatency"));
    const double line = std::exp2(std::round(std::log2(apart)));
    if (constexpr double kLongestLine = 4096; line > kLongestLine) {
        s.foundOther("an instruction that comes from L2", times.miss, "cycles", "in code without branches");
        s.undecided("instruction.lineBytes: code comes without pauses, since it is fetched ahead");
        return;
    }
    s.found("instruction.lineBytes", line, fmt::format("a pause every {:.0f} B", apart));
    s.foundOther("miss of the instruction cache", (times.miss - times.hit) * line / static_cast<double>(width),
                 "cycles", "of a line, in code without branches");
}

}  // namespace bulkhead::calibrate
