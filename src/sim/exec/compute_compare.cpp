#include <functional>
#include <utility>

#include "sim/exec/compute_exact.h"
#include "sim/exec/compute_float.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;
using ptx::Operand;
using ptx::Type;

/// How two operands may be to each other.
enum Relation : unsigned { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8, kAny = 15 };

/// A comparison holds for a set of relations.
struct Comparison {
    const char* name;
    unsigned holds;
};
constexpr Comparison kComparisons[] = {
    {"eq", kEqual},
    {"ne", kLess | kGreater},
    {"lt", kLess},
    {"le", kLess | kEqual},
    {"gt", kGreater},
    {"ge", kGreater | kEqual},
    {"equ", kEqual | kUnordered},
    {"neu", kLess | kGreater | kUnordered},
    {"ltu", kLess | kUnordered},
    {"leu", kLess | kEqual | kUnordered},
    {"gtu", kGreater | kUnordered},
    {"geu", kGreater | kEqual | kUnordered},
    {"num", kLess | kEqual | kGreater},
    {"nan", kUnordered},
};
constexpr int kOrderedCount = 6, kCount = 14;

template <unsigned kHolds, class T>
inline bool compare(T a, T b) {
    if constexpr (kHolds & kUnordered)
        return !compare<kAny & ~kHolds>(a, b);
    else if constexpr (kHolds == kEqual)
        return a == b;
    else if constexpr (kHolds == (kLess | kGreater))
        return a < b || a > b;
    else if constexpr (kHolds == kLess)
        return a < b;
    else if constexpr (kHolds == (kLess | kEqual))
        return a <= b;
    else if constexpr (kHolds == kGreater)
        return a > b;
    else if constexpr (kHolds == (kGreater | kEqual))
        return a >= b;
    else
        return a == a && b == b;
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

template <unsigned kHolds, class T, bool kFlush>
LaneMask compareLanes(const Instr& instr, Warp& warp, LaneMask mask) {
    const auto *a = warp.lanes<const LaneWord<T>>(instr.src[0]), *b = warp.lanes<const LaneWord<T>>(instr.src[1]);
    return gather(mask, [&](int lane) {
        return compare<kHolds>(comparable<T, kFlush>(fromLane<T>(a[lane])),
                               comparable<T, kFlush>(fromLane<T>(b[lane])));
    });
}

/// For each relation, the lanes of a mask whose operands have it.
struct Relations {
    LaneMask less, equal, greater;

    LaneMask anyOf(unsigned relations) const {
        return (relations & kLess ? less : 0) | (relations & kEqual ? equal : 0) |
               (relations & kGreater ? greater : 0) | (relations & kUnordered ? ~(less | equal | greater) : 0);
    }
};

/// Of values that begin `shift` bits up in each lane. It serves every comparison of a type: for those that compilers do
/// not emit for ordinary code, which are many.
template <class T, bool kFlush>
__attribute__((noinline)) Relations relationsOf(const Instr& instr, Warp& warp, LaneMask mask, int shift) {
    const auto *a = warp.lanes<const LaneWord<T>>(instr.src[0]), *b = warp.lanes<const LaneWord<T>>(instr.src[1]);
    const auto all = [&](auto relation) {
        return gather(mask, [&](int lane) {
            return relation(comparable<T, kFlush>(fromLane<T>(a[lane] >> shift)),
                            comparable<T, kFlush>(fromLane<T>(b[lane] >> shift)));
        });
    };
    return {all(std::less{}), all(std::equal_to{}), all(std::greater{})};
}

// Instr::immediate of setp and set: bit 2 negates the predicate source, bits 8 and 9 combine it with the comparison,
// bits 16 to 19 have the relations for which that holds, bits 32 and up what set writes where it is true.
enum class Combine : std::uint8_t { none, conjunction, disjunction, exclusive };
constexpr int kCombineAt = 8, kHoldsAt = 16, kTrueAt = 32;

template <class T, bool kFlush>
LaneMask compareRarely(const Instr& instr, Warp& warp, LaneMask mask, int shift = 0) {
    return relationsOf<T, kFlush>(instr, warp, mask, shift).anyOf(instr.immediate >> kHoldsAt & kAny);
}

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
inline void setBoth(const Instr& instr, Warp& warp, LaneMask mask, LaneMask value) {
    const LaneMask p = combined(instr, warp, value), q = combined(instr, warp, ~value);
    setPredicate(warp.predicate(instr.dst[0]), mask, p);
    if (instr.dstCount == 2) setPredicate(warp.predicate(instr.dst[1]), mask, q);
}
template <unsigned kHolds, class T, bool kFlush>
void setPredicates(const Instr& instr, Warp& warp, LaneMask mask) {
    setBoth(instr, warp, mask, compareLanes<kHolds, T, kFlush>(instr, warp, mask));
}
template <class T, bool kFlush>
void setPredicatesRarely(const Instr& instr, Warp& warp, LaneMask mask) {
    setBoth(instr, warp, mask, compareRarely<T, kFlush>(instr, warp, mask));
}

/// p for the low halves, q for the high ones.
template <class T, bool kFlush>
void setPredicatesOfPairs(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneMask p = combined(instr, warp, compareRarely<T, kFlush>(instr, warp, mask));
    const LaneMask q = combined(instr, warp, compareRarely<T, kFlush>(instr, warp, mask, 16));
    setPredicate(warp.predicate(instr.dst[0]), mask, p);
    if (instr.dstCount == 2) setPredicate(warp.predicate(instr.dst[1]), mask, q);
}

template <class T, bool kFlush>
void setValue(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneMask value = combined(instr, warp, compareRarely<T, kFlush>(instr, warp, mask));
    const auto yes = static_cast<std::uint32_t>(instr.immediate >> kTrueAt);
    std::uint32_t* const out = warp.lanes<std::uint32_t>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = value >> lane & 1 ? yes : 0; });
}

template <class T, bool kFlush>
void setPairs(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneMask low = combined(instr, warp, compareRarely<T, kFlush>(instr, warp, mask));
    const LaneMask high = combined(instr, warp, compareRarely<T, kFlush>(instr, warp, mask, 16));
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

constexpr const char* kCombines[] = {"", ".and", ".or", ".xor"};

std::int64_t immediateOf(unsigned holds, int combine, std::uint32_t yes = 0) {
    return static_cast<std::int64_t>(std::uint64_t{yes} << kTrueAt | std::uint64_t{holds} << kHoldsAt) |
           combine << kCombineAt;
}

/// Every BoolOp of one comparison into a predicate.
void addSetp(Forms& forms, const Comparison& comparison, const std::string& flush, const std::string& type,
             Type operand, Handler handler) {
    for (int combine = 0; combine < 4; ++combine)
        forms
            .add("setp." + (comparison.name + flush) + kCombines[combine] + "." + type, handler, OpClass::integer,
                 Type::pred, {operand}, &lowerSetp)
            .immediate = immediateOf(comparison.holds, combine);
}

/// And into a value of a type.
void addSet(Forms& forms, const Comparison& comparison, const std::string& flush, const std::string& type, Type operand,
            const SetResult& result, Handler handler) {
    for (int combine = 0; combine < 4; ++combine)
        forms
            .add("set." + (comparison.name + flush) + kCombines[combine] + "." + result.name + "." + type, handler,
                 OpClass::integer, result.type, {operand}, &lowerSet)
            .immediate = immediateOf(comparison.holds, combine, result.yes);
}

template <class T, bool kFlush>
void addComparison(Forms& forms, const Comparison& comparison, const std::string& type, Type operand,
                   Handler intoPredicate) {
    const std::string flush = kFlush ? ".ftz" : "";
    addSetp(forms, comparison, flush, type, operand, intoPredicate);
    for (const SetResult& result : kSetResults)
        addSet(forms, comparison, flush, type, operand, result, &setValue<T, kFlush>);
}

template <class T, bool kFlush, int... kWhich>
void addComparisons(Forms& forms, const std::string& type, Type operand, std::integer_sequence<int, kWhich...>) {
    (addComparison<T, kFlush>(forms, kComparisons[kWhich], type, operand,
                              &setPredicates<kComparisons[kWhich].holds, T, kFlush>),
     ...);
}

template <class T>
void addIntegerComparisons(Forms& forms, const std::string& type) {
    addComparisons<T, false>(forms, type, typeOf<T>(), std::make_integer_sequence<int, kOrderedCount>{});
    if constexpr (!std::is_signed_v<T>) {
        // Other names of the same comparisons.
        const auto alias = [&]<unsigned kHolds>(const char* name) {
            addComparison<T, false>(forms, {name, kHolds}, type, typeOf<T>(), &setPredicates<kHolds, T, false>);
        };
        alias.template operator()<kLess>("lo");
        alias.template operator()<kLess | kEqual>("ls");
        alias.template operator()<kGreater>("hi");
        alias.template operator()<kGreater | kEqual>("hs");
    }
}

template <class T, bool kFlush>
void addFloatComparisons(Forms& forms, const std::string& type) {
    addComparisons<T, kFlush>(forms, type, typeOf<T>(), std::make_integer_sequence<int, kCount>{});
}

template <class T, bool kFlush>
void addHalfComparisons(Forms& forms, const std::string& type) {
    for (const Comparison& comparison : kComparisons)
        addComparison<T, kFlush>(forms, comparison, type, typeOf<T>(), &setPredicatesRarely<T, kFlush>);
}

/// Into a predicate for each half, and into a pair.
template <class T, bool kFlush>
void addPairComparisons(Forms& forms, const SetResult& pair) {
    const std::string flush = kFlush ? ".ftz" : "";
    for (const Comparison& comparison : kComparisons) {
        addSetp(forms, comparison, flush, pair.name, pair.type, &setPredicatesOfPairs<T, kFlush>);
        addSet(forms, comparison, flush, pair.name, pair.type, pair, &setPairs<T, kFlush>);
    }
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
    addHalfComparisons<Half, false>(forms, "f16");
    addHalfComparisons<Half, true>(forms, "f16");
    addHalfComparisons<Brain, false>(forms, "bf16");
    addPairComparisons<Half, false>(forms, {"f16x2", Type::f16x2, 0x3c00});
    addPairComparisons<Half, true>(forms, {"f16x2", Type::f16x2, 0x3c00});
    addPairComparisons<Brain, false>(forms, {"bf16x2", Type::bf16x2, 0x3f80});
    addTests<float>(forms, "f32");
    addTests<double>(forms, "f64");
}

}  // namespace bulkhead::sim
