#include <utility>

#include "sim/exec/compute_exact.h"
#include "sim/exec/compute_float.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;
using ptx::Operand;
using ptx::Type;

enum class Comparison : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
constexpr const char* kNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                  "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
constexpr int kOrderedCount = 6, kCount = 14;

/// The u forms hold when either operand is NaN, the others (ne included) do not.
template <Comparison kWhich, class T>
inline bool compare(T a, T b) {
    switch (kWhich) {
        case Comparison::eq:
            return a == b;
        case Comparison::ne:
            return a < b || a > b;
        case Comparison::lt:
            return a < b;
        case Comparison::le:
            return a <= b;
        case Comparison::gt:
            return a > b;
        case Comparison::ge:
            return a >= b;
        case Comparison::equ:
            return !(a < b || a > b);
        case Comparison::neu:
            return !(a == b);
        case Comparison::ltu:
            return !(a >= b);
        case Comparison::leu:
            return !(a > b);
        case Comparison::gtu:
            return !(a <= b);
        case Comparison::geu:
            return !(a < b);
        case Comparison::num:
            return a == a && b == b;
        case Comparison::nan:
            return !(a == a && b == b);
    }
    return false;
}

/// An operand as something the host can compare.
template <class T, bool kFlush>
inline auto comparable(T value) {
    if constexpr (std::is_same_v<T, Half>)
        return toFloat(Half{static_cast<std::uint16_t>(flushHalf<kFlush>(value.bits))});
    else if constexpr (std::is_same_v<T, Brain>)
        return toFloat(value);
    else if constexpr (std::is_same_v<T, float>)
        return flush<kFlush>(value);
    else
        return value;
}

template <Comparison kWhich, class T, bool kFlush>
LaneMask compareLanes(const Instr& instr, Warp& warp, LaneMask mask) {
    const auto *a = warp.lanes<const LaneWord<T>>(instr.src[0]), *b = warp.lanes<const LaneWord<T>>(instr.src[1]);
    return gather(mask, [&](int lane) {
        return compare<kWhich>(comparable<T, kFlush>(fromLane<T>(a[lane])),
                               comparable<T, kFlush>(fromLane<T>(b[lane])));
    });
}

/// One half of each lane of a pair.
template <Comparison kWhich, class T, bool kFlush>
LaneMask compareHalves(const Instr& instr, Warp& warp, LaneMask mask, int shift) {
    const auto *a = warp.lanes<const std::uint32_t>(instr.src[0]), *b = warp.lanes<const std::uint32_t>(instr.src[1]);
    return gather(mask, [&](int lane) {
        return compare<kWhich>(comparable<T, kFlush>(fromLane<T>(a[lane] >> shift)),
                               comparable<T, kFlush>(fromLane<T>(b[lane] >> shift)));
    });
}

// Instr::immediate of setp and set: bit 2 negates the predicate source, bits 8 and 9 combine it with the comparison,
// bits 32 and up hold what set writes where it is true.
enum class Combine : std::uint8_t { none, conjunction, disjunction, exclusive };
constexpr int kCombineAt = 8, kTrueAt = 32;

inline LaneMask combined(const Instr& instr, Warp& warp, LaneMask value) {
    switch (static_cast<Combine>(instr.immediate >> kCombineAt & 3)) {
        case Combine::none:
            break;
        case Combine::conjunction:
            return value & predicateOf(instr, warp, 2);
        case Combine::disjunction:
            return value | predicateOf(instr, warp, 2);
        case Combine::exclusive:
            return value ^ predicateOf(instr, warp, 2);
    }
    return value;
}

/// p = (a cmp b) BoolOp c, q = !(a cmp b) BoolOp c.
template <Comparison kWhich, class T, bool kFlush>
void setPredicates(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneMask value = compareLanes<kWhich, T, kFlush>(instr, warp, mask);
    const LaneMask p = combined(instr, warp, value), q = combined(instr, warp, ~value);
    setPredicate(warp.predicate(instr.dst[0]), mask, p);
    if (instr.dstCount == 2) setPredicate(warp.predicate(instr.dst[1]), mask, q);
}

/// p for the low halves, q for the high ones.
template <Comparison kWhich, class T, bool kFlush>
void setPredicatesOfPairs(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneMask p = combined(instr, warp, compareHalves<kWhich, T, kFlush>(instr, warp, mask, 0));
    const LaneMask q = combined(instr, warp, compareHalves<kWhich, T, kFlush>(instr, warp, mask, 16));
    setPredicate(warp.predicate(instr.dst[0]), mask, p);
    if (instr.dstCount == 2) setPredicate(warp.predicate(instr.dst[1]), mask, q);
}

template <Comparison kWhich, class T, bool kFlush>
void setValue(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneMask value = combined(instr, warp, compareLanes<kWhich, T, kFlush>(instr, warp, mask));
    const auto yes = static_cast<std::uint32_t>(instr.immediate >> kTrueAt);
    std::uint32_t* const out = warp.lanes<std::uint32_t>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = value >> lane & 1 ? yes : 0; });
}

template <Comparison kWhich, class T, bool kFlush>
void setPairs(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneMask low = combined(instr, warp, compareHalves<kWhich, T, kFlush>(instr, warp, mask, 0));
    const LaneMask high = combined(instr, warp, compareHalves<kWhich, T, kFlush>(instr, warp, mask, 16));
    const auto yes = static_cast<std::uint32_t>(instr.immediate >> kTrueAt);
    std::uint32_t* const out = warp.lanes<std::uint32_t>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = (low >> lane & 1 ? yes : 0) | (high >> lane & 1 ? yes << 16 : 0); });
}

/// The sources a and b, and c where there is a BoolOp.
void lowerSources(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form& form) {
    const bool combines = instr.immediate >> kCombineAt & 3;
    expectOperands(instruction, operands, combines ? 4 : 3, combines ? 4 : 3);
    addSource(instr, operands.source(instruction.operands[1], form.arguments[0]));
    addSource(instr, operands.source(instruction.operands[2], form.arguments[0]));
    if (combines) addPredicateSource(instruction.operands[3], operands, instr);
}

void lowerSetp(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form& form) {
    lowerSources(instruction, operands, instr, form);
    const Operand& result = instruction.operands[0];
    if (result.kind != Operand::Kind::pair) {
        addResult(instr, operands.predicateResult(result));
        return;
    }
    for (const Operand& part : result.parts) addResult(instr, operands.predicateResult(part));
}

void lowerSet(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form& form) {
    lowerSources(instruction, operands, instr, form);
    addResult(instr, operands.result(instruction.operands[0], form.result));
}

struct SetResult {
    const char* name;
    Type type;
    std::uint32_t yes;
};
constexpr SetResult kSetResults[] = {
    {"u32", Type::u32, 0xffffffff}, {"s32", Type::s32, 0xffffffff}, {"f32", Type::f32, 0x3f800000},
    {"u16", Type::u16, 0xffff},     {"s16", Type::s16, 0xffff},     {"f16", Type::f16, 0x3c00},
    {"bf16", Type::bf16, 0x3f80},
};

/// Every BoolOp of one comparison, into a predicate and into a value.
void addComparison(Forms& forms, const std::string& comparison, const std::string& type, Type operand,
                   Handler intoPredicate, Handler intoValue) {
    constexpr const char* kCombines[] = {"", ".and", ".or", ".xor"};
    for (int combine = 0; combine < 4; ++combine) {
        const std::string name = "." + comparison + kCombines[combine];
        forms.add("setp" + name + "." + type, intoPredicate, OpClass::integer, Type::pred, {operand}, &lowerSetp)
            .immediate = std::int64_t{combine} << kCombineAt;
        if (!intoValue) continue;
        for (const SetResult& result : kSetResults)
            forms
                .add("set" + name + "." + result.name + "." + type, intoValue, OpClass::integer, result.type, {operand},
                     &lowerSet)
                .immediate = static_cast<std::int64_t>(std::uint64_t{result.yes} << kTrueAt) | combine << kCombineAt;
    }
}

template <class T, bool kFlush, int... kWhich>
void addComparisons(Forms& forms, const std::string& type, Type operand, std::integer_sequence<int, kWhich...>) {
    const std::string ftz = kFlush ? ".ftz" : "";
    (addComparison(forms, kNames[kWhich] + ftz, type, operand,
                   &setPredicates<static_cast<Comparison>(kWhich), T, kFlush>,
                   &setValue<static_cast<Comparison>(kWhich), T, kFlush>),
     ...);
}

template <class T>
void addIntegerComparisons(Forms& forms, const std::string& type) {
    addComparisons<T, false>(forms, type, typeOf<T>(), std::make_integer_sequence<int, kOrderedCount>{});
    if constexpr (!std::is_signed_v<T>) {
        // Other names of the same comparisons.
        const auto alias = [&]<Comparison kWhich>(const char* name) {
            addComparison(forms, name, type, typeOf<T>(), &setPredicates<kWhich, T, false>,
                          &setValue<kWhich, T, false>);
        };
        alias.template operator()<Comparison::lt>("lo");
        alias.template operator()<Comparison::le>("ls");
        alias.template operator()<Comparison::gt>("hi");
        alias.template operator()<Comparison::ge>("hs");
    }
}

template <class T, bool kFlush>
void addFloatComparisons(Forms& forms, const std::string& type) {
    addComparisons<T, kFlush>(forms, type, typeOf<T>(), std::make_integer_sequence<int, kCount>{});
}

template <class T, bool kFlush, int... kWhich>
void addPairComparisons(Forms& forms, const std::string& type, Type operand, std::uint32_t yes,
                        std::integer_sequence<int, kWhich...>) {
    const std::string ftz = kFlush ? ".ftz" : "";
    (addComparison(forms, kNames[kWhich] + ftz, type, operand,
                   &setPredicatesOfPairs<static_cast<Comparison>(kWhich), T, kFlush>, nullptr),
     ...);
    constexpr const char* kCombines[] = {"", ".and", ".or", ".xor"};
    for (int combine = 0; combine < 4; ++combine)
        ((forms
              .add("set." + (kNames[kWhich] + ftz) + kCombines[combine] + "." + type + "." + type,
                   &setPairs<static_cast<Comparison>(kWhich), T, kFlush>, OpClass::integer, operand, {operand},
                   &lowerSet)
              .immediate = static_cast<std::int64_t>(std::uint64_t{yes} << kTrueAt) | combine << kCombineAt),
         ...);
}

template <class T>
void addEqualities(Forms& forms, const std::string& type, Type operand) {
    addComparisons<T, false>(forms, type, operand, std::make_integer_sequence<int, 2>{});
}

template <class T, class Test>
void test(const Instr& instr, Warp& warp, LaneMask mask) {
    const auto* a = warp.lanes<const LaneWord<T>>(instr.src[0]);
    setPredicate(warp.predicate(instr.dst[0]), mask, gather(mask, [&](int lane) { return Test{}(a[lane]); }));
}

template <class T>
void addTests(Forms& forms, const std::string& type) {
    using Format = typename FormatOf<T>::type;
    using U = std::uint64_t;
    const auto add = [&]<class Test>(const char* name, Test) {
        forms.add(std::string("testp.") + name + "." + type, &test<T, Test>, OpClass::integer, Type::pred,
                  {typeOf<T>()});
    };
    add("finite", [](U a) { return Format::magnitude(a) < Format::kInfinity; });
    add("infinite", [](U a) { return Format::isInfinite(a); });
    add("number", [](U a) { return !Format::isNan(a); });
    add("notanumber", [](U a) { return Format::isNan(a); });
    // Zero counts as normal.
    add("normal", [](U a) { return Format::magnitude(a) < Format::kInfinity && !Format::isSubnormal(a); });
    add("subnormal", [](U a) { return Format::isSubnormal(a); });
}

}  // namespace

void addCompareForms(Forms& forms) {
    addIntegerComparisons<std::uint16_t>(forms, "u16");
    addIntegerComparisons<std::int16_t>(forms, "s16");
    addIntegerComparisons<std::uint32_t>(forms, "u32");
    addIntegerComparisons<std::int32_t>(forms, "s32");
    addIntegerComparisons<std::uint64_t>(forms, "u64");
    addIntegerComparisons<std::int64_t>(forms, "s64");
    addEqualities<std::uint16_t>(forms, "b16", Type::b16);
    addEqualities<std::uint32_t>(forms, "b32", Type::b32);
    addEqualities<std::uint64_t>(forms, "b64", Type::b64);
    addFloatComparisons<float, false>(forms, "f32");
    addFloatComparisons<float, true>(forms, "f32");
    addFloatComparisons<double, false>(forms, "f64");
    addFloatComparisons<Half, false>(forms, "f16");
    addFloatComparisons<Half, true>(forms, "f16");
    addFloatComparisons<Brain, false>(forms, "bf16");
    constexpr auto all = std::make_integer_sequence<int, kCount>{};
    addPairComparisons<Half, false>(forms, "f16x2", Type::f16x2, 0x3c00, all);
    addPairComparisons<Half, true>(forms, "f16x2", Type::f16x2, 0x3c00, all);
    addPairComparisons<Brain, false>(forms, "bf16x2", Type::bf16x2, 0x3f80, all);
    addTests<float>(forms, "f32");
    addTests<double>(forms, "f64");
}

}  // namespace bulkhead::sim
