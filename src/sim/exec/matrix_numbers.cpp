#include "sim/exec/matrix_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim/exec/compute_float.h"
#include "sim/exec/wide_registers.h"

// The arithmetic of tensor cores, as experiments on an H200 showed it (docs/ptx.md) and as Xie et al., "MMA-Sim"
// (arXiv 2511.10909), and Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv 2512.07004), describe
// it: a sum of products is formed at once, from significands that were cut off at a common place.

namespace bulkhead::sim {

namespace {

struct Format {
    int exponentBits, fractionBits;
};
constexpr Format formatOf(MatrixType type) {
    switch (type) {
        case MatrixType::f16:
            return {5, 10};
        case MatrixType::bf16:
            return {8, 7};
        case MatrixType::tf32:
            return {8, 10};
        case MatrixType::e4m3:
            return {4, 3};
        case MatrixType::e5m2:
            return {5, 2};
        default:
            return {8, 23};
    }
}

constexpr std::int16_t kNoExponent = -10000;      ///< of zero
constexpr std::int16_t kSpecialExponent = 10000;  ///< of infinities and NaNs

constexpr std::uint32_t kFloatNan = 0x7fffffff, kHalfNan = 0x7fff;

/// Rounds to odd, which leaves the last bit to say whether anything is missing: what is then rounded to f16 is right.
std::uint32_t halfOf(double value) {
    const std::uint64_t bits = bitsOf(value);
    constexpr std::uint64_t kDropped = (std::uint64_t{1} << 29) - 1;
    const std::uint64_t odd = (bits & ~kDropped) | ((bits & kDropped) != 0 ? kDropped + 1 : 0);
    const std::uint32_t half = floatToHalf(static_cast<float>(doubleOf(odd)));
    return half == 0x8000 ? 0 : half;  // what is too small becomes +0
}

constexpr int kTame = 50;  ///< exponents of tame factors, at most

// Eight elements at once, in whatever registers the processor has.
constexpr int kBlock = 8;
using Floats = float __attribute__((vector_size(kBlock * sizeof(float))));
using Words = std::int32_t __attribute__((vector_size(kBlock * sizeof(std::int32_t))));
using Exponents = std::int16_t __attribute__((vector_size(kBlock * sizeof(std::int16_t))));
using Doubles = double __attribute__((vector_size(kBlock * sizeof(double))));
using Longs = std::int64_t __attribute__((vector_size(kBlock * sizeof(std::int64_t))));

/// Whether a comparison holds for any of them.
template <class Mask>
[[gnu::always_inline]] inline bool any(const Mask& mask) {
    std::uint64_t words[sizeof(Mask) / sizeof(std::uint64_t)], all = 0;
    std::memcpy(words, &mask, sizeof words);
    for (const std::uint64_t word : words) all |= word;
    return all != 0;
}

/// What elements stand for, and their exponents as written.
template <MatrixType kType>
[[gnu::always_inline]] inline void numbersOf(const Words& bits, Floats& values, Words& exponents) {
    constexpr Format kFormat = formatOf(kType);
    constexpr int kBits = kFormat.exponentBits + kFormat.fractionBits, kOnes = (1 << kFormat.exponentBits) - 1;
    constexpr int kBias = kOnes >> 1, kShift = 23 - kFormat.fractionBits;
    const Words pattern = kType == MatrixType::tf32 ? bits >> 13 : bits;
    const Words magnitude = pattern & static_cast<std::int32_t>((1u << kBits) - 1);
    const Words fraction = pattern & ((1 << kFormat.fractionBits) - 1);
    const Words field = pattern >> kFormat.fractionBits & kOnes;
    Words isSpecial = field == kOnes;
    if constexpr (kType == MatrixType::e4m3) isSpecial &= fraction == 7;
    Words number;
    if constexpr (kFormat.exponentBits == 8) {
        number = magnitude << kShift;  // as in f32
    } else {
        constexpr std::uint32_t kScale = (127u + 127u - kBias) << 23;
        const Floats scaled = reinterpret_cast<Floats>(magnitude << kShift) * floatOf(kScale);
        number = isSpecial ? fraction << kShift | 0x7f800000 : reinterpret_cast<Words>(scaled);
    }
    values = reinterpret_cast<Floats>(number | ((pattern >> kBits & 1) << 31));
    const Words small = fraction == 0 ? Words{} + kNoExponent : Words{} + (1 - kBias);
    exponents = isSpecial ? Words{} + kSpecialExponent : field == 0 ? small : field - kBias;
}

/// So many elements, block by block. True if all are tame.
template <MatrixType kType>
[[gnu::always_inline]] inline bool readNumbers(const std::uint32_t* bits, int count, const TensorFactor& how,
                                               float* values, std::int16_t* exponents) {
    Words wild = {};
    const Words sign = Words{} + static_cast<std::int32_t>(how.negates ? 0x80000000 : 0);
    for (int first = 0; first < count; first += kBlock) {
        Words block, exponent;
        Floats value;
        std::memcpy(&block, bits + first, sizeof block);
        numbersOf<kType>(block, value, exponent);
        if (how.widens) {
            const Words has = (exponent != kNoExponent) & (exponent != kSpecialExponent);
            exponent = has ? (reinterpret_cast<Words>(value) >> 23 & 0xff) - 127 : exponent;
        }
        wild |= (exponent != kNoExponent) & ((exponent < -kTame) | (exponent > kTame));
        value = reinterpret_cast<Floats>(reinterpret_cast<Words>(value) ^ sign);
        std::memcpy(values + first, &value, sizeof value);
        const Exponents narrow = __builtin_convertvector(exponent, Exponents);
        std::memcpy(exponents + first, &narrow, sizeof narrow);
    }
    return !any(wild);
}

[[gnu::always_inline]] inline bool readNumbersOf(const std::uint32_t* bits, int count, const TensorFactor& how,
                                                 float* values, std::int16_t* exponents) {
    switch (how.type) {
        case MatrixType::f16:
            return readNumbers<MatrixType::f16>(bits, count, how, values, exponents);
        case MatrixType::bf16:
            return readNumbers<MatrixType::bf16>(bits, count, how, values, exponents);
        case MatrixType::tf32:
            return readNumbers<MatrixType::tf32>(bits, count, how, values, exponents);
        case MatrixType::e4m3:
            return readNumbers<MatrixType::e4m3>(bits, count, how, values, exponents);
        default:
            return readNumbers<MatrixType::e5m2>(bits, count, how, values, exponents);
    }
}

}  // namespace

void TensorProduct::setA(MatrixElements& elements, const TensorFactor& how) {
    widely([&]() __attribute__((always_inline)) {
        tameA_ = true;
        for (int row = 0; row < rows_; ++row) {
            std::uint32_t* const bits = elements.a[row];
            for (int behind = stored_; behind % kBlock != 0; ++behind) bits[behind] = 0;
            tameA_ &= readNumbersOf(bits, stored_, how, aValue_[row], aExponent_[row]);
        }
    });
}

void TensorProduct::setB(const MatrixElements& elements, const TensorFactor& how) {
    widely([&]() __attribute__((always_inline)) {
        tameB_ = true;
        for (int depth = 0; depth < depth_; ++depth)
            tameB_ &= readNumbersOf(elements.b[depth], columns_, how, bValue_[depth], bExponent_[depth]);
    });
}

/// Elements of a row from a column on; false if some are too large or too small for it. Products of tame factors are
/// exact in f32, and so is what is left of them when they are scaled to units of the last bit that is kept: what is
/// less than one such bit is cut off by the conversion.
[[gnu::always_inline]] inline bool TensorProduct::multiplyBlock(int row, Terms terms, int column, std::uint32_t* sums,
                                                                const TensorSum& how, bool half) const {
    Words bits, exponents;
    Floats value;
    std::memcpy(&bits, sums, sizeof bits);
    half ? numbersOf<MatrixType::f16>(bits, value, exponents) : numbersOf<MatrixType::f32>(bits, value, exponents);
    Exponents largest = __builtin_convertvector(exponents, Exponents);
    if (any(largest > 2 * kTame)) return false;
    for (const std::uint8_t term : terms) {
        Exponents b;
        std::memcpy(&b, bExponent_[aDepth_[row][term]] + column, sizeof b);
        const Exponents e = b + aExponent_[row][term];
        largest = largest > e ? largest : e;
    }
    // Results far below 1 may be subnormal. With a zero in every product and sum, they are zero.
    if (any((largest < -2 * kTame) & (largest > kNoExponent / 2))) return false;
    const Exponents bounded = largest < -2 * kTame ? Exponents{} - 2 * kTame : largest;
    const Floats scale =
        reinterpret_cast<Floats>((how.fractionBits + 127 - __builtin_convertvector(bounded, Words)) << 23);
    // Two sums: one alone could overflow.
    Words even = {}, odd = {};
    for (std::size_t t = 0; t + 1 < terms.size(); t += 2) {
        Floats b0, b1;
        std::memcpy(&b0, bValue_[aDepth_[row][terms[t]]] + column, sizeof b0);
        std::memcpy(&b1, bValue_[aDepth_[row][terms[t + 1]]] + column, sizeof b1);
        even += __builtin_convertvector(aValue_[row][terms[t]] * b0 * scale, Words);
        odd += __builtin_convertvector(aValue_[row][terms[t + 1]] * b1 * scale, Words);
    }
    const Words accumulator = __builtin_convertvector(value * scale, Words);
    const Doubles sum = __builtin_convertvector(even, Doubles) + __builtin_convertvector(odd, Doubles) +
                        __builtin_convertvector(accumulator, Doubles);
    const Longs unit = (__builtin_convertvector(bounded, Longs) - how.fractionBits + 1023) << 52;
    const Doubles exact = sum * reinterpret_cast<Doubles>(unit);
    if (half) {
        for (int j = 0; j < kBlock; ++j) sums[j] = sum[j] == 0 ? 0 : halfOf(exact[j]);
        return true;
    }
    const std::int64_t kept = ~((std::int64_t{1} << (52 - how.resultBits)) - 1);
    const Floats result =
        __builtin_convertvector(reinterpret_cast<Doubles>(reinterpret_cast<Longs>(exact) & kept), Floats);
    std::memcpy(sums, &result, sizeof result);
    return true;
}

void TensorProduct::multiply(Terms terms, std::uint32_t (*sums)[kMostColumns], const TensorSum& how, bool half) const {
    widely([&]() __attribute__((always_inline)) {
        const bool tame = tameA_ && tameB_ && terms.size() % 2 == 0;
        for (int row = 0; row < rows_; ++row)
            for (int column = 0; column < columns_; column += kBlock) {
                std::uint32_t* const block = sums[row] + column;
                if (tame && multiplyBlock(row, terms, column, block, how, half)) continue;
                for (int j = 0; j < kBlock; ++j) block[j] = slowElement(row, terms, column + j, block[j], how, half);
            }
    });
}

namespace {

/// A number as an integer of `bits` fraction bits: significand * 2^(exponent - bits).
struct Aligned {
    std::int64_t significand;
    int exponent, bits;
};

Aligned alignedOf(float value, int exponent, int bits) {
    return {static_cast<std::int64_t>(std::ldexp(static_cast<double>(value), bits - exponent)), exponent, bits};
}

/// sum * 2^exponent, cut off to so many bits of fraction. What is too large is infinite.
std::uint32_t cutOffFloat(std::int64_t sum, int exponent, int resultBits) {
    const std::uint32_t sign = sum < 0 ? 0x80000000u : 0;
    const std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    const int top = 63 - std::countl_zero(magnitude) + exponent;
    const int least = std::max(top, -126);
    const int shift = least - resultBits - exponent;
    const std::uint64_t kept = shift <= 0 ? magnitude << -shift : shift > 63 ? 0 : magnitude >> shift;
    if (top > 127) return sign | 0x7f800000;
    const std::uint64_t fraction = kept << (23 - resultBits);
    if (fraction == 0) return 0;  // what is too small becomes +0
    if (top < -126) return sign | static_cast<std::uint32_t>(fraction);
    return sign | static_cast<std::uint32_t>(top + 127) << 23 | (static_cast<std::uint32_t>(fraction) & 0x7fffff);
}

}  // namespace

std::uint32_t TensorProduct::slowElement(int row, Terms terms, int column, std::uint32_t c, const TensorSum& how,
                                         bool half) const {
    const std::uint32_t nan = half ? kHalfNan : kFloatNan;
    const Words bits = Words{} + static_cast<std::int32_t>(c);
    Floats values;
    Words exponents;
    half ? numbersOf<MatrixType::f16>(bits, values, exponents) : numbersOf<MatrixType::f32>(bits, values, exponents);
    const float value = values[0];
    const std::int32_t exponent = exponents[0];
    Aligned parts[kMostTerms + 1];
    int count = 0, largest = kNoExponent * 3;
    // Infinities and NaNs add as they do in f32, and what is finite does not count beside them.
    float special = 0;
    bool isSpecial = false;
    if (exponent == kSpecialExponent) {
        special += value;
        isSpecial = true;
    } else if (exponent != kNoExponent) {
        parts[count++] = alignedOf(value, exponent, 23);
        largest = exponent;
    }
    for (const std::uint8_t term : terms) {
        const int depth = aDepth_[row][term];
        const std::int16_t a = aExponent_[row][term], b = bExponent_[depth][column];
        const float x = aValue_[row][term], y = bValue_[depth][column];
        if (a == kSpecialExponent || b == kSpecialExponent) {
            special += x * y;
            isSpecial = true;
        } else if (a != kNoExponent && b != kNoExponent) {
            const Aligned left = alignedOf(x, a, 10), right = alignedOf(y, b, 10);
            parts[count++] = {left.significand * right.significand, a + b, 20};
            largest = std::max(largest, a + b);
        }
    }
    if (isSpecial) {
        if (special != special) return nan;
        return (half ? 0x7c00u : 0x7f800000u) | (special < 0 ? (half ? 0x8000u : 0x80000000u) : 0);
    }
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) {
        const int shift = parts[i].exponent - parts[i].bits - (largest - how.fractionBits);
        const std::int64_t magnitude = std::abs(parts[i].significand);
        const std::int64_t kept = shift >= 0 ? magnitude << shift : shift < -63 ? 0 : magnitude >> -shift;
        sum += parts[i].significand < 0 ? -kept : kept;
    }
    if (sum == 0) return 0;
    if (half) return halfOf(std::ldexp(static_cast<double>(sum), largest - how.fractionBits));
    return cutOffFloat(sum, largest - how.fractionBits, how.resultBits);
}

}  // namespace bulkhead::sim
