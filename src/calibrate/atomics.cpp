#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

struct AtomicKind {
    std::string_view name, type;
    unsigned bytes;
};
constexpr std::array kKinds = {AtomicKind{"int", "u32", 4}, AtomicKind{"float", "f32", 4},
                               AtomicKind{"64-bit int", "u64", 8}};
constexpr unsigned kAtOnce = 4;
enum class Spread { sameAddress, sameLine, apart };
constexpr std::array<std::pair<Spread, std::string_view>, 3> kSpreads = {
    {{Spread::sameAddress, "same address"}, {Spread::sameLine, "same line"}, {Spread::apart, "spread"}}};

/// Every thread of the GPU adds again and again. Address and value come from memory: an assembler that knew them to be
/// the same for all lanes would add for the whole warp at once.
ProbeText atomicText(const AtomicKind& kind, Spread spread, bool returns) {
    const bool wide = kind.bytes == 8;
    const std::string value = wide ? "%d9" : "%r9";
    ProbeText text;
    text.setup = fmt::format("ld.volatile.global.b32 %r0, [%input+116];\nld.volatile.global.b{} {}, [%input+{}];\n",
                             8 * kind.bytes, value,
                             wide                 ? 104
                             : kind.type == "f32" ? 112
                                                  : 104);
    // 0, and the place of the lane in a line or of the thread in memory.
    if (spread == Spread::sameLine)
        text.setup += fmt::format("and.b32 %r1, %lane, {};\nadd.u32 %r0, %r0, %r1;\n", 128 / kind.bytes - 1);
    if (spread == Spread::apart) text.setup += "mad.lo.u32 %r1, %block, %threads, %thread;\nadd.u32 %r0, %r0, %r1;\n";
    text.setup += fmt::format("mul.wide.u32 %d0, %r0, {};\nadd.u64 %d0, %d0, %region;\n", kind.bytes);
    // Results in registers of their own: none waits for another.
    const char* const bank = wide ? "%d" : "%r";
    for (unsigned i = 0; i < kAtOnce; ++i)
        text.body += returns ? fmt::format("atom.global.add.{} {}{}, [%d0], {};\n", kind.type, bank, 10 + i, value)
                             : fmt::format("red.global.add.{} [%d0], {};\n", kind.type, value);
    for (unsigned i = 0; i < kAtOnce && returns; ++i)
        text.awaited += wide ? await64(fmt::format("%d{}", 10 + i)) : await32(fmt::format("%r{}", 10 + i));
    if (!returns) text.awaited = "membar.gl;\n";
    return text;
}

/// So many in a block that slices are busy all the time.
unsigned threadsAtWork(Bench& b) {
    const unsigned most = b.threadsPerBlock();
    return b.effort(std::clamp(4096 / b.sms() / 32 * 32, 64u, most), most);
}

/// Cycles that the GPU takes for the atomic instruction of one warp.
double atomicCycles(Session& s, const AtomicKind& kind, Spread spread, bool returns, std::uint64_t region) {
    Bench& b = s.bench();
    ProbeShape shape;
    shape.blocks = b.sms();
    shape.threads = threadsAtWork(b);
    shape.region = region;
    shape.repeats = b.effort(2u, 32u);
    const ProbeText text = atomicText(kind, spread, returns);
    const double once = b.seconds(text, shape);
    const double instructions = kAtOnce * shape.repeats * shape.blocks * (shape.threads / 32.0);
    shape.repeats *= 2;
    return (b.seconds(text, shape) - once) * s.known("clock.coreMHz") * 1e6 / instructions;
}

}  // namespace

void measureAtomics(Session& s) {
    Bench& b = s.bench();
    const gpu::Buffer memory = b.context().allocate(std::max<Bytes>(Bytes{b.sms()} * b.threadsPerBlock() * 8, 4096));
    double sector = 0;
    for (const AtomicKind& kind : kKinds)
        for (const auto& [spread, where] : kSpreads)
            for (const bool returns : {true, false}) {
                const double each = atomicCycles(s, kind, spread, returns, memory.address());
                s.foundOther(fmt::format("atomic add, {}, {}, {}", kind.name, where, returns ? "returns" : "reduces"),
                             each, "cycles", "of the whole GPU, for the 32 lanes of a warp");
                if (spread == Spread::sameLine && kind.type == "u32" && !returns)
                    sector = each / (128.0 / s.known("l2.sectorBytes"));
            }
    s.found("l2.atomicInterval", std::max(1.0, sector * s.known("clock.l2MHz") / s.known("clock.coreMHz")),
            "by int reductions to one line, a sector each");
}

}  // namespace bulkhead::calibrate
