#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/kernel_arguments.h"

namespace bulkhead::cli {

/// A kernel in a folder of Triton's cache: NAME.ptx, and NAME.json that says how it is launched.
struct TritonKernel {
    std::string file;  ///< of its PTX
    std::string name;
    std::uint32_t threads = 0, sharedBytes = 0;
    /// Bytes per block of memory that Triton itself passes, one pointer each behind the program's arguments; null where
    /// they are 0.
    std::vector<std::uint64_t> scratch;
};

/// `name` chooses among several. Throws Error that says what is missing in the folder.
TritonKernel readTritonFolder(const std::filesystem::path&, const std::string& name);

/// What Triton passes behind the program's own arguments, for so many blocks.
std::vector<KernelArgument> scratchArguments(const TritonKernel&, std::uint64_t blocks, Bytes mostBytes);

}  // namespace bulkhead::cli
