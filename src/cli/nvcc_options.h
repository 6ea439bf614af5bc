#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bulkhead::cli {

/// What an option of nvcc's means to clang.
struct NvccOption {
    std::size_t words = 0;            ///< that were typed for it: itself, and its value if it is a word of its own
    std::vector<std::string> passed;  ///< to clang; none where clang does it anyway, or has no counterpart
    std::string arch;                 ///< if it names one, as "sm_90"
    bool relocatable = false;         ///< device code is compiled in pieces, and linked
    bool linksDevice = false;         ///< nothing but that link is wanted
    bool makesFatBinary = false;      ///< device code alone is wanted, in a file that the driver loads
};

/// The option that begins at a word, in any of nvcc's spellings: `-name value`, `--name=value`, and its long name. No
/// words if it is none of nvcc's own. Throws Error for what has no counterpart and changes what a program does.
NvccOption readNvccOption(const std::vector<std::string>& typed, std::size_t at);

}  // namespace bulkhead::cli
