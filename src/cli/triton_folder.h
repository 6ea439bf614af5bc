#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/kernel_arguments.h"

namespace bulkhead::cli {

/// A tensor as an argument that a program has described on the host: what of it is compiled in (tensordesc_meta).
struct TritonTensor {
    std::uint32_t elementBytes = 0, element = 0, swizzle = 0;  ///< the latter as in cuTensorMapEncodeTiled
    std::vector<std::uint32_t> block;
};

/// A kernel in a folder of Triton's cache: NAME.ptx, and NAME.json that says how it is launched.
struct TritonKernel {
    std::string file;  ///< of its PTX
    std::string name;
    std::uint32_t threads = 0, sharedBytes = 0;
    Extent cluster;                     ///< blocks of a program of the grid
    std::vector<TritonTensor> tensors;  ///< none: kernels make descriptors of tensors themselves
    /// Bytes per block of memory that Triton itself passes, one pointer each behind the program's arguments; null where
    /// they are 0.
    std::vector<std::uint64_t> scratch;
};

/// `name` chooses among several. Throws Error that says what is missing in the folder.
TritonKernel readTritonFolder(const std::filesystem::path&, const std::string& name);

/// What Triton passes behind the program's own arguments, for so many blocks.
std::vector<KernelArgument> scratchArguments(const TritonKernel&, std::uint64_t blocks, Bytes mostBytes);

/// The values that Triton passes for a tensor, which lies at that address and is the program's nth: its descriptor, or
/// what kernels make one of; and its extents and strides.
std::vector<std::vector<std::uint8_t>> tensorParameters(const TritonKernel&, const KernelArgument&, std::size_t nth,
                                                        std::uint64_t address);

}  // namespace bulkhead::cli
