#include "sim/exec/matrix_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim/exec/compute_float.h"

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

/// The exponent of an f32 as written, told apart from zero and from what is no number.
std::int16_t exponentOf(std::uint32_t bits) {
    const std::uint32_t field = bits >> 23 & 0xff;
    if (field == 0xff) return kSpecialExponent;
    if (field == 0) return (bits & 0x7fffff) != 0 ? std::int16_t{-126} : kNoExponent;
    return static_cast<std::int16_t>(static_cast<int>(field) - 127);
}

constexpr std::uint32_t kFloatNan = 0x7fffffff, kHalfNan = 0x7fff;

float powerOfTwo(int exponent) {
    return floatOf(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// Rounds to odd, which leaves the last bit to say whether anything is missing: what is then rounded to f16 is right.
std::uint32_t halfOf(double value) {
    const std::uint64_t bits = bitsOf(value);
    constexpr std::uint64_t kDropped = (std::uint64_t{1} << 29) - 1;
    const std::uint64_t odd = (bits & ~kDropped) | ((bits & kDropped) != 0 ? kDropped + 1 : 0);
    const std::uint32_t half = floatToHalf(static_cast<float>(doubleOf(odd)));
    return half == 0x8000 ? 0 : half;  // what is too small becomes +0
}

constexpr int kTame = 50;  ///< exponents of factors, at most

}  // namespace

TensorNumber tensorNumber(MatrixType type, std::uint32_t bits) {
    const Format format = formatOf(type);
    if (type == MatrixType::tf32) bits >>= 13;
    const std::uint32_t ones = (1u << format.exponentBits) - 1;
    const std::uint32_t fraction = bits & ((1u << format.fractionBits) - 1);
    const std::uint32_t field = bits >> format.fractionBits & ones;
    const bool negative = (bits >> (format.exponentBits + format.fractionBits) & 1) != 0;
    const int bias = static_cast<int>(ones >> 1);
    const bool isSpecial = type == MatrixType::e4m3 ? field == ones && fraction == 7 : field == ones;
    if (isSpecial) {
        const bool isInfinity = fraction == 0;
        return {isInfinity ? (negative ? -INFINITY : INFINITY) : NAN, kSpecialExponent};
    }
    if (field == 0 && fraction == 0) return {negative ? -0.0f : 0.0f, kNoExponent};
    const int exponent = field == 0 ? 1 - bias : static_cast<int>(field) - bias;
    // Of 8 bits of exponent, it is written as in f32.
    if (format.exponentBits == 8)
        return {floatOf(bits << (23 - format.fractionBits)), static_cast<std::int16_t>(exponent)};
    const auto significand = static_cast<float>(fraction | (field == 0 ? 0 : 1u << format.fractionBits));
    const float magnitude = significand * powerOfTwo(exponent - format.fractionBits);
    return {negative ? -magnitude : magnitude, static_cast<std::int16_t>(exponent)};
}

TensorNumber normalized(TensorNumber number) {
    if (number.exponent != kNoExponent && number.exponent != kSpecialExponent)
        number.exponent = static_cast<std::int16_t>(std::ilogb(number.value));
    return number;
}

namespace {

bool isTame(std::int16_t exponent) {
    return exponent == kNoExponent || (exponent >= -kTame && exponent <= kTame);
}

}  // namespace

void TensorProduct::prepareA() {
    tameA_ = true;
    for (int row = 0; row < rows_; ++row)
        for (int term = 0; term < terms_; ++term) tameA_ &= isTame(aExponent_[row][term]);
}

void TensorProduct::prepareB() {
    tameB_ = true;
    for (int depth = 0; depth < depth_; ++depth)
        for (int column = 0; column < columns_; ++column) tameB_ &= isTame(bExponent_[depth][column]);
}

namespace {

// Eight columns at once, in whatever registers the processor has.
constexpr int kBlock = 8;
using Floats = float __attribute__((vector_size(kBlock * sizeof(float))));
using Words = std::int32_t __attribute__((vector_size(kBlock * sizeof(std::int32_t))));
using Exponents = std::int16_t __attribute__((vector_size(kBlock * sizeof(std::int16_t))));
using Doubles = double __attribute__((vector_size(kBlock * sizeof(double))));
using Longs = std::int64_t __attribute__((vector_size(kBlock * sizeof(std::int64_t))));

/// exponentOf of each.
[[gnu::always_inline]] inline void exponentsOf(const Words& bits, Exponents& exponents) {
    const Words field = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
    const Words small = fraction == 0 ? Words{} + kNoExponent : Words{} - 126;
    const Words finite = field == 0 ? small : field - 127;
    exponents = __builtin_convertvector(field == 0xff ? Words{} + kSpecialExponent : finite, Exponents);
}

}  // namespace

/// Elements of a row from a column on; false if some are too large or too small for it. Products of tame factors are
/// exact in f32, and so is what is left of them when they are scaled to units of the last bit that is kept: what is
/// less than one such bit is cut off by the conversion.
[[gnu::always_inline]] inline bool TensorProduct::multiplyBlock(int row, int column, const std::uint32_t* c,
                                                                std::uint32_t* d, const TensorSum& how,
                                                                bool half) const {
    Words bits;
    std::memcpy(&bits, c, sizeof bits);
    Floats value;
    Exponents largest;
    if (half) {
        for (int j = 0; j < kBlock; ++j) {
            const TensorNumber number = tensorNumber(MatrixType::f16, c[j]);
            value[j] = number.value;
            largest[j] = number.exponent;
        }
    } else {
        std::memcpy(&value, c, sizeof value);
        exponentsOf(bits, largest);
    }
    for (int j = 0; j < kBlock; ++j)
        if (largest[j] > 2 * kTame) return false;
    for (int term = 0; term < terms_; ++term) {
        Exponents b;
        std::memcpy(&b, bExponent_[aDepth_[row][term]] + column, sizeof b);
        const Exponents e = b + aExponent_[row][term];
        largest = largest > e ? largest : e;
    }
    // Results far below 1 may be subnormal. With a zero in every product and sum, they are zero.
    for (int j = 0; j < kBlock; ++j)
        if (largest[j] < -2 * kTame && largest[j] > kNoExponent / 2) return false;
    const Exponents bounded = largest < -2 * kTame ? Exponents{} - 2 * kTame : largest;
    const Floats scale =
        reinterpret_cast<Floats>((how.fractionBits + 127 - __builtin_convertvector(bounded, Words)) << 23);
    // Two sums: one alone could overflow.
    Words even = {}, odd = {};
    for (int term = 0; term + 1 < terms_; term += 2) {
        Floats b0, b1;
        std::memcpy(&b0, bValue_[aDepth_[row][term]] + column, sizeof b0);
        std::memcpy(&b1, bValue_[aDepth_[row][term + 1]] + column, sizeof b1);
        even += __builtin_convertvector(aValue_[row][term] * b0 * scale, Words);
        odd += __builtin_convertvector(aValue_[row][term + 1] * b1 * scale, Words);
    }
    const Words accumulator = __builtin_convertvector(value * scale, Words);
    const Doubles sum = __builtin_convertvector(even, Doubles) + __builtin_convertvector(odd, Doubles) +
                        __builtin_convertvector(accumulator, Doubles);
    const Longs unit = (__builtin_convertvector(bounded, Longs) - how.fractionBits + 1023) << 52;
    const Doubles exact = sum * reinterpret_cast<Doubles>(unit);
    if (half) {
        for (int j = 0; j < kBlock; ++j) d[j] = sum[j] == 0 ? 0 : halfOf(exact[j]);
        return true;
    }
    const std::int64_t kept = ~((std::int64_t{1} << (52 - how.resultBits)) - 1);
    const Floats result =
        __builtin_convertvector(reinterpret_cast<Doubles>(reinterpret_cast<Longs>(exact) & kept), Floats);
    std::memcpy(d, &result, sizeof result);
    return true;
}

[[gnu::always_inline]] inline void TensorProduct::multiplyRowByBlocks(int row, const std::uint32_t* c, std::uint32_t* d,
                                                                      const TensorSum& how, bool half) const {
    const bool tame = tameA_ && tameB_ && terms_ % 2 == 0;
    for (int column = 0; column < columns_; column += kBlock) {
        if (tame && multiplyBlock(row, column, c + column, d + column, how, half)) continue;
        for (int j = column; j < column + kBlock; ++j) d[j] = slowElement(row, j, c[j], how, half);
    }
}

#if defined(__x86_64__) && !defined(__AVX2__)
/// Eight elements at once, in a program built for processors that have registers of four.
__attribute__((target("avx2"))) void TensorProduct::multiplyRowWide(int row, const std::uint32_t* c, std::uint32_t* d,
                                                                    const TensorSum& how, bool half) const {
    multiplyRowByBlocks(row, c, d, how, half);
}

void TensorProduct::multiplyRow(int row, const std::uint32_t* c, std::uint32_t* d, const TensorSum& how,
                                bool half) const {
    static const bool isWide = __builtin_cpu_supports("avx2");
    if (isWide) return multiplyRowWide(row, c, d, how, half);
    multiplyRowByBlocks(row, c, d, how, half);
}
#else
void TensorProduct::multiplyRow(int row, const std::uint32_t* c, std::uint32_t* d, const TensorSum& how,
                                bool half) const {
    multiplyRowByBlocks(row, c, d, how, half);
}
#endif

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

std::uint32_t TensorProduct::slowElement(int row, int column, std::uint32_t c, const TensorSum& how, bool half) const {
    const std::uint32_t nan = half ? kHalfNan : kFloatNan;
    TensorNumber accumulator = half ? tensorNumber(MatrixType::f16, c) : TensorNumber{floatOf(c), exponentOf(c)};
    Aligned parts[kMostTerms + 1];
    int count = 0, largest = kNoExponent * 3;
    // Infinities and NaNs add as they do in f32, and what is finite does not count beside them.
    float special = 0;
    bool isSpecial = false;
    if (accumulator.exponent == kSpecialExponent) {
        special += accumulator.value;
        isSpecial = true;
    } else if (accumulator.exponent != kNoExponent) {
        parts[count++] = alignedOf(accumulator.value, accumulator.exponent, 23);
        largest = accumulator.exponent;
    }
    for (int term = 0; term < terms_; ++term) {
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
