#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "sim/exec/warp.h"

namespace bulkhead {

struct Argument {
    std::uint64_t floats = 0;  ///< a buffer of that many, or, if 0, a scalar
    std::uint32_t bits = 0;
};
inline Argument buffer(std::uint64_t floats) {
    return {floats, 0};
}
inline Argument scalar(std::int32_t value) {
    return {0, static_cast<std::uint32_t>(value)};
}
inline Argument scalar(float value) {
    return {0, std::bit_cast<std::uint32_t>(value)};
}

/// A kernel of shapes.cu, its grid and its arguments.
struct Shape {
    const char* kernel;
    sim::Dim3 grid, block;
    std::vector<Argument> arguments;
};

struct Measured {
    std::uint64_t instructions = 0, cycles = 0;
    double seconds = 0;  ///< of the host, from launch to end
    double speed() const { return static_cast<double>(instructions) / seconds; }
};

/// Simulates it on one thread with the full timing model, so many times, and keeps the fastest.
Measured measure(const Shape&, const arch::DeviceProfile&, const std::string& scheduler, int times);

}  // namespace bulkhead
