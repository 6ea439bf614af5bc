#include <array>

#include "sim/exec/compute.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;
using ptx::Type;
using U32 = std::uint32_t;
using S32 = std::int32_t;
using U64 = std::uint64_t;

template <class T>
constexpr int kBits = 8 * static_cast<int>(sizeof(T));

template <class T>
void addLogic(Forms& forms, const std::string& type) {
    forms.def<T, T, T>("and." + type, OpClass::integer, [](T a, T b) { return a & b; }).untyped();
    forms.def<T, T, T>("or." + type, OpClass::integer, [](T a, T b) { return a | b; }).untyped();
    forms.def<T, T, T>("xor." + type, OpClass::integer, [](T a, T b) { return a ^ b; }).untyped();
    forms.def<T, T>("not." + type, OpClass::integer, [](T a) { return ~a; }).untyped();
    forms.def<T, T>("cnot." + type, OpClass::integer, [](T a) { return a == 0; }).untyped();
    forms.def<T, T, U32>("shl." + type, OpClass::integer, [](T a, U32 n) { return n < kBits<T> ? T(a << n) : T{0}; })
        .untyped();
}

/// A shift by the width or more leaves nothing but the sign.
template <class T>
void addShiftRight(Forms& forms, const std::string& type) {
    forms.def<T, T, U32>("shr." + type, OpClass::integer, [](T a, U32 n) -> T {
        if constexpr (std::is_signed_v<T>)
            return static_cast<T>(a >> (n < kBits<T> ? n : kBits<T> - 1));
        else
            return n < kBits<T> ? static_cast<T>(a >> n) : T{0};
    });
}

void onPredicates(const Instr& instr, Warp& warp, LaneMask mask, LaneMask value) {
    setPredicate(warp.predicate(instr.dst[0]), mask, value);
}

/// Position of the most significant bit that is set, or, where signed, that differs from the sign; -1 if none.
template <class T>
inline U32 findBit(T value) {
    using U = std::make_unsigned_t<T>;
    auto bits = static_cast<U>(value);
    if (std::is_signed_v<T> && value < 0) bits = static_cast<U>(~bits);
    return static_cast<U32>(kBits<T> - 1 - std::countl_zero(bits));
}

template <class T>
inline T reverse(T value) {
    T result = 0;
    for (int bit = 0; bit < kBits<T>; ++bit) result |= (value >> bit & T{1}) << (kBits<T> - 1 - bit);
    return result;
}
template <>
inline U32 reverse(U32 v) {
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(v);
}
template <>
inline U64 reverse(U64 v) {
    return U64{reverse(static_cast<U32>(v))} << 32 | reverse(static_cast<U32>(v >> 32));
}

/// `length` ones from bit 0 up; all bits when length is the width or more.
template <class T>
inline T ones(U32 length) {
    return length >= kBits<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
}

/// Positions and lengths count modulo 256 for words; for double words hardware takes them as they are.
template <class T>
inline U32 fieldOperand(U32 value) {
    return sizeof(T) == 8 ? std::min<U32>(value, 256) : value & 0xff;
}

template <class T>
inline T extractField(T value, U32 b, U32 c) {
    using U = std::make_unsigned_t<T>;
    const U32 position = fieldOperand<T>(b), length = fieldOperand<T>(c);
    const U bits = static_cast<U>(value);
    const U field = position < kBits<T> ? (bits >> position) & ones<U>(length) : U{0};
    if constexpr (!std::is_signed_v<T>)
        return field;
    else {
        if (length == 0) return 0;
        const U32 signAt = std::min<U32>(position + length - 1, kBits<T> - 1);
        if (!(bits >> signAt & 1)) return static_cast<T>(field);
        // Fill above the part of the field that lies within the word.
        const U32 present = position < kBits<T> ? std::min<U32>(length, kBits<T> - position) : 0;
        return static_cast<T>(field | static_cast<U>(~ones<U>(present)));
    }
}

template <class T>
inline T insertField(T a, T b, U32 c, U32 d) {
    const U32 position = fieldOperand<T>(c), length = fieldOperand<T>(d);
    if (position >= kBits<T>) return b;
    const T mask = static_cast<T>(ones<T>(length) << position);
    return (b & ~mask) | (static_cast<T>(a << position) & mask);
}

/// The n-th set bit of the mask, counted from `base` upwards, or downwards for a negative n; all ones if none.
inline U32 findNthSet(U32 mask, U32 base, S32 offset) {
    if (offset == 0) return base < 32 && mask >> base & 1 ? base : ~U32{0};
    const int step = offset > 0 ? 1 : -1;
    std::int64_t count = std::int64_t{offset} * step - 1;
    for (std::int64_t at = base; at >= 0 && at < 32; at += step) {
        if (!(mask >> at & 1)) continue;
        if (count-- == 0) return static_cast<U32>(at);
    }
    return ~U32{0};
}

template <bool kClamp>
inline U32 bitMask(U32 position, U32 width) {
    if (kClamp && position >= 32) return 0;
    const U32 from = position & 31;
    const U32 above = ~U32{0} << from;
    if (kClamp && width >= 32) return above;
    const U32 end = from + (width & 31);
    return end >= 32 ? above : above & ~(~U32{0} << end);
}

template <class T, bool kClamp>
inline T extend(T value, U32 width) {
    if (kClamp && width >= 32) return value;
    const U32 length = width & 31, bits = static_cast<U32>(value) & ones<U32>(length);
    const bool fill = std::is_signed_v<T> && length != 0 && (bits >> (length - 1) & 1);
    return static_cast<T>(fill ? bits | ~ones<U32>(length) : bits);
}

template <bool kLeft, bool kClamp>
inline U32 funnel(U32 a, U32 b, U32 c) {
    const U32 n = kClamp ? std::min<U32>(c, 32) : c & 31;
    const U64 both = U64{b} << 32 | a;
    return kLeft ? static_cast<U32>((both << n) >> 32) : static_cast<U32>(both >> n);
}

inline U32 byteAt(U64 both, U32 index) {
    return static_cast<U32>(both >> (8 * (index & 7))) & 0xff;
}

/// prmt with one of the modes that derive four selectors from two bits.
template <class Select>
auto permute(Select) {
    return [](U32 a, U32 b, U32 c) {
        const U64 both = U64{b} << 32 | a;
        U32 result = 0;
        for (int i = 0; i < 4; ++i)
            result |= byteAt(both, static_cast<U32>(Select{}(i, static_cast<int>(c & 3)))) << (8 * i);
        return result;
    };
}

/// lop3 by its algebraic normal form: the coefficient of each product of a, b and c is the parity of the table's
/// entries below it. Eighteen operations on whole vectors, whatever the table.
std::array<U32, 8> normalForm(U32 table) {
    // The table's index is a * 4 + b * 2 + c.
    for (int bit = 1; bit < 8; bit <<= 1)
        for (int i = 0; i < 8; ++i)
            if (i & bit) table ^= (table >> (i ^ bit) & 1) << i;
    std::array<U32, 8> coefficients;
    for (int i = 0; i < 8; ++i) coefficients[static_cast<std::size_t>(i)] = table >> i & 1 ? ~U32{0} : 0;
    return coefficients;
}

inline U32 lop3(const std::array<U32, 8>& k, U32 a, U32 b, U32 c) {
    const U32 ab = a & b;
    return k[0] ^ (k[1] & c) ^ (k[2] & b) ^ (k[3] & b & c) ^ (k[4] & a) ^ (k[5] & a & c) ^ (k[6] & ab) ^
           (k[7] & ab & c);
}

void runLop3(const Instr& instr, Warp& warp, LaneMask mask) {
    const std::array<U32, 8> k = normalForm(static_cast<U32>(instr.immediate & 0xff));
    U32* const out = warp.lanes<U32>(instr.dst[0]);
    const U32 *a = warp.lanes<U32>(instr.src[0]), *b = warp.lanes<U32>(instr.src[1]),
              *c = warp.lanes<U32>(instr.src[2]);
    if (mask == kAllLanes) {
        BULKHEAD_INDEPENDENT_LANES
        for (int lane = 0; lane < kLanes; ++lane) out[lane] = lop3(k, a[lane], b[lane], c[lane]);
    } else {
        forLanes(mask, [&](int lane) { out[lane] = lop3(k, a[lane], b[lane], c[lane]); });
    }
}

/// d|p = lop3; p = (d != 0) BoolOp q.
template <bool kAnd>
void runLop3Predicate(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneMask q = instr.immediate & 0x100 ? ~warp.predicate(instr.src[3]) : warp.predicate(instr.src[3]);
    runLop3(instr, warp, mask);
    const U32* const value = warp.lanes<U32>(instr.dst[0]);
    const LaneMask any = gather(mask, [&](int lane) { return value[lane] != 0; });
    setPredicate(warp.predicate(instr.dst[1]), mask, kAnd ? any & q : any | q);
}

void lowerLop3(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form& form) {
    const bool withPredicate = form.result == Type::pred;
    const std::size_t count = withPredicate ? 6 : 5;
    expectOperands(instruction, operands, count, count);
    const auto& ops = instruction.operands;
    if (ops[4].kind != ptx::Operand::Kind::integer || ops[4].integer < 0 || ops[4].integer > 255)
        operands.refuse(instruction, "the look-up table must be a constant from 0 to 255");
    if (withPredicate) {
        if (ops[0].kind != ptx::Operand::Kind::pair || ops[0].parts.size() != 2)
            operands.refuse(instruction, "a result and a predicate, d|p, expected");
        addResult(instr, operands.result(ops[0].parts[0], Type::b32));
        addResult(instr, operands.predicateResult(ops[0].parts[1]));
    } else {
        addResult(instr, operands.result(ops[0], Type::b32));
    }
    for (std::size_t i = 1; i <= 3; ++i) addSource(instr, operands.source(ops[i], Type::b32));
    if (withPredicate) addSource(instr, operands.predicateSource(ops[5]));
    instr.immediate = ops[4].integer | (withPredicate && ops[5].negated ? 0x100 : 0);
}

}  // namespace

void addBitForms(Forms& forms) {
    addLogic<std::uint16_t>(forms, "b16");
    addLogic<U32>(forms, "b32");
    addLogic<U64>(forms, "b64");
    addShiftRight<std::uint16_t>(forms, "u16");
    addShiftRight<std::int16_t>(forms, "s16");
    addShiftRight<U32>(forms, "u32");
    addShiftRight<S32>(forms, "s32");
    addShiftRight<U64>(forms, "u64");
    addShiftRight<std::int64_t>(forms, "s64");
    addShiftRight<std::uint16_t>(forms, "b16");
    addShiftRight<U32>(forms, "b32");
    addShiftRight<U64>(forms, "b64");

    const std::initializer_list<Type> two = {Type::pred, Type::pred}, one = {Type::pred};
    forms.add(
        "and.pred",
        [](const Instr& i, Warp& w, LaneMask m) { onPredicates(i, w, m, predicateOf(i, w, 0) & predicateOf(i, w, 1)); },
        OpClass::integer, Type::pred, two);
    forms.add(
        "or.pred",
        [](const Instr& i, Warp& w, LaneMask m) { onPredicates(i, w, m, predicateOf(i, w, 0) | predicateOf(i, w, 1)); },
        OpClass::integer, Type::pred, two);
    forms.add(
        "xor.pred",
        [](const Instr& i, Warp& w, LaneMask m) { onPredicates(i, w, m, predicateOf(i, w, 0) ^ predicateOf(i, w, 1)); },
        OpClass::integer, Type::pred, two);
    forms.add(
        "not.pred", [](const Instr& i, Warp& w, LaneMask m) { onPredicates(i, w, m, ~predicateOf(i, w, 0)); },
        OpClass::integer, Type::pred, one);
    forms.add(
        "mov.pred", [](const Instr& i, Warp& w, LaneMask m) { onPredicates(i, w, m, predicateOf(i, w, 0)); },
        OpClass::integer, Type::pred, one);

    forms.def<U32, U32>("popc.b32", OpClass::integerMul, [](U32 a) { return std::popcount(a); }).untyped();
    forms.def<U32, U64>("popc.b64", OpClass::integerMul, [](U64 a) { return std::popcount(a); }).untyped();
    forms.def<U32, U32>("clz.b32", OpClass::integerMul, [](U32 a) { return std::countl_zero(a); }).untyped();
    forms.def<U32, U64>("clz.b64", OpClass::integerMul, [](U64 a) { return std::countl_zero(a); }).untyped();
    forms.def<U32, U32>("brev.b32", OpClass::integerMul, [](U32 a) { return reverse(a); }).untyped();
    forms.def<U64, U64>("brev.b64", OpClass::integerMul, [](U64 a) { return reverse(a); }).untyped();

    const auto perType = [&]<class T>(T, const std::string& type) {
        forms.def<U32, T>("bfind." + type, OpClass::integerMul, [](T a) { return findBit(a); });
        forms.def<U32, T>("bfind.shiftamt." + type, OpClass::integerMul, [](T a) {
            const U32 at = findBit(a);
            return at == ~U32{0} ? at : kBits<T> - 1 - at;
        });
        forms.def<T, T, U32, U32>("bfe." + type, OpClass::integer,
                                  [](T a, U32 b, U32 c) { return extractField(a, b, c); });
    };
    perType(U32{}, "u32");
    perType(S32{}, "s32");
    perType(U64{}, "u64");
    perType(std::int64_t{}, "s64");
    forms
        .def<U32, U32, U32, U32, U32>("bfi.b32", OpClass::integer,
                                      [](U32 a, U32 b, U32 c, U32 d) { return insertField(a, b, c, d); })
        .untyped();
    forms
        .def<U64, U64, U64, U32, U32>("bfi.b64", OpClass::integer,
                                      [](U64 a, U64 b, U32 c, U32 d) { return insertField(a, b, c, d); })
        .untyped();
    forms.def<U32, U32, U32, S32>("fns.b32", OpClass::integerMul,
                                  [](U32 a, U32 b, S32 c) { return findNthSet(a, b, c); });
    forms.def<U32, U32, U32>("bmsk.clamp.b32", OpClass::integer, [](U32 a, U32 b) { return bitMask<true>(a, b); })
        .untyped();
    forms.def<U32, U32, U32>("bmsk.wrap.b32", OpClass::integer, [](U32 a, U32 b) { return bitMask<false>(a, b); })
        .untyped();
    forms.def<U32, U32, U32>("szext.clamp.u32", OpClass::integer, [](U32 a, U32 b) { return extend<U32, true>(a, b); });
    forms.def<U32, U32, U32>("szext.wrap.u32", OpClass::integer, [](U32 a, U32 b) { return extend<U32, false>(a, b); });
    forms.def<S32, S32, U32>("szext.clamp.s32", OpClass::integer, [](S32 a, U32 b) { return extend<S32, true>(a, b); });
    forms.def<S32, S32, U32>("szext.wrap.s32", OpClass::integer, [](S32 a, U32 b) { return extend<S32, false>(a, b); });

    const auto shift = [&](const char* name, auto op) {
        forms.def<U32, U32, U32, U32>(name, OpClass::integer, op).untyped();
    };
    shift("shf.l.wrap.b32", [](U32 a, U32 b, U32 c) { return funnel<true, false>(a, b, c); });
    shift("shf.l.clamp.b32", [](U32 a, U32 b, U32 c) { return funnel<true, true>(a, b, c); });
    shift("shf.r.wrap.b32", [](U32 a, U32 b, U32 c) { return funnel<false, false>(a, b, c); });
    shift("shf.r.clamp.b32", [](U32 a, U32 b, U32 c) { return funnel<false, true>(a, b, c); });
    shift("prmt.b32", [](U32 a, U32 b, U32 c) {
        const U64 both = U64{b} << 32 | a;
        U32 result = 0;
        for (int i = 0; i < 4; ++i) {
            const U32 selector = c >> (4 * i) & 0xf, byte = byteAt(both, selector);
            // Bit 3 of a selector replicates the byte's sign over it.
            result |= (selector & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
        }
        return result;
    });
    shift("prmt.b32.f4e", permute([](int i, int n) { return n + i; }));
    shift("prmt.b32.b4e", permute([](int i, int n) { return n - i; }));
    shift("prmt.b32.rc8", permute([](int, int n) { return n; }));
    shift("prmt.b32.ecl", permute([](int i, int n) { return i > n ? i : n; }));
    shift("prmt.b32.ecr", permute([](int i, int n) { return i < n ? i : n; }));
    shift("prmt.b32.rc16", permute([](int i, int n) { return (n & 1) * 2 + (i & 1); }));

    forms.add("lop3.b32", &runLop3, OpClass::integer, Type::b32, {}, &lowerLop3);
    forms.add("lop3.and.b32", &runLop3Predicate<true>, OpClass::integer, Type::pred, {}, &lowerLop3);
    forms.add("lop3.or.b32", &runLop3Predicate<false>, OpClass::integer, Type::pred, {}, &lowerLop3);
}

}  // namespace bulkhead::sim
