#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace bulkhead::cli {

/// An argument of a kernel as written on the command line: `i32:5`, `f32:1.5`, or a buffer, `f32[1048576]=random:7`
/// (also =zero, =iota, =file:PATH; without `=`, zero). `f32[64x128]` is a buffer that has a shape, for tensors of
/// Triton's.
struct KernelArgument {
    std::string text;  ///< as written
    bool isBuffer = false;
    unsigned elementBytes = 0;
    std::vector<std::uint64_t> shape = {};  ///< of a buffer, if it was given one: the last is of neighbours in memory
    std::vector<std::uint8_t> bytes;        ///< the scalar, or the buffer's content
};

/// Throws Error that says what is wrong with it. A buffer of more than `mostBytes` is refused before any of it is made.
KernelArgument parseKernelArgument(std::string_view, Bytes mostBytes);

/// "8", "8,4", "8x4x2": one to three positive numbers with a product below 2^63; `what` begins the Error.
struct Extent {
    std::uint32_t x = 1, y = 1, z = 1;
};
Extent parseExtent(std::string_view, std::string_view what);

}  // namespace bulkhead::cli
