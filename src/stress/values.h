#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"

// What tables hold of numbers that need not be there.
namespace bulkhead::stress {

inline std::int64_t whole(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

inline Value valueOf(const std::optional<double>& number) {
    return number ? Value(*number) : Value();
}

inline Value milliseconds(const std::optional<double>& seconds) {
    return seconds ? Value(*seconds * 1e3) : Value();
}

}  // namespace bulkhead::stress
