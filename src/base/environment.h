#pragma once

#include <cstdlib>
#include <string>

namespace bulkhead {

/// A variable of the environment; `otherwise` where it is not set or empty. A program that has more rights than its
/// user (setuid, setgid) sees none: what the user sets must not decide what it loads or writes.
inline std::string environment(const char* name, const char* otherwise = "") {
    const char* const value = ::secure_getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

}  // namespace bulkhead
