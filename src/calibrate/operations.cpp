#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

/// Instructions of a class that depend on each other through {x}. Those that follow each other differ, or take an
/// operand in a place, where an assembler could fold them or share a part of them (the reciprocal of one divisor).
struct Operation {
    std::string_view name, unit;
    std::string_view even, odd;  ///< {x}: the chain; {a}, {b}: operands that nobody knows beforehand
    unsigned start, a, b;        ///< words of the input (bench.cpp)
    bool wide = false;           ///< 64 bits
};

constexpr std::array kOperations = {
    Operation{"integer", "alu", "add.u32 {x}, {x}, {a};", "xor.b32 {x}, {x}, {b};", 0, 12, 13},
    Operation{"integerMul", "alu", "mad.lo.u32 {x}, {x}, {a}, {b};", "", 0, 12, 13},
    Operation{"integerDiv", "alu", "div.u32 {x}, {a}, {x};", "", 0, 12, 13},
    Operation{"fp32", "alu", "fma.rn.f32 {x}, {x}, {a}, {b};", "", 4, 14, 4},
    Operation{"fp32Div", "alu", "div.rn.f32 {x}, {a}, {x};", "", 4, 14, 4},
    Operation{"special", "sfu", "ex2.approx.ftz.f32 {x}, {x};", "lg2.approx.ftz.f32 {x}, {x};", 4, 14, 4},
    Operation{"fp64", "fp64", "fma.rn.f64 {x}, {x}, {a}, {b};", "", 8, 15, 8, true},
    Operation{"fp64Div", "fp64", "div.rn.f64 {x}, {a}, {x};", "", 8, 15, 8, true},
    Operation{"convert", "alu", "cvt.rn.f32.s32 {x}, {x};", "cvt.rzi.s32.f32 {x}, {x};", 0, 12, 13},
    Operation{"shuffle", "alu", "shfl.sync.bfly.b32 {x}, {x}, 1, 31, -1;", "", 0, 12, 13},
};

constexpr unsigned kChains = 4;  ///< at most: words of the input that chains start from

std::string registerOf(const Operation& op, unsigned number) {
    return fmt::format("%{}{}", op.wide ? 'd' : 'r', number);
}

/// So many instructions of each of some chains, which take turns.
ProbeText chainText(const Operation& op, unsigned chains, std::uint32_t length) {
    ProbeText text;
    const std::string a = registerOf(op, 8), b = registerOf(op, 9);
    const auto load = [&](const std::string& to, unsigned word) {
        // Volatile: chains that begin alike would be one.
        text.setup += fmt::format("ld.volatile.global.b{} {}, [%input+{}];\n", op.wide ? 64 : 32, to, 8 * word);
    };
    load(a, op.a);
    load(b, op.b);
    for (unsigned c = 0; c < chains; ++c) load(registerOf(op, c), op.start + c);
    for (std::uint32_t i = 0; i < length; ++i)
        for (unsigned c = 0; c < chains; ++c)
            text.body += fmt::format(fmt::runtime(i % 2 == 1 && !op.odd.empty() ? op.odd : op.even),
                                     fmt::arg("x", registerOf(op, c)), fmt::arg("a", a), fmt::arg("b", b)) +
                         "\n";
    for (unsigned c = 0; c < chains; ++c)
        text.awaited += op.wide ? await64(registerOf(op, c)) : await32(registerOf(op, c));
    return text;
}

void measureOperation(Session& s, const Operation& op) {
    Bench& b = s.bench();
    ProbeShape one;
    one.repeats = b.effort(4u, 64u);
    const double latency = b.cyclesEach([&](std::uint32_t length) { return chainText(op, 1, length); }, 16, one);
    s.found(fmt::format("op.{}.latency", op.name), latency);

    ProbeShape all;
    all.threads = b.threadsPerBlock();
    const double each =
        b.cyclesEachOfMany([&](std::uint32_t length) { return chainText(op, kChains, length); }, 8, all) / kChains;
    const double units = s.known(fmt::format("unit.{}", op.unit));
    const double issues = static_cast<double>(s.base().sm.schedulers * s.base().sm.issueWidth);
    // What schedulers issue a cycle says nothing of units that could take more.
    const bool byIssue = each * issues < 1.05 && units * each > 1.05;
    s.found(fmt::format("op.{}.interval", op.name), std::max(1.0, byIssue ? std::floor(units * each) : units * each),
            fmt::format("{:.3g} instructions a cycle{}", 1 / each, byIssue ? ", all that schedulers issue" : ""));
}

}  // namespace

void measureOperations(Session& s) {
    for (const Operation& op : kOperations) measureOperation(s, op);
}

/// A loop of a subtraction, a comparison and a branch: its time less that of the first two.
void measureBranches(Session& s) {
    Bench& b = s.bench();
    // Not the probe's own loop, whose count an assembler knows to be the same for all lanes.
    const auto loop = [](std::uint32_t length) {
        ProbeText text;
        text.setup = "ld.volatile.global.b32 %r0, [%input+116];\n";  // 0: the upper half of word 14
        text.body = fmt::format(
            "add.u32 %r1, %r0, {};\nLOOP:\n.pragma \"nounroll\";\nsub.u32 %r1, %r1, 1;\n"
            "setp.ne.u32 %p0, %r1, 0;\n@%p0 bra LOOP;\n",
            length);
        text.awaited = await32("%r1");
        return text;
    };
    ProbeShape shape;
    shape.repeats = b.effort(4u, 64u);
    const double latency = b.cyclesEach(loop, 16, shape);
    s.found("op.control.latency", std::max(1.0, latency - 2 * s.known("op.integer.latency")),
            fmt::format("of an iteration of {:.4g} cycles", latency));
    shape.threads = b.threadsPerBlock();
    const double each = b.cyclesEachOfMany(loop, 16, shape);
    // Two integer instructions a branch: only a slower unit of branches shows.
    const double integers = 2 * s.known("op.integer.interval") / s.known("unit.alu");
    // They depend on each other: a scheduler issues no two of them at once.
    const double issue = 3.0 / static_cast<double>(s.base().sm.schedulers);
    const double least = std::max({integers, issue, latency / (shape.threads / 32.0)});
    if (each > 1.1 * least)
        s.found("op.control.interval", each * s.known("unit.control"));
    else
        s.undecided(
            fmt::format("op.control.interval: an iteration takes {:.3g} cycles of an SM, which its other "
                        "instructions take as well",
                        each));
}

}  // namespace bulkhead::calibrate
