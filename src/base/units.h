#pragma once

#include <cstdint>

namespace bulkhead {

using Cycles = std::uint64_t;  ///< core-clock cycles unless the name says otherwise
using Bytes = std::uint64_t;

constexpr Bytes operator""_KiB(unsigned long long n) {
    return n << 10;
}
constexpr Bytes operator""_MiB(unsigned long long n) {
    return n << 20;
}
constexpr Bytes operator""_GiB(unsigned long long n) {
    return n << 30;
}

}  // namespace bulkhead
