#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "base/printable.h"

namespace bulkhead {

/// Something outside the program is wrong: an argument, a file, a device. Says what, where, and what would be
/// right, in one line, whatever is quoted in it. The command line turns it into exit code 2.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message) : std::runtime_error(printable(message)) {}

    template <class First, class... Rest>
    Error(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest)
        : std::runtime_error(printable(fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...))) {}
};

}  // namespace bulkhead
