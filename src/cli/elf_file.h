#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::cli {

/// What an ELF file says of itself. Parts that are missing or damaged are left out.
struct ElfFile {
    bool is64Bit = false;
    std::uint16_t machine = 0;        ///< EM_...
    std::vector<std::string> needed;  ///< shared libraries, as DT_NEEDED names them
    bool hasDeviceCode = false;       ///< a section with code for GPUs

    /// Nothing if the bytes are no ELF file.
    static std::optional<ElfFile> read(std::string_view bytes);
};

/// "x86-64", "aarch64" or the number.
std::string machineName(std::uint16_t machine);

/// That which this program was built for.
std::uint16_t ownMachine();

}  // namespace bulkhead::cli
