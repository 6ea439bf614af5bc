#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bulkhead::gpu {

/// How a GPU is called, taken apart: "cuda:N" is the driver's N-th, all else is the profile of a simulated one, with or
/// without "sim:" in front.
struct GpuName {
    enum class Kind : std::uint8_t { simulated, cuda } kind = Kind::simulated;
    int ordinal = 0;           ///< of a driver's
    std::string profile = {};  ///< of a simulated one: a name or a file

    /// Throws Error where what follows "cuda:" is no number. Whether there is such a GPU shows when it is opened.
    static GpuName parse(std::string_view);
};

/// What a result says of its numbers, which were found on GPUs of these names: "simulated" or "hardware".
std::string_view originOf(std::string_view gpus);

}  // namespace bulkhead::gpu
