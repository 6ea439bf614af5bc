#include <cmath>

#include "host_float.h"
#include "operation.h"

namespace bulkhead::differential {
namespace {

using In = const std::uint64_t*;
using Word = std::uint64_t;

constexpr const char* kRoundingNames[] = {"rn", "rz", "rm", "rp"};
constexpr Rounding kRoundings[] = {Rounding::nearest, Rounding::zero, Rounding::down, Rounding::up};

Word negated(FloatType type, Word bits) {
    return bits ^ Word { 1 } << (type == FloatType::f64 ? 63 : type == FloatType::f32 ? 31 : 15);
}

/// What modifiers of an instruction do to operands and result.
struct Modifiers {
    bool ftz = false, sat = false, relu = false;
    std::string text() const { return std::string(ftz ? ".ftz" : "") + (sat ? ".sat" : "") + (relu ? ".relu" : ""); }
    Word operand(FloatType type, Word bits) const { return ftz ? flushed(type, bits) : bits; }
    Word result(FloatType type, Word bits) const {
        if (ftz) bits = flushed(type, bits);
        if (sat) bits = saturated(type, bits);
        if (relu && !isNan(type, bits) && !(valueOf(type, bits) > 0)) bits = 0;
        return bits;
    }
};

/// add, sub, mul and fma in one format, on bit patterns.
struct Arithmetic {
    const char* name;
    unsigned operands;
    Word (*compute)(FloatType, In, Rounding);
};
constexpr Arithmetic kArithmetic[] = {
    {"add", 2, [](FloatType t, In in, Rounding r) { return addFloats(t, in[0], in[1], r); }},
    {"sub", 2, [](FloatType t, In in, Rounding r) { return addFloats(t, in[0], negated(t, in[1]), r); }},
    {"mul", 2, [](FloatType t, In in, Rounding r) { return multiplyFloats(t, in[0], in[1], r); }},
    {"fma", 3, [](FloatType t, In in, Rounding r) { return fuseFloats(t, in[0], in[1], in[2], r); }}};
constexpr Arithmetic kDivisions[] = {
    {"div", 2, [](FloatType t, In in, Rounding r) { return divideFloats(t, in[0], in[1], r); }},
    {"rcp", 1,
     [](FloatType t, In in, Rounding r) { return divideFloats(t, roundedTo(t, 1, Rounding::nearest), in[0], r); }},
    {"sqrt", 1, [](FloatType t, In in, Rounding r) { return rootOfFloat(t, in[0], r); }}};

std::function<Word(In)> modified(const Arithmetic& what, FloatType type, Rounding rounding, Modifiers modifiers) {
    return [=, compute = what.compute, operands = what.operands](In in) {
        Word values[3] = {};
        for (unsigned i = 0; i < operands; ++i) values[i] = modifiers.operand(type, in[i]);
        return modifiers.result(type, compute(type, values, rounding));
    };
}

void addSingleAndDouble(Collector& c) {
    for (int r = 0; r < 4; ++r) {
        const std::string rounding = std::string(".") + kRoundingNames[r];
        const auto add = [&](const Arithmetic& what, bool mayUnit) {
            for (const bool ftz : {false, true})
                for (const bool sat : {false, true}) {
                    if (sat && !mayUnit) continue;
                    const Modifiers modifiers{ftz, sat};
                    c.op(what.name + rounding + modifiers.text() + ".f32", Width::b32,
                         std::vector<Source>(what.operands, {Width::b32, Literal::f32}),
                         modified(what, FloatType::f32, kRoundings[r], modifiers));
                }
            c.op(what.name + rounding + ".f64", Width::b64,
                 std::vector<Source>(what.operands, {Width::b64, Literal::f64}),
                 modified(what, FloatType::f64, kRoundings[r], {}))
                .openNan = OpenNan::f64;
        };
        for (const Arithmetic& what : kArithmetic) add(what, true);
        for (const Arithmetic& what : kDivisions) add(what, false);
    }
}

/// A NaN gives way to the other operand, unless `nan`. -0 is below +0.
Word extreme(FloatType type, bool greatest, bool nan, Word a, Word b) {
    if (isNan(type, a) || isNan(type, b)) {
        if (nan || (isNan(type, a) && isNan(type, b))) return canonicalNan(type);
        return isNan(type, a) ? b : a;
    }
    const double x = valueOf(type, a), y = valueOf(type, b);
    const bool aLess = x < y || (x == y && std::signbit(x) && !std::signbit(y));
    return aLess == greatest ? b : a;
}

void addExtremes(Collector& c, const std::string& type, FloatType format, Source source) {
    for (const bool greatest : {false, true})
        for (const bool ftz : {false, true})
            for (const bool nan : {false, true}) {
                if ((ftz && (format == FloatType::f64 || format == FloatType::bf16)) ||
                    (nan && format == FloatType::f64))
                    continue;
                Operation& operation =
                    c.op(std::string(greatest ? "max" : "min") + (ftz ? ".ftz" : "") + (nan ? ".NaN" : "") + "." + type,
                         source.width, {source, source}, [=](In in) {
                             const Modifiers m{ftz};
                             return extreme(format, greatest, nan, m.operand(format, in[0]), m.operand(format, in[1]));
                         });
                operation.twoSources = true;
                if (format == FloatType::f64) operation.openNan = OpenNan::f64;
            }
}

void addSigns(Collector& c, const std::string& type, FloatType format, Width width, OpenNan open) {
    const Word sign = negated(format, 0);
    for (const bool ftz : {false, true}) {
        if (ftz && (format == FloatType::f64 || format == FloatType::bf16)) continue;
        const std::string suffix = (ftz ? ".ftz." : ".") + type;
        const Modifiers m{ftz};
        c.op("abs" + suffix, width, {{width}}, [=](In in) { return m.operand(format, in[0]) & ~sign; }).openNan = open;
        c.op("neg" + suffix, width, {{width}}, [=](In in) { return m.operand(format, in[0]) ^ sign; }).openNan = open;
    }
    if (format != FloatType::f32 && format != FloatType::f64) return;
    c.op("copysign." + type, width, {{width}, {width}}, [sign](In in) { return (in[1] & ~sign) | (in[0] & sign); });
}

/// An operation of f16 or bf16, and the same on both halves of a word.
void addPair(Collector& c, const std::string& name, const std::string& type, unsigned operands,
             const std::function<Word(In)>& one) {
    c.op(name + "." + type, Width::b16, std::vector<Source>(operands, {Width::b16}), one);
    c.op(name + "." + type + "x2", Width::b32, std::vector<Source>(operands, {Width::b32}), [one, operands](In in) {
        Word low[3] = {}, high[3] = {};
        for (unsigned i = 0; i < operands; ++i) low[i] = in[i] & 0xffff, high[i] = in[i] >> 16;
        return one(high) << 16 | one(low);
    });
}

}  // namespace

Family floatOperations() {
    Collector c("float", 20);
    addSingleAndDouble(c);
    addExtremes(c, "f32", FloatType::f32, {Width::b32, Literal::f32});
    addExtremes(c, "f64", FloatType::f64, {Width::b64, Literal::f64});
    addSigns(c, "f32", FloatType::f32, Width::b32, OpenNan::f32);
    addSigns(c, "f64", FloatType::f64, Width::b64, OpenNan::f64);
    return c.take();
}

Family halfOperations() {
    Collector c("half", 10);
    for (const Arithmetic& what : kArithmetic) {
        const bool fused = what.operands == 3;
        for (const bool ftz : {false, true})
            for (const Modifiers modifiers :
                 {Modifiers{ftz, false, false}, Modifiers{ftz, true, false}, Modifiers{ftz, false, true}}) {
                if (modifiers.relu && !fused) continue;
                addPair(c, std::string(what.name) + ".rn" + modifiers.text(), "f16", what.operands,
                        modified(what, FloatType::f16, Rounding::nearest, modifiers));
            }
        for (const bool relu : {false, true})
            if (!relu || fused)
                addPair(c, std::string(what.name) + ".rn" + (relu ? ".relu" : ""), "bf16", what.operands,
                        modified(what, FloatType::bf16, Rounding::nearest, {false, false, relu}));
    }
    addExtremes(c, "f16", FloatType::f16, {Width::b16});
    addExtremes(c, "bf16", FloatType::bf16, {Width::b16});
    addSigns(c, "f16", FloatType::f16, Width::b16, OpenNan::f16);
    return c.take();
}

}  // namespace bulkhead::differential
