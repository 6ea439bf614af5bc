#pragma once

#include <string>
#include <string_view>

namespace bulkhead {

/// Text that may come from anywhere, as one line that a terminal only shows: control characters, characters that turn
/// the direction of text, and bytes that are no UTF-8 become \n, \x1b, \u202e. Printable text stays as it is, so that
/// doing it twice changes nothing.
std::string printable(std::string_view);

}  // namespace bulkhead
