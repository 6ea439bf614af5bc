#pragma once

#include <cstdint>
#include <string_view>

#include "driver/driver_calls.h"

namespace bulkhead::far_driver {

/// A number of what every call takes: two processes that have the same understand each other.
constexpr std::uint64_t fingerprint() {
    constexpr std::uint64_t kOffset = 0xcbf2'9ce4'8422'2325, kPrime = 0x100'0000'01b3;  // FNV-1a
    std::uint64_t hash = kOffset;
    const auto add = [&](std::string_view text) {
        for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * kPrime;
    };
#define BULKHEAD_ADD_CALL(name, symbol, variant, parameters, arguments) add(#name #parameters);
    BULKHEAD_DRIVER_CALLS(BULKHEAD_ADD_CALL)
#undef BULKHEAD_ADD_CALL
    return hash;
}

/// How a connection begins. The answer is a token for further connections of the same process, and what there is to
/// tell.
struct Greeting {
    std::uint64_t version = fingerprint();
    std::uint64_t token = 0;  ///< of the process, if it is there already
    bool looksOnly = false;   ///< and uses no GPU
};

}  // namespace bulkhead::far_driver
