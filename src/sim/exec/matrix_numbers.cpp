#include "sim/exec/matrix_numbers.h"

#include <algorithm>
#include <cmath>

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

double doublePowerOfTwo(int exponent) {
    return doubleOf(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// Rounds to odd, which leaves the last bit to say whether anything is missing: what is then rounded to f16 is right.
std::uint32_t halfOf(double value) {
    const std::uint64_t bits = bitsOf(value);
    constexpr std::uint64_t kDropped = (std::uint64_t{1} << 29) - 1;
    const std::uint64_t odd = (bits & ~kDropped) | ((bits & kDropped) != 0 ? kDropped + 1 : 0);
    const std::uint32_t half = floatToHalf(static_cast<float>(doubleOf(odd)));
    return half == 0x8000 ? 0 : half;  // what is too small becomes +0
}

std::uint32_t cutOff(double value, int resultBits) {
    const std::uint64_t dropped = (std::uint64_t{1} << (52 - resultBits)) - 1;
    return bitsOf(static_cast<float>(doubleOf(bitsOf(value) & ~dropped)));
}

constexpr int kBlock = 8;
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

/// Eight elements of a row. Products of tame factors are exact in f32, and so is what is left of them when they are
/// scaled to units of the last bit that is kept: what is less than one such bit is cut off by the conversion.
[[gnu::always_inline]] inline void TensorProduct::fastBlock(int row, int column, const float* c,
                                                            const std::int16_t* cExponent, std::int64_t* sum,
                                                            std::int16_t* exponent, const TensorSum& how) const {
    std::int16_t largest[kBlock];
    for (int j = 0; j < kBlock; ++j) largest[j] = cExponent[j];
    for (int term = 0; term < terms_; ++term) {
        const std::int16_t* const b = bExponent_[aDepth_[row][term]] + column;
        const std::int16_t a = aExponent_[row][term];
        for (int j = 0; j < kBlock; ++j) {
            const auto e = static_cast<std::int16_t>(a + b[j]);
            largest[j] = largest[j] > e ? largest[j] : e;
        }
    }
    float scale[kBlock];
    for (int j = 0; j < kBlock; ++j) {
        exponent[j] = largest[j];
        const int bounded = largest[j] < -2 * kTame ? -2 * kTame : largest[j];
        scale[j] = powerOfTwo(how.fractionBits - bounded);
    }
    // Two sums: one alone could overflow.
    std::int32_t even[kBlock] = {}, odd[kBlock] = {};
    for (int term = 0; term + 1 < terms_; term += 2) {
        const float *const b0 = bValue_[aDepth_[row][term]] + column, *const b1 =
                                                                          bValue_[aDepth_[row][term + 1]] + column;
        const float a0 = aValue_[row][term], a1 = aValue_[row][term + 1];
        for (int j = 0; j < kBlock; ++j) {
            even[j] += static_cast<std::int32_t>(a0 * b0[j] * scale[j]);
            odd[j] += static_cast<std::int32_t>(a1 * b1[j] * scale[j]);
        }
    }
    for (int j = 0; j < kBlock; ++j)
        sum[j] = std::int64_t{even[j]} + odd[j] + static_cast<std::int32_t>(c[j] * scale[j]);
}

[[gnu::always_inline]] inline void TensorProduct::multiplyRowByBlocks(int row, const std::uint32_t* c, std::uint32_t* d,
                                                                      const TensorSum& how, bool half) const {
    for (int column = 0; column < columns_; column += kBlock) {
        float value[kBlock];
        std::int16_t cExponent[kBlock];
        bool tame = tameA_ && tameB_ && terms_ % 2 == 0;
        for (int j = 0; j < kBlock; ++j) {
            const std::uint32_t bits = c[column + j];
            if (half) {
                const TensorNumber number = tensorNumber(MatrixType::f16, bits);
                value[j] = number.value;
                cExponent[j] = number.exponent;
            } else {
                value[j] = floatOf(bits);
                cExponent[j] = exponentOf(bits);
            }
            tame &= cExponent[j] <= 2 * kTame;
        }
        std::int64_t sum[kBlock];
        std::int16_t exponent[kBlock];
        if (tame) fastBlock(row, column, value, cExponent, sum, exponent, how);
        for (int j = 0; j < kBlock; ++j) {
            // Results far below 1 may be subnormal.
            if (!tame || exponent[j] < -2 * kTame) {
                d[column + j] = slowElement(row, column + j, c[column + j], how, half);
                continue;
            }
            const double exact = static_cast<double>(sum[j]) * doublePowerOfTwo(exponent[j] - how.fractionBits);
            d[column + j] = sum[j] == 0 ? 0 : half ? halfOf(exact) : cutOff(exact, how.resultBits);
        }
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
