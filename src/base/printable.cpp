#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace bulkhead {
namespace {

struct Character {
    std::uint32_t code = 0;
    std::size_t bytes = 0;  ///< 0: no UTF-8
};

/// The first character of a text that is not empty.
Character decode(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    if (byte(0) < 0x80) return {byte(0), 1};
    const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return {};
    std::uint32_t code = byte(0) & (0x7fu >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
    return {code, bytes};
}

/// Whether a terminal does anything but show it.
bool acts(std::uint32_t code) {
    const auto within = [code](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
    return code < 0x20 || within(0x7f, 0x9f) ||                                                     // controls
           code == 0x61c || code == 0x200e || code == 0x200f || within(0x202a, 0x202e) ||           // directions
           within(0x2066, 0x2069) || code == 0x2028 || code == 0x2029 || within(0xe0000, 0xe007f);  // lines, tags
}

std::string spelled(std::uint32_t code) {
    if (code == '\n') return "\\n";
    if (code == '\t') return "\\t";
    if (code < 0x80) return fmt::format("\\x{:02x}", code);
    if (code <= 0xffff) return fmt::format("\\u{:04x}", code);
    return fmt::format("\\U{:08x}", code);
}

}  // namespace

std::string printable(std::string_view text) {
    if (std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; })) return std::string(text);
    std::string line;
    while (!text.empty()) {
        const Character c = decode(text);
        if (c.bytes == 0) {
            line += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text.front()));
        } else if (acts(c.code)) {
            line += spelled(c.code);
        } else {
            line += text.substr(0, c.bytes);
        }
        text.remove_prefix(std::max<std::size_t>(1, c.bytes));
    }
    return line;
}

}  // namespace bulkhead
