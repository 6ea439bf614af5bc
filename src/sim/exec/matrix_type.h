#pragma once

#include <cstdint>

namespace bulkhead::sim {

/// What the elements of a matrix are.
enum class MatrixType : std::uint8_t { f64, f32, tf32, f16, bf16, e4m3, e5m2, s32, s8, u8, s4, u4, b1 };

constexpr unsigned bitsOf(MatrixType type) {
    switch (type) {
        case MatrixType::f64:
            return 64;
        case MatrixType::f16:
        case MatrixType::bf16:
            return 16;
        case MatrixType::e4m3:
        case MatrixType::e5m2:
        case MatrixType::s8:
        case MatrixType::u8:
            return 8;
        case MatrixType::s4:
        case MatrixType::u4:
            return 4;
        case MatrixType::b1:
            return 1;
        default:
            return 32;
    }
}

/// Floats that tensor cores multiply: a sign, an exponent and no more than 11 bits of significand.
constexpr bool isTensorFloat(MatrixType type) {
    return type == MatrixType::tf32 || type == MatrixType::f16 || type == MatrixType::bf16 ||
           type == MatrixType::e4m3 || type == MatrixType::e5m2;
}

/// m x n results of k products each.
struct MatrixShape {
    std::uint16_t m, n, k;
    bool operator==(const MatrixShape&) const = default;
};

}  // namespace bulkhead::sim
