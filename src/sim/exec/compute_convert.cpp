#include <limits>

#include "sim/exec/compute_exact.h"
#include "sim/exec/compute_float.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;
using ptx::Operand;
using ptx::Type;

template <class T>
inline std::uint64_t bitsOfAny(T value) {
    return toLane<T>(value);
}
template <class T>
inline T ofBits(std::uint64_t bits) {
    return fromLane<T>(static_cast<LaneWord<T>>(bits));
}

// Integer to integer -------------------------------------------------------------------------------------------------

template <class To, class From>
inline To saturateTo(From value) {
    if (std::cmp_less(value, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (std::cmp_greater(value, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(value);
}

// Float to integer ---------------------------------------------------------------------------------------------------

/// To an integer as a float, with the host's arithmetic alone: its rounding functions would be calls.
template <Round kRound, class F>
inline F roundToIntegral(F value) {
    // At this size there are no fractions left, and adding it rounds to nearest even.
    constexpr F kNoFraction = std::is_same_v<F, float> ? F{0x1p23} : F{0x1p52};
    const F magnitude = std::abs(value);
    const F nearest = magnitude < kNoFraction ? (magnitude + kNoFraction) - kNoFraction : magnitude;
    if constexpr (kRound == Round::nearest) return std::copysign(nearest, value);
    if constexpr (kRound == Round::zero) return std::copysign(nearest > magnitude ? nearest - 1 : nearest, value);
    const F whole = std::copysign(nearest, value);
    const F result = kRound == Round::down ? (whole > value ? whole - 1 : whole) : (whole < value ? whole + 1 : whole);
    return std::copysign(result, value);  // ceil(-0.7) is -0
}

/// Out of range saturates. NaN becomes zero, but hardware's 64-bit path, which every f64 takes, makes it the value with
/// only the top bit set.
template <class I, Round kRound, class F>
inline I toInteger(F value) {
    constexpr int kBits = 8 * sizeof(I);
    constexpr I kNan =
        std::is_same_v<F, double> || kBits == 64 ? static_cast<I>(std::make_unsigned_t<I>{1} << (kBits - 1)) : I{0};
    constexpr F kLow = static_cast<F>(std::numeric_limits<I>::min());
    constexpr F kBeyond = static_cast<F>(std::uint64_t{1} << (std::numeric_limits<I>::digits - 1)) * 2;
    // The host's own conversion rounds towards zero, so anything above kLow - 1 will do; where that is not a number of
    // the format, the least integer is the limit as well.
    const F whole = kRound == Round::zero ? value : roundToIntegral<kRound>(value);
    const bool fits = (kRound == Round::zero ? whole > kLow - 1 : whole >= kLow) && whole < kBeyond;
    const I inside = static_cast<I>(fits ? whole : F{0});
    const I limit = whole <= kLow ? std::numeric_limits<I>::min() : std::numeric_limits<I>::max();
    return value != value ? kNan : fits ? inside : limit;
}

/// The same as a call: there are hundreds of rare conversions.
template <class I, Round kRound, class F>
__attribute__((noinline)) I toIntegerRarely(F value) {
    return toInteger<I, kRound>(value);
}

/// The host type to work in: every f16 and bf16 is an f32.
inline float working(Half value) {
    return toFloat(value);
}
inline float working(Brain value) {
    return toFloat(value);
}
inline float working(float value) {
    return value;
}
inline double working(double value) {
    return value;
}

// Integer to float ---------------------------------------------------------------------------------------------------

template <class F, Round kRound, class I>
inline F fromInteger(I value) {
    using Format = typename FormatOf<F>::type;
    if constexpr (std::is_same_v<F, float> && kRound == Round::nearest && sizeof(I) == 8) {
        // Not by the host's conversion: clang 14 vectorises that by way of double, which rounds twice.
        const double high = static_cast<double>(
            static_cast<std::conditional_t<std::is_signed_v<I>, std::int32_t, std::uint32_t>>(value >> 32));
        return static_cast<float>(addToOdd(high * 0x1p32, static_cast<double>(static_cast<std::uint32_t>(value))));
    } else if constexpr ((std::is_same_v<F, float> && kRound == Round::nearest) ||
                         (std::is_same_v<F, double> && (kRound == Round::nearest || sizeof(I) <= 4))) {
        return static_cast<F>(value);
    } else if constexpr (std::is_same_v<F, Half> && kRound == Round::nearest && sizeof(I) <= 4) {
        return toHalf(narrowToOdd(static_cast<double>(value)));
    } else {
        const bool negative = value < 0;
        const std::uint64_t magnitude =
            negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
        return ofBits<F>(roundTo<Format>({negative, 0, magnitude}, kRound));
    }
}

// Float to float -----------------------------------------------------------------------------------------------------

/// A NaN keeps its sign and the top of its payload where f64 is involved; the other paths make the canonical one.
template <class To, class From>
inline std::uint64_t convertNan(std::uint64_t bits) {
    using T = typename FormatOf<To>::type;
    using F = typename FormatOf<From>::type;
    if constexpr (!std::is_same_v<To, double> && !std::is_same_v<From, double>) return T::kNaN;
    const std::uint64_t sign = F::isNegative(bits) ? T::kSign : 0;
    std::uint64_t payload = bits & (F::kImplicit - 1);
    if constexpr (T::kMantissa >= F::kMantissa)
        payload <<= T::kMantissa - F::kMantissa;
    else
        payload >>= F::kMantissa - T::kMantissa;
    return sign | T::kInfinity | T::kImplicit >> 1 | payload;
}

template <class To, Round kRound, class From>
inline To convertFloat(From value) {
    using T = typename FormatOf<To>::type;
    using F = typename FormatOf<From>::type;
    const std::uint64_t bits = bitsOfAny(value);
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half> && kRound == Round::nearest)
        return toHalf(value);
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Brain> && kRound == Round::nearest)
        return toBrain(value);
    if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) return canonical(toFloat(value));
    if constexpr (std::is_same_v<From, Brain> && std::is_same_v<To, float>) return toFloat(value);  // NaNs as they are
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, double>)
        return value != value ? ofBits<double>(convertNan<To, From>(bits)) : static_cast<double>(value);
    if constexpr (std::is_same_v<From, double> && std::is_same_v<To, float> && kRound == Round::nearest)
        return value != value ? ofBits<float>(convertNan<To, From>(bits)) : static_cast<float>(value);
    if (F::isNan(bits)) return ofBits<To>(convertNan<To, From>(bits));
    if (F::isInfinite(bits)) return ofBits<To>(T::kInfinity | (F::isNegative(bits) ? T::kSign : 0));
    return ofBits<To>(roundTo<T>(exactOf<F>(bits), kRound));
}

template <class F>
constexpr std::uint64_t bitsOfOne() {
    using Format = typename FormatOf<F>::type;
    return static_cast<std::uint64_t>(Format::kBias) << Format::kMantissa;
}
/// To [+0, 1]; NaN becomes +0.
template <class F>
inline F saturateFloat(F value) {
    const auto x = working(value);
    return x > 0 ? (x < 1 ? value : ofBits<F>(bitsOfOne<F>())) : ofBits<F>(0);
}
/// Negative numbers become +0; NaN stays.
template <class F>
inline F rectify(F value) {
    const auto x = working(value);
    return x > 0 || x != x ? value : ofBits<F>(0);
}
/// Infinities become the largest number.
template <class F>
inline F saturateFinite(F value) {
    using Format = typename FormatOf<F>::type;
    const std::uint64_t bits = bitsOfAny(value);
    return Format::isInfinite(bits) ? ofBits<F>(bits - 1) : value;
}
template <bool kFlush, class F>
inline F flushIf32(F value) {
    if constexpr (std::is_same_v<F, float>)
        return flush<kFlush>(value);
    else
        return value;
}

/// tf32 is f32 with 13 bits of its fraction dropped. Rounding to nearest even and towards zero are like any format's;
/// ties away from zero is an addition that hardware does without regard for NaNs.
inline float toTf32Away(float value, bool finite) {
    const std::uint32_t bits = bitsOf(value);
    const bool special = (bits & 0x7f800000) == 0x7f800000;
    std::uint32_t result = (special ? bits : bits + 0x1000) & ~std::uint32_t{0x1fff};
    if (finite && (result & 0x7f800000) == 0x7f800000) result -= 0x2000;
    return floatOf(result);
}
template <Round kRound>
inline float toTf32(float value) {
    using Tf32 = FloatFormat<19, 10, 0x3ffff>;
    const std::uint32_t bits = bitsOf(value);
    if (F32::isNan(bits)) return floatOf(0x7fffe000);
    if (F32::isInfinite(bits)) return value;
    return floatOf(static_cast<std::uint32_t>(roundTo<Tf32>(exactOf<F32>(bits), kRound) << 13));
}

// 8-bit floats -------------------------------------------------------------------------------------------------------

/// e4m3: bias 7, no infinity, the largest is 448. e5m2: bias 15, the largest is 57344. NaN is 0x7f in both.
template <int kMantissa, int kBias>
inline std::uint32_t toByteFloat(float value) {
    constexpr float kLargest = kMantissa == 3 ? 448.0f : 57344.0f;
    if (value != value) return 0x7f;
    const std::uint32_t sign = bitsOf(value) >> 31 << 7;
    const float magnitude = std::min(std::abs(value), kLargest);
    // Quanta of the number's own binade, or of the least; scaling by powers of two is exact.
    const int exponent = std::max(static_cast<int>(bitsOf(magnitude) >> 23) - 127, 1 - kBias);
    const float scale = floatOf(static_cast<std::uint32_t>(127 + kMantissa - exponent) << 23);
    const auto quanta = static_cast<std::uint32_t>(roundToIntegral<Round::nearest>(magnitude * scale));
    return sign | ((static_cast<std::uint32_t>(exponent + kBias - 1) << kMantissa) + quanta);
}

template <int kMantissa, int kBias>
inline std::uint32_t fromByteFloat(std::uint32_t byte) {
    const std::uint32_t sign = (byte & 0x80) << 8, magnitude = byte & 0x7f;
    if constexpr (kMantissa == 2) return magnitude > 0x7c ? 0x7fff : sign | magnitude << 8;
    if (magnitude == 0x7f) return 0x7fff;
    // The fraction shifted into place, then the difference of the biases: exact in f32, and so in f16.
    const float value = floatOf(magnitude << 20) * 0x1p120f;
    return sign | toHalf(value).bits;
}

// Lowering -----------------------------------------------------------------------------------------------------------

/// One lane at a time: rare conversions, and any where a register is wider than the type it is read or written as. The
/// conversion itself is in Instr::immediate, the registers' bytes in elementBytes (result) and elements (source).
void convertLanes(const Instr& instr, Warp& warp, LaneMask mask) {
    const auto convert =
        reinterpret_cast<std::uint64_t (*)(std::uint64_t)>(static_cast<std::intptr_t>(instr.immediate));
    const std::uint8_t* const in = warp.at(instr.src[0]);
    std::uint8_t* const out = warp.at(instr.dst[0]);
    const bool wideIn = instr.elements == 8, wideOut = instr.elementBytes == 8;
    const auto one = [&](int lane) {
        std::uint64_t value;
        if (wideIn)
            value = reinterpret_cast<const std::uint64_t*>(in)[lane];
        else
            value = reinterpret_cast<const std::uint32_t*>(in)[lane];
        return convert(value);
    };
    std::uint64_t results[kLanes];  // source and result may overlap with different strides
    forLanes(mask, [&](int lane) { results[lane] = one(lane); });
    const std::uint32_t keep = instr.elementBytes == 2 ? 0xffff : 0xffffffff;
    forLanes(mask, [&](int lane) {
        if (wideOut)
            reinterpret_cast<std::uint64_t*>(out)[lane] = results[lane];
        else
            reinterpret_cast<std::uint32_t*>(out)[lane] = static_cast<std::uint32_t>(results[lane]) & keep;
    });
}

Type bitType(unsigned bits) {
    return bits == 64 ? Type::b64 : bits == 32 ? Type::b32 : bits == 16 ? Type::b16 : Type::b8;
}

/// cvt alone may use registers wider than its types.
void lowerConvert(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form& form) {
    expectOperands(instruction, operands, 2, 2);
    const Operand &to = instruction.operands[0], &from = instruction.operands[1];
    const auto registerBits = [](const Operand& operand, unsigned typeBits) {
        return operand.kind == Operand::Kind::reg ? std::max(ptx::bitsOf(operand.type), typeBits) : typeBits;
    };
    const unsigned toBits = ptx::bitsOf(form.result), fromBits = ptx::bitsOf(form.arguments[0]);
    const unsigned toRegister = registerBits(to, toBits), fromRegister = registerBits(from, fromBits);
    addResult(instr, operands.result(to, toRegister > toBits ? bitType(toRegister) : form.result));
    addSource(instr, operands.source(from, fromRegister > fromBits ? bitType(fromRegister) : form.arguments[0]));
    const bool extends = toRegister > toBits && (toRegister == 64 || ptx::isSigned(form.result));
    const bool narrows = fromRegister == 64 && fromBits < 64;
    if (!extends && !narrows && instr.run) return;
    instr.run = &convertLanes;
    instr.immediate = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(form.scalar));
    instr.elementBytes = static_cast<std::uint8_t>(std::max(toRegister / 8, 1u));
    instr.elements = static_cast<std::uint8_t>(std::max(fromRegister / 8, 1u));
}

template <class Op, class To, class From>
std::uint64_t scalarOf(std::uint64_t word) {
    const To result = static_cast<To>(Op{}(fromLane<From>(static_cast<LaneWord<From>>(word))));
    if constexpr (std::is_integral_v<To> && std::is_signed_v<To>)
        return static_cast<std::uint64_t>(std::int64_t{result});
    else
        return toLane<To>(result);
}

/// What stands between cvt and the types, in the order of the name.
using Modifiers = std::initializer_list<std::string_view>;
using Scalar = std::uint64_t (*)(std::uint64_t);

std::string convertName(Modifiers modifiers, Type to, Type from) {
    std::string name = "cvt";
    for (const std::string_view modifier : modifiers) name += modifier;
    for (const Type type : {to, from}) (name += '.') += ptx::nameOf(type);
    return name;
}

/// Without a handler, lanes are converted one by one.
void addConversion(Forms& forms, Modifiers modifiers, Type to, Type from, Handler handler, Scalar scalar) {
    forms.add(convertName(modifiers, to, from), handler, OpClass::convert, to, {from}, &lowerConvert).scalar = scalar;
}

/// A conversion worth a loop of its own.
template <class To, class From, class Op>
void convert(Forms& forms, Modifiers modifiers, Op) {
    addConversion(forms, modifiers, typeOf<To>(), typeOf<From>(), &lanewise<Op, To, From>, &scalarOf<Op, To, From>);
}

/// One that compilers do not emit for ordinary code. There are many of these, and a vectorised loop of each would be
/// most of the program.
template <class To, class From, class Op>
void convertRare(Forms& forms, Modifiers modifiers, Op) {
    addConversion(forms, modifiers, typeOf<To>(), typeOf<From>(), nullptr, &scalarOf<Op, To, From>);
}

// Tables -------------------------------------------------------------------------------------------------------------

template <class... T>
struct TypeList {};
using Integers = TypeList<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                          std::uint64_t, std::int64_t>;

template <class To>
struct Cast {
    template <class From>
    To operator()(From value) const {
        return static_cast<To>(value);
    }
};

/// Lanes hold the same bits for either sign of the result, and for either sign of a source that is not extended: one
/// loop serves them all.
template <class To, class From>
void addIntegerToInteger(Forms& forms) {
    using Bits = std::make_unsigned_t<To>;
    using Source = std::conditional_t<(sizeof(To) > sizeof(From)), From, std::make_unsigned_t<From>>;
    addConversion(forms, {}, typeOf<To>(), typeOf<From>(), &lanewise<Cast<Bits>, Bits, Source>,
                  &scalarOf<Cast<To>, To, From>);
    convertRare<To, From>(forms, {".sat"}, [](From a) { return saturateTo<To>(a); });
}

template <class To, class... From>
void addIntegerTo(Forms& forms, TypeList<From...>) {
    (addIntegerToInteger<To, From>(forms), ...);
}

template <class To, class From, Round kRound>
void addFloatToInteger(Forms& forms, std::string_view rounding) {
    using Working = decltype(working(From{}));
    constexpr bool kCommon =
        (kRound == Round::zero || kRound == Round::nearest) && sizeof(From) >= 4 && sizeof(To) >= 4;
    constexpr auto op = [](From a) { return toInteger<To, kRound>(working(a)); };
    constexpr auto flushed = [](From a) { return toInteger<To, kRound>(working(flushIf32<true>(a))); };
    constexpr auto rare = [](From a) { return toIntegerRarely<To, kRound, Working>(working(a)); };
    constexpr auto rareFlushed = [](From a) {
        return toIntegerRarely<To, kRound, Working>(working(flushIf32<true>(a)));
    };
    for (const std::string_view sat : {"", ".sat"}) {  // it saturates in any case
        if constexpr (kCommon)
            convert<To, From>(forms, {rounding, sat}, op);
        else
            convertRare<To, From>(forms, {rounding, sat}, rare);
        if constexpr (kCommon && std::is_same_v<From, float>)
            convert<To, From>(forms, {rounding, ".ftz", sat}, flushed);
        else if constexpr (std::is_same_v<From, float>)
            convertRare<To, From>(forms, {rounding, ".ftz", sat}, rareFlushed);
        else if constexpr (!std::is_same_v<From, double>)
            convertRare<To, From>(forms, {rounding, ".ftz", sat}, rare);
    }
}

template <class To, Round kRound>
struct IntegerToFloat {
    template <class From>
    To operator()(From value) const {
        return fromInteger<To, kRound>(value);
    }
};

/// To [0, 1]: 0 or 1, whatever the rounding.
template <class To>
struct SaturatedInteger {
    template <class From>
    To operator()(From value) const {
        return ofBits<To>(value > 0 ? bitsOfOne<To>() : 0);
    }
};

template <class To, class From, Round kRound>
void addIntegerToFloat(Forms& forms, std::string_view rounding) {
    constexpr bool kExact = std::numeric_limits<From>::digits <= FormatOf<To>::type::kMantissa + 1;
    if constexpr (kExact || kRound == Round::nearest)
        convert<To, From>(forms, {rounding}, IntegerToFloat<To, Round::nearest>{});
    else
        convertRare<To, From>(forms, {rounding}, IntegerToFloat<To, kRound>{});
    convertRare<To, From>(forms, {rounding, ".sat"}, SaturatedInteger<To>{});
}

template <class F, class... I>
void addFloatAndIntegers(Forms& forms, TypeList<I...>) {
    const auto one = [&]<class T>(T) {
        addFloatToInteger<T, F, Round::nearest>(forms, ".rni");
        addFloatToInteger<T, F, Round::zero>(forms, ".rzi");
        addFloatToInteger<T, F, Round::down>(forms, ".rmi");
        addFloatToInteger<T, F, Round::up>(forms, ".rpi");
        addIntegerToFloat<F, T, Round::nearest>(forms, ".rn");
        addIntegerToFloat<F, T, Round::zero>(forms, ".rz");
        addIntegerToFloat<F, T, Round::down>(forms, ".rm");
        addIntegerToFloat<F, T, Round::up>(forms, ".rp");
    };
    (one(I{}), ...);
}

/// .ftz flushes f32 results; an f32 source only on the way to f64, where it passes through the arithmetic first.
template <class To, Round kRound, class From>
inline To convertFlushed(From value) {
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, double>)
        return convertFloat<To, kRound>(canonical(flush<true>(value)));
    else
        return flushIf32<true>(convertFloat<To, kRound>(value));
}

/// With and without .ftz and .sat.
template <class To, class From, Round kRound>
void addFloatToFloat(Forms& forms, std::string_view rounding) {
    constexpr auto op = [](From a) { return convertFloat<To, kRound>(a); };
    constexpr auto flushed = [](From a) { return convertFlushed<To, kRound>(a); };
    if constexpr (kRound == Round::nearest)
        convert<To, From>(forms, {rounding}, op);
    else
        convertRare<To, From>(forms, {rounding}, op);
    convertRare<To, From>(forms, {rounding, ".sat"}, [](From a) { return saturateFloat(convertFloat<To, kRound>(a)); });
    if constexpr (std::is_same_v<To, float> || std::is_same_v<From, float>) {
        if constexpr (kRound == Round::nearest)
            convert<To, From>(forms, {rounding, ".ftz"}, flushed);
        else
            convertRare<To, From>(forms, {rounding, ".ftz"}, flushed);
        convertRare<To, From>(forms, {rounding, ".ftz.sat"},
                              [](From a) { return saturateFloat(convertFlushed<To, kRound>(a)); });
    }
}

template <class To, class From>
void addNarrowing(Forms& forms) {
    addFloatToFloat<To, From, Round::nearest>(forms, ".rn");
    addFloatToFloat<To, From, Round::zero>(forms, ".rz");
    addFloatToFloat<To, From, Round::down>(forms, ".rm");
    addFloatToFloat<To, From, Round::up>(forms, ".rp");
}

/// To an integral value of the same type.
template <class F, Round kRound>
inline F integral(F value) {
    using Format = typename FormatOf<F>::type;
    if (Format::isNan(bitsOfAny(value))) {
        if constexpr (std::is_same_v<F, double>) return ofBits<F>(bitsOfAny(value) | Format::kImplicit >> 1);
        return ofBits<F>(Format::kNaN);
    }
    const auto whole = roundToIntegral<kRound>(working(value));
    if constexpr (std::is_same_v<F, Half>)
        return toHalf(whole);
    else if constexpr (std::is_same_v<F, Brain>)
        return toBrain(whole);
    else
        return whole;
}

template <class F, Round kRound>
void addIntegral(Forms& forms, std::string_view rounding) {
    convert<F, F>(forms, {rounding}, [](F a) { return integral<F, kRound>(a); });
    convertRare<F, F>(forms, {rounding, ".sat"}, [](F a) { return saturateFloat(integral<F, kRound>(a)); });
    if constexpr (std::is_same_v<F, float>) {
        convert<F, F>(forms, {rounding, ".ftz"}, [](F a) { return integral<F, kRound>(flush<true>(a)); });
        convertRare<F, F>(forms, {rounding, ".ftz.sat"},
                          [](F a) { return saturateFloat(integral<F, kRound>(flush<true>(a))); });
    }
}

template <class F>
void addSameType(Forms& forms) {
    addIntegral<F, Round::nearest>(forms, ".rni");
    addIntegral<F, Round::zero>(forms, ".rzi");
    addIntegral<F, Round::down>(forms, ".rmi");
    addIntegral<F, Round::up>(forms, ".rpi");
    convert<F, F>(forms, {}, [](F a) { return a; });
    convert<F, F>(forms, {".sat"}, [](F a) { return saturateFloat(a); });
}

/// cvt.rn{.relu}{.satfinite} to f16, bf16 and pairs of them: the first operand is the high half.
template <class One, class Pair, Round kRound, bool kRelu, bool kFinite>
void addPacked(Forms& forms, std::string_view rounding) {
    constexpr auto one = [](float a) {
        One value = convertFloat<One, kRound>(a);
        if constexpr (kFinite) value = saturateFinite(value);
        if constexpr (kRelu) value = rectify(value);
        return value;
    };
    using OneOp = decltype(one);
    const Modifiers modifiers = {rounding, kRelu ? ".relu" : "", kFinite ? ".satfinite" : ""};
    if constexpr (kRelu || kFinite) convertRare<One, float>(forms, modifiers, one);
    const std::string name = convertName(modifiers, typeOf<Pair>(), Type::f32);
    constexpr auto both = [](float a, float b) { return Pair{std::uint32_t{OneOp{}(a).bits} << 16 | OneOp{}(b).bits}; };
    if constexpr (kRound == Round::nearest && !kRelu && !kFinite)
        forms.def<Pair, float, float>(name, OpClass::convert, both);
    else
        forms.defRare<Pair, float, float>(name, OpClass::convert, both);
}

template <class One, class Pair, Round kRound>
void addAllPacked(Forms& forms, std::string_view rounding) {
    addPacked<One, Pair, kRound, false, false>(forms, rounding);
    addPacked<One, Pair, kRound, false, true>(forms, rounding);
    addPacked<One, Pair, kRound, true, false>(forms, rounding);
    addPacked<One, Pair, kRound, true, true>(forms, rounding);
}

template <Round kRound>
void addTf32(Forms& forms, std::string_view rounding) {
    constexpr auto finite = [](float a) {
        const float value = toTf32<kRound>(a);
        return F32::isInfinite(bitsOf(value)) ? floatOf(bitsOf(value) - 0x2000) : value;
    };
    using Finite = decltype(finite);
    const auto add = [&](const std::string& name, auto op) {
        forms.defRare<float, float>("cvt" + std::string(rounding) + name + ".tf32.f32", OpClass::convert, op).untyped();
    };
    add("", [](float a) { return toTf32<kRound>(a); });
    add(".relu", [](float a) { return rectify(toTf32<kRound>(a)); });
    add(".satfinite", [](float a) { return Finite{}(a); });
    add(".satfinite.relu", [](float a) { return rectify(Finite{}(a)); });
}

template <int kMantissa, int kBias, bool kRelu>
void addByteFloats(Forms& forms, const std::string& name) {
    using U32 = std::uint32_t;
    using U16 = std::uint16_t;
    const std::string relu = kRelu ? ".relu" : "";
    constexpr auto one = [](float a) { return toByteFloat<kMantissa, kBias>(kRelu ? rectify(a) : a); };
    using One = decltype(one);
    forms
        .defRare<U16, float, float>("cvt.rn.satfinite" + relu + "." + name + ".f32", OpClass::convert,
                                    [](float a, float b) { return One{}(a) << 8 | One{}(b); })
        .result = Type::b16;
    forms
        .defRare<U16, HalfPair>("cvt.rn.satfinite" + relu + "." + name + ".f16x2", OpClass::convert,
                                [](HalfPair a) {
                                    return One{}(toFloat(Half{static_cast<U16>(a.bits >> 16)})) << 8 |
                                           One{}(toFloat(Half{static_cast<U16>(a.bits)}));
                                })
        .result = Type::b16;
    Form& back = forms.defRare<HalfPair, U16>("cvt.rn" + relu + ".f16x2." + name, OpClass::convert, [](U16 a) {
        const auto half = [](U32 byte) {
            const U32 value = fromByteFloat<kMantissa, kBias>(byte);
            return kRelu && value & 0x8000 ? 0 : value;
        };
        return HalfPair{half(a >> 8) << 16 | half(a & 0xff)};
    });
    back.arguments = {Type::b16};
}

/// Saturates two numbers to n bits and packs them, the first above the second, below the low bits of the third.
template <int kBits, bool kSigned>
inline std::uint32_t saturatePair(std::int32_t a, std::int32_t b) {
    constexpr std::int32_t kLow = kSigned ? -(1 << (kBits - 1)) : 0;
    constexpr std::int32_t kHigh = kSigned ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;
    constexpr std::uint32_t kMask = (1u << kBits) - 1;
    const auto one = [](std::int32_t v) {
        return static_cast<std::uint32_t>(v < kLow ? kLow : v > kHigh ? kHigh : v) & kMask;
    };
    return one(a) << kBits | one(b);
}
template <int kBits, bool kSigned>
void addPack(Forms& forms, const std::string& type) {
    using S32 = std::int32_t;
    using U32 = std::uint32_t;
    if constexpr (kBits == 16)
        forms.defRare<U32, S32, S32>("cvt.pack.sat." + type + ".s32", OpClass::convert,
                                     [](S32 a, S32 b) { return saturatePair<kBits, kSigned>(a, b); });
    else
        forms.defRare<U32, S32, S32, U32>(
            "cvt.pack.sat." + type + ".s32.b32", OpClass::convert,
            [](S32 a, S32 b, U32 c) { return c << (2 * kBits) | saturatePair<kBits, kSigned>(a, b); });
}

template <class... To>
void addIntegerToInteger(Forms& forms, TypeList<To...> list) {
    (addIntegerTo<To>(forms, list), ...);
}

}  // namespace

void addConvertForms(Forms& forms) {
    addIntegerToInteger(forms, Integers{});
    addFloatAndIntegers<float>(forms, Integers{});
    addFloatAndIntegers<double>(forms, Integers{});
    addFloatAndIntegers<Half>(forms, Integers{});
    addFloatAndIntegers<Brain>(forms, Integers{});

    // Widening is exact and takes no rounding.
    addFloatToFloat<double, float, Round::nearest>(forms, "");
    addFloatToFloat<float, Half, Round::nearest>(forms, "");
    addFloatToFloat<double, Half, Round::nearest>(forms, "");
    addFloatToFloat<float, Brain, Round::nearest>(forms, "");
    addFloatToFloat<double, Brain, Round::nearest>(forms, "");
    addNarrowing<float, double>(forms);
    addNarrowing<Half, double>(forms);
    addNarrowing<Half, float>(forms);
    addNarrowing<Half, Brain>(forms);
    addNarrowing<Brain, double>(forms);
    addNarrowing<Brain, float>(forms);
    addNarrowing<Brain, Half>(forms);
    addSameType<Half>(forms);
    addSameType<Brain>(forms);
    addSameType<float>(forms);
    addSameType<double>(forms);
    // With nothing to convert cvt.f32.f32 is a move; with .ftz it passes through the arithmetic.
    convert<float, float>(forms, {".ftz"}, [](float a) { return canonical(flush<true>(a)); });
    convert<float, float>(forms, {".ftz", ".sat"}, [](float a) { return saturateFloat(flush<true>(a)); });

    addAllPacked<Half, HalfPair, Round::nearest>(forms, ".rn");
    addAllPacked<Half, HalfPair, Round::zero>(forms, ".rz");
    addAllPacked<Brain, BrainPair, Round::nearest>(forms, ".rn");
    addAllPacked<Brain, BrainPair, Round::zero>(forms, ".rz");
    addTf32<Round::nearest>(forms, ".rn");
    addTf32<Round::zero>(forms, ".rz");
    forms.def<float, float>("cvt.rna.tf32.f32", OpClass::convert, [](float a) { return toTf32Away(a, false); })
        .untyped();
    forms.def<float, float>("cvt.rna.satfinite.tf32.f32", OpClass::convert, [](float a) { return toTf32Away(a, true); })
        .untyped();
    addByteFloats<3, 7, false>(forms, "e4m3x2");
    addByteFloats<3, 7, true>(forms, "e4m3x2");
    addByteFloats<2, 15, false>(forms, "e5m2x2");
    addByteFloats<2, 15, true>(forms, "e5m2x2");
    addPack<16, false>(forms, "u16");
    addPack<16, true>(forms, "s16");
    addPack<8, false>(forms, "u8");
    addPack<8, true>(forms, "s8");
    addPack<4, false>(forms, "u4");
    addPack<4, true>(forms, "s4");
    addPack<2, false>(forms, "u2");
    addPack<2, true>(forms, "s2");
}

}  // namespace bulkhead::sim
