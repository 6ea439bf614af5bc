#include "workloads/inference/short_floats.h"

#include <bit>

namespace bulkhead::workloads {

std::uint16_t bf16Bits(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t half = 0x7fff + (bits >> 16 & 1);
    return static_cast<std::uint16_t>((bits + half) >> 16);
}

float bf16Value(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t halfBits(float value) {
    constexpr std::uint32_t kExponentBits = 5, kMantissaBits = 10, kDropped = 23 - kMantissaBits;
    constexpr std::uint32_t kBiases = (127 - ((1u << (kExponentBits - 1)) - 1)) << kMantissaBits;
    if (value == 0) return 0;
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 31 << (kExponentBits + kMantissaBits);
    return static_cast<std::uint16_t>(sign | (((bits & 0x7fffffff) >> kDropped) - kBiases));
}

std::vector<std::uint16_t> uniformBf16(Random& random, std::size_t count, float low, float high) {
    std::vector<std::uint16_t> out(count);
    for (std::uint16_t& bits : out) bits = bf16Bits(low + static_cast<float>(random.uniform()) * (high - low));
    return out;
}

std::vector<float> bf16Values(const std::vector<std::uint16_t>& bits) {
    std::vector<float> out(bits.size());
    for (std::size_t i = 0; i < bits.size(); ++i) out[i] = bf16Value(bits[i]);
    return out;
}

}  // namespace bulkhead::workloads
