#include <cmath>

#include "host_float.h"
#include "operation.h"

namespace bulkhead::differential {
namespace {

using In = const std::uint64_t*;
using Word = std::uint64_t;
using Value = IntegerType::Value;

constexpr const char* kRoundingNames[] = {"rn", "rz", "rm", "rp"};
constexpr Rounding kRoundings[] = {Rounding::nearest, Rounding::zero, Rounding::down, Rounding::up};

struct NamedFloat {
    const char* name;
    FloatType type;
    Width width;
};
constexpr NamedFloat kF16{"f16", FloatType::f16, Width::b16}, kBf16{"bf16", FloatType::bf16, Width::b16},
    kF32{"f32", FloatType::f32, Width::b32}, kF64{"f64", FloatType::f64, Width::b64};
constexpr NamedFloat kFloats[] = {kF16, kBf16, kF32, kF64};

std::string cvt(const std::string& modifiers, const char* to, const char* from) {
    return "cvt" + modifiers + "." + to + "." + from;
}

void addIntegers(Collector& c) {
    for (const IntegerType& to : kAllIntegerTypes)
        for (const IntegerType& from : kAllIntegerTypes) {
            const auto convert = [from](In in) { return static_cast<Word>(from.value(in[0])); };
            const auto extended = [to, convert](In in) {
                const Word value = convert(in);
                return static_cast<Word>(to.value(value));
            };
            c.op(cvt("", to.name, from.name), to.width(), {{from.width()}}, extended);
            // Only cvt takes registers wider than its types: what is narrower is extended as its type says.
            if (to.bits < 64) c.op(cvt("", to.name, from.name), Width::b64, {{Width::b64}}, extended);
            // Nothing is cut off where a conversion to f16 goes before.
            if (to.bits == 8)
                c.op(cvt("", to.name, from.name), Width::b16, {{from.width()}}, extended).misassembled =
                    from.bits == 16;
            const bool fits = to.isSigned == from.isSigned ? to.bits >= from.bits : to.isSigned && to.bits > from.bits;
            if (fits) continue;
            c.op(cvt(".sat", to.name, from.name), to.width(), {{from.width()}},
                 [to, from](In in) { return static_cast<Word>(to.clamp(from.value(in[0]))); });
        }
}

void addIntegersToFloats(Collector& c) {
    for (const NamedFloat& to : kFloats)
        for (const IntegerType& from : kAllIntegerTypes) {
            if (to.type == FloatType::bf16 && from.bits == 8) continue;
            for (int r = 0; r < 4; ++r)
                c.op(cvt(std::string(".") + kRoundingNames[r], to.name, from.name), to.width, {{from.width()}},
                     [to, from, rounding = kRoundings[r]](In in) {
                         return fromInteger(to.type, from.isSigned, static_cast<Word>(from.value(in[0])), rounding);
                     });
        }
}

/// Out of range saturates. NaN is 0, but the 64-bit path, which every f64 takes, makes it the value with only the top
/// bit set.
Word toInteger(const IntegerType& to, FloatType from, Word bits, Rounding rounding) {
    if (isNan(from, bits)) {
        const bool wide = from == FloatType::f64 || to.bits == 64;
        return wide ? static_cast<Word>(to.value(Word{1} << (to.bits - 1))) : 0;
    }
    const double whole = valueOf(
        FloatType::f64,
        wholeFloat(FloatType::f64, roundedTo(FloatType::f64, valueOf(from, bits), Rounding::nearest), rounding));
    if (whole >= 0x1p64) return static_cast<Word>(to.greatest());
    if (whole < -0x1p63) return static_cast<Word>(to.least());
    return static_cast<Word>(to.clamp(static_cast<Value>(whole)));
}

void addFloatsToIntegers(Collector& c) {
    for (const NamedFloat& from : kFloats)
        for (const IntegerType& to : kAllIntegerTypes) {
            if (from.type == FloatType::bf16 && to.bits == 8) continue;
            for (int r = 0; r < 4; ++r)
                for (const std::string ftz : {"", ".ftz"}) {
                    if (!ftz.empty() && from.type != FloatType::f32) continue;
                    c.op(cvt(std::string(".") + kRoundingNames[r] + "i" + ftz, to.name, from.name), to.width(),
                         {{from.width}}, [=, rounding = kRoundings[r]](In in) {
                             const Word a = ftz.empty() ? in[0] : flushed(from.type, in[0]);
                             return toInteger(to, from.type, a, rounding);
                         });
                }
        }
}

/// How a conversion between floats is written, and what its modifiers do.
struct FloatConversion {
    NamedFloat to, from;
    std::string rounding;  ///< rn, rni, or nothing where nothing is lost
    bool ftz = false, sat = false, relu = false, finite = false;

    std::string name() const {
        std::string text = rounding.empty() ? "" : "." + rounding;
        if (ftz) text += ".ftz";
        if (relu) text += ".relu";
        if (finite) text += ".satfinite";
        if (sat) text += ".sat";
        return cvt(text, to.name, from.name);
    }
    Word convert(Word bits) const {
        Rounding mode = Rounding::nearest;
        for (int r = 0; r < 4; ++r)
            if (rounding.starts_with(kRoundingNames[r])) mode = kRoundings[r];
        if (ftz && from.type == FloatType::f32) bits = flushed(from.type, bits);
        if (rounding.size() == 3) bits = wholeFloat(from.type, bits, mode);
        Word result = roundedTo(to.type, valueOf(from.type, bits), mode);
        if (ftz && to.type == FloatType::f32) result = flushed(to.type, result);
        if (sat) result = saturated(to.type, result);
        if (relu && !isNan(to.type, result) && !(valueOf(to.type, result) > 0)) result = 0;
        if (finite && std::isinf(valueOf(to.type, result))) --result;
        return result;
    }
};

OpenNan openNanOf(const FloatConversion& conversion) {
    if (conversion.sat) return OpenNan::none;
    const bool wide = conversion.to.type == FloatType::f64 || conversion.from.type == FloatType::f64;
    if (!wide) return OpenNan::none;
    return conversion.to.type == FloatType::f64   ? OpenNan::f64
           : conversion.to.type == FloatType::f32 ? OpenNan::f32
                                                  : OpenNan::f16;
}

void add(Collector& c, const FloatConversion& conversion) {
    c.op(conversion.name(), conversion.to.width, {{conversion.from.width}}, [conversion](In in) {
         return conversion.convert(in[0]);
     }).openNan = openNanOf(conversion);
}

/// Two f32 to the halves of a word, the first to the upper one.
void addPacked(Collector& c, const FloatConversion& conversion) {
    const std::string name = conversion.name();
    const std::size_t at = name.rfind(".f32");
    c.op(name.substr(0, at) + "x2" + name.substr(at), Width::b32, {{Width::b32}, {Width::b32}},
         [conversion](In in) { return conversion.convert(in[0]) << 16 | conversion.convert(in[1]); });
}

void addFloats(Collector& c) {
    for (const bool ftz : {false, true})
        for (const bool sat : {false, true}) {
            add(c, {kF64, kF32, "", ftz, sat});
            add(c, {kF32, kF16, "", ftz, sat});
            if (ftz || sat) add(c, {kF32, kF32, "", ftz, sat});
            for (const char* rounding : kRoundingNames) {
                add(c, {kF32, kF64, rounding, ftz, sat});
                // Hardware flushes nothing here; rounding to nearest and to zero make it no difference.
                if (!ftz || rounding[1] == 'n' || rounding[1] == 'z') add(c, {kF16, kF32, rounding, ftz, sat});
                const std::string whole = std::string(rounding) + "i";
                add(c, {kF32, kF32, whole, ftz, sat});
                if (ftz || sat) continue;
                add(c, {kF16, kF64, rounding});
                add(c, {kF64, kF64, whole});
                add(c, {kF16, kF16, whole});
            }
        }
    add(c, {kF64, kF16, ""});
    add(c, {kF64, kF64, "", false, true});
    add(c, {kF16, kF16, "", false, true});
    c.op("cvt.f32.bf16", Width::b32, {{Width::b16}}, [](In in) { return in[0] << 16; });  // NaNs as they are
    for (const char* rounding : {"rn", "rz"})
        for (const bool relu : {false, true})
            for (const bool finite : {false, true})
                for (const NamedFloat& to : {kF16, kBf16}) {
                    const FloatConversion conversion{to, kF32, rounding, false, false, relu, finite};
                    if (relu || finite || to.type == FloatType::bf16) add(c, conversion);
                    addPacked(c, conversion);
                }
    for (const IntegerType& to : {kU16, kS16})
        c.op(std::string("cvt.pack.sat.") + to.name + ".s32", Width::b32, {{Width::b32}, {Width::b32}}, [to](In in) {
            const auto half = [&](Word word) { return static_cast<Word>(to.clamp(kS32.value(word))) & 0xffff; };
            return half(in[0]) << 16 | half(in[1]);
        });
}

}  // namespace

Family convertOperations() {
    Collector c("convert", 14);
    addIntegers(c);
    addIntegersToFloats(c);
    addFloatsToIntegers(c);
    addFloats(c);
    return c.take();
}

}  // namespace bulkhead::differential
