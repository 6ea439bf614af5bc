#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

// Floating-point numbers of 16 bits on the host.

namespace bulkhead::workloads {

/// To nearest, ties to even. No NaN.
std::uint16_t bf16Bits(float);
float bf16Value(std::uint16_t bits);
/// Of a number that a half has exactly: at most 11 bits, not below 2^-14 unless it is 0.
std::uint16_t halfBits(float);

/// That many bfloat16, uniform from low to high.
std::vector<std::uint16_t> uniformBf16(Random&, std::size_t count, float low, float high);
std::vector<float> bf16Values(const std::vector<std::uint16_t>&);

}  // namespace bulkhead::workloads
