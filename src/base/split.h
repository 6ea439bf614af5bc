#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead {

/// The parts of a text, empty ones too: one more than there are separators.
inline std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0;;) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.emplace_back(text.substr(begin, end - begin));
        if (end == text.size()) return parts;
        begin = end + 1;
    }
}

/// Those that are not empty.
inline std::vector<std::string> splitWords(std::string_view text, char separator) {
    std::vector<std::string> parts = split(text, separator);
    std::erase(parts, "");
    return parts;
}

}  // namespace bulkhead
