#include <limits>

#include "sim/exec/compute.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;
using ptx::Type;

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// Twice as wide, with the same sign.
template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Int128, Uint128>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>>;

// Arithmetic that wraps: done unsigned, and at least 32 bits wide, for narrower types are promoted to int.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
T addWrap(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <class T>
T subWrap(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <class T>
T mulLow(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <class T>
T mulHigh(T a, T b) {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
}

inline std::int32_t saturate(std::int64_t value) {
    constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t kHigh = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(value < kLow ? kLow : value > kHigh ? kHigh : value);
}

/// The 24-bit operands of mul24, extended by their sign.
template <class T>
inline std::int64_t low24(T value) {
    if constexpr (std::is_signed_v<T>)
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << 8) >> 8;
    else
        return static_cast<std::int64_t>(value & 0xffffff);
}

template <class T>
[[gnu::cold]] void addArithmetic(Forms& forms, const std::string& type) {
    forms.def<T, T, T>("add." + type, OpClass::integer, [](T a, T b) { return addWrap(a, b); });
    forms.def<T, T, T>("sub." + type, OpClass::integer, [](T a, T b) { return subWrap(a, b); });
    forms.def<T, T, T>("min." + type, OpClass::integer, [](T a, T b) { return b < a ? b : a; });
    forms.def<T, T, T>("max." + type, OpClass::integer, [](T a, T b) { return a < b ? b : a; });
    forms.def<T, T, T>("mul.lo." + type, OpClass::integerMul, [](T a, T b) { return mulLow(a, b); });
    forms.def<T, T, T>("mul.hi." + type, OpClass::integerMul, [](T a, T b) { return mulHigh(a, b); });
    forms.def<T, T, T, T>("mad.lo." + type, OpClass::integerMul,
                          [](T a, T b, T c) { return addWrap(mulLow(a, b), c); });
    forms.def<T, T, T, T>("mad.hi." + type, OpClass::integerMul,
                          [](T a, T b, T c) { return addWrap(mulHigh(a, b), c); });
    forms.def<T, T, T, T>("sad." + type, OpClass::integer,
                          [](T a, T b, T c) { return addWrap(c, a < b ? subWrap(b, a) : subWrap(a, b)); });
    // By zero, hardware's instruction sequences leave all ones, both for the quotient and for the remainder.
    forms.def<T, T, T>("div." + type, OpClass::integerDiv, [](T a, T b) -> T {
        if (b == 0) return static_cast<T>(-1);
        if constexpr (std::is_signed_v<T>)
            if (b == -1) return subWrap(T{0}, a);
        return static_cast<T>(a / b);
    });
    forms.def<T, T, T>("rem." + type, OpClass::integerDiv, [](T a, T b) -> T {
        if (b == 0) return static_cast<T>(-1);
        if constexpr (std::is_signed_v<T>)
            if (b == -1) return 0;
        return static_cast<T>(a % b);
    });
    if constexpr (std::is_signed_v<T>) {
        forms.def<T, T>("abs." + type, OpClass::integer, [](T a) { return a < 0 ? subWrap(T{0}, a) : a; });
        forms.def<T, T>("neg." + type, OpClass::integer, [](T a) { return subWrap(T{0}, a); });
    }
    if constexpr (sizeof(T) < 8) {
        using W = Wide<T>;
        forms.def<W, T, T>("mul.wide." + type, OpClass::integerMul,
                           [](T a, T b) { return static_cast<W>(W{a} * W{b}); });
        forms.def<W, T, T, W>("mad.wide." + type, OpClass::integerMul,
                              [](T a, T b, W c) { return addWrap(static_cast<W>(W{a} * W{b}), c); });
    }
    if constexpr (sizeof(T) == 4) {
        forms.def<T, T, T>("mul24.lo." + type, OpClass::integerMul, [](T a, T b) { return low24(a) * low24(b); });
        forms.def<T, T, T>("mul24.hi." + type, OpClass::integerMul, [](T a, T b) { return low24(a) * low24(b) >> 16; });
        forms.def<T, T, T, T>("mad24.lo." + type, OpClass::integerMul,
                              [](T a, T b, T c) { return low24(a) * low24(b) + c; });
        forms.def<T, T, T, T>("mad24.hi." + type, OpClass::integerMul,
                              [](T a, T b, T c) { return (low24(a) * low24(b) >> 16) + c; });
    }
}

/// Two 16-bit operations in a register.
template <class T, class Op>
auto inHalves(Op) {
    return [](std::uint32_t a, std::uint32_t b) -> std::uint32_t {
        const T low = Op{}(static_cast<T>(a), static_cast<T>(b));
        const T high = Op{}(static_cast<T>(a >> 16), static_cast<T>(b >> 16));
        return static_cast<std::uint16_t>(low) | std::uint32_t{static_cast<std::uint16_t>(high)} << 16;
    };
}

/// A sum with carry: what add.cc, addc, sub.cc and their like leave in the carry flag. Subtraction is the addition of
/// the complement; PTX's carry after it is a borrow, the opposite of the adder's.
template <class T>
struct Sum {
    T value;
    bool carry;
};
template <class T>
inline Sum<T> addCarry(T a, T b, bool carry) {
    const T partial = a + b, value = partial + carry;
    return {value, partial < a || value < partial};
}
template <class T>
inline Sum<T> subBorrow(T a, T b, bool borrow) {
    const T partial = a - b, value = partial - borrow;
    return {value, a < b || partial < T{borrow}};
}

enum class Product : std::uint8_t { none, low, high };

/// dst[0] = src[0] (* src[1]) +- src[last] with carry in from src[4] and out to dst[1].
template <class T, bool kSubtract, Product kProduct, bool kIn, bool kOut>
void withCarry(const Instr& instr, Warp& warp, LaneMask mask) {
    using U = Unsigned<T>;
    U* const out = warp.lanes<U>(instr.dst[0]);
    const T *a = warp.lanes<const T>(instr.src[0]), *b = warp.lanes<const T>(instr.src[1]);
    const U* c = kProduct == Product::none ? nullptr : warp.lanes<const U>(instr.src[2]);
    const LaneMask in = kIn ? warp.predicate(instr.src[4]) : 0;
    LaneMask carries = 0;
    forLanes(mask, [&](int lane) {
        U left, right;
        if constexpr (kProduct == Product::none) {
            left = static_cast<U>(a[lane]);
            right = static_cast<U>(b[lane]);
        } else {
            left = static_cast<U>(kProduct == Product::low ? mulLow(a[lane], b[lane]) : mulHigh(a[lane], b[lane]));
            right = c[lane];
        }
        const bool carry = in >> lane & 1;
        const Sum<U> sum = kSubtract ? subBorrow<U>(left, right, carry) : addCarry<U>(left, right, carry);
        out[lane] = sum.value;
        carries |= LaneMask{sum.carry} << lane;
    });
    if constexpr (kOut) setPredicate(warp.predicate(instr.dst[1]), mask, carries);
}

template <bool kIn, bool kOut>
void lowerCarry(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form& form) {
    lowerPlain(instruction, operands, instr, form);
    if (kIn) instr.src[4] = operands.carry();
    if (kOut) addResult(instr, operands.carry());
}

template <class T, bool kIn, bool kOut>
[[gnu::cold]] void addCarryForms(Forms& forms, const std::string& type) {
    constexpr Type kType = typeOf<T>();
    const std::string suffix = (kOut ? ".cc." : ".") + type, c = kIn ? "c" : "";
    const std::initializer_list<Type> two = {kType, kType}, three = {kType, kType, kType};
    forms.add("add" + c + suffix, &withCarry<T, false, Product::none, kIn, kOut>, OpClass::integer, kType, two,
              &lowerCarry<kIn, kOut>);
    forms.add("sub" + c + suffix, &withCarry<T, true, Product::none, kIn, kOut>, OpClass::integer, kType, two,
              &lowerCarry<kIn, kOut>);
    forms.add("mad" + c + ".lo" + suffix, &withCarry<T, false, Product::low, kIn, kOut>, OpClass::integerMul, kType,
              three, &lowerCarry<kIn, kOut>);
    forms.add("mad" + c + ".hi" + suffix, &withCarry<T, false, Product::high, kIn, kOut>, OpClass::integerMul, kType,
              three, &lowerCarry<kIn, kOut>);
}

/// Byte i of a word, extended by its sign where T is signed.
template <class T>
inline std::int32_t byteOf(std::uint32_t word, int i) {
    const auto byte = static_cast<std::uint8_t>(word >> (8 * i));
    return std::is_signed_v<T> ? static_cast<std::int8_t>(byte) : std::int32_t{byte};
}
template <class T>
inline std::int32_t halfOf(std::uint32_t word, int i) {
    const auto half = static_cast<std::uint16_t>(word >> (16 * i));
    return std::is_signed_v<T> ? static_cast<std::int16_t>(half) : std::int32_t{half};
}

template <class A, class B>
[[gnu::cold]] void addDotProducts(Forms& forms, const std::string& types) {
    using U = std::uint32_t;
    using R = std::conditional_t<std::is_signed_v<A> || std::is_signed_v<B>, std::int32_t, U>;
    forms.def<R, A, B, R>("dp4a." + types, OpClass::integerMul, [](A a, B b, R c) {
        U sum = static_cast<U>(c);
        for (int i = 0; i < 4; ++i)
            sum += static_cast<U>(byteOf<A>(static_cast<U>(a), i) * byteOf<B>(static_cast<U>(b), i));
        return static_cast<R>(sum);
    });
    const auto pair = [](A a, B b, R c, int first) {
        U sum = static_cast<U>(c);
        for (int i = 0; i < 2; ++i)
            sum += static_cast<U>(halfOf<A>(static_cast<U>(a), i)) *
                   static_cast<U>(byteOf<B>(static_cast<U>(b), first + i));
        return static_cast<R>(sum);
    };
    using Pair = decltype(pair);
    forms.def<R, A, B, R>("dp2a.lo." + types, OpClass::integerMul, [](A a, B b, R c) { return Pair{}(a, b, c, 0); });
    forms.def<R, A, B, R>("dp2a.hi." + types, OpClass::integerMul, [](A a, B b, R c) { return Pair{}(a, b, c, 2); });
}

}  // namespace

[[gnu::cold]] void addIntegerForms(Forms& forms) {
    using S16 = std::int16_t;
    using U16 = std::uint16_t;
    using S32 = std::int32_t;
    using U32 = std::uint32_t;
    using S64 = std::int64_t;
    using U64 = std::uint64_t;

    addArithmetic<U16>(forms, "u16");
    addArithmetic<S16>(forms, "s16");
    addArithmetic<U32>(forms, "u32");
    addArithmetic<S32>(forms, "s32");
    addArithmetic<U64>(forms, "u64");
    addArithmetic<S64>(forms, "s64");

    forms.def<S32, S32, S32>("add.sat.s32", OpClass::integer, [](S32 a, S32 b) { return saturate(S64{a} + b); });
    forms.def<S32, S32, S32>("sub.sat.s32", OpClass::integer, [](S32 a, S32 b) { return saturate(S64{a} - b); });
    forms.def<S32, S32, S32, S32>("mad.hi.sat.s32", OpClass::integerMul,
                                  [](S32 a, S32 b, S32 c) { return saturate(S64{mulHigh(a, b)} + c); });
    forms.def<S32, S32, S32, S32>("mad24.hi.sat.s32", OpClass::integerMul,
                                  [](S32 a, S32 b, S32 c) { return saturate((low24(a) * low24(b) >> 16) + c); });
    forms.def<S32, S32, S32>("min.relu.s32", OpClass::integer, [](S32 a, S32 b) {
        const S32 least = b < a ? b : a;
        return least < 0 ? 0 : least;
    });
    forms.def<S32, S32, S32>("max.relu.s32", OpClass::integer, [](S32 a, S32 b) {
        const S32 most = a < b ? b : a;
        return most < 0 ? 0 : most;
    });

    const auto pair = [&](const char* name, auto op) {
        forms.def<U32, U32, U32>(name, OpClass::integer, op).untyped();
    };
    constexpr auto add = [](auto a, auto b) { return addWrap(a, b); };
    constexpr auto least = [](auto a, auto b) { return b < a ? b : a; };
    constexpr auto most = [](auto a, auto b) { return a < b ? b : a; };
    constexpr auto leastRelu = [](S16 a, S16 b) -> S16 { return (b < a ? b : a) < 0 ? S16{0} : b < a ? b : a; };
    constexpr auto mostRelu = [](S16 a, S16 b) -> S16 { return (a < b ? b : a) < 0 ? S16{0} : a < b ? b : a; };
    pair("add.u16x2", inHalves<U16>(add));
    pair("add.s16x2", inHalves<S16>(add));
    pair("min.u16x2", inHalves<U16>(least));
    pair("min.s16x2", inHalves<S16>(least));
    pair("max.u16x2", inHalves<U16>(most));
    pair("max.s16x2", inHalves<S16>(most));
    pair("min.relu.s16x2", inHalves<S16>(leastRelu));
    pair("max.relu.s16x2", inHalves<S16>(mostRelu));

    const auto carries = [&]<class T>(T, const std::string& type) {
        addCarryForms<T, false, true>(forms, type);
        addCarryForms<T, true, false>(forms, type);
        addCarryForms<T, true, true>(forms, type);
    };
    carries(U32{}, "u32");
    carries(S32{}, "s32");
    carries(U64{}, "u64");
    carries(S64{}, "s64");

    addDotProducts<U32, U32>(forms, "u32.u32");
    addDotProducts<U32, S32>(forms, "u32.s32");
    addDotProducts<S32, U32>(forms, "s32.u32");
    addDotProducts<S32, S32>(forms, "s32.s32");
}

}  // namespace bulkhead::sim
