#include "cudart/managed_variables.h"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace bulkhead::cudart {
namespace {

template <class T>
T readAt(std::string_view bytes, std::size_t offset) {
    T value{};
    if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

template <class T>
void writeAt(std::string& bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

constexpr std::size_t kHeaderBytesAt = 4, kBytesAt = 8, kCompressionAt = 16;  // of an entry of a fatbin
constexpr std::uint16_t kPtx = 1;

struct Entry {
    std::string_view header, content;
    bool isText() const {
        return readAt<std::uint16_t>(header, 0) == kPtx && readAt<std::uint32_t>(header, kCompressionAt) == 0;
    }
};

std::string_view headerOf(const void* fatbin) {
    const auto* bytes = static_cast<const char*>(fatbin);
    return {bytes, readAt<std::uint16_t>({bytes, 8}, 6)};
}

std::vector<Entry> entriesOf(const void* fatbin) {
    std::string_view rest(static_cast<const char*>(fatbin), fatbinBytes(fatbin));
    rest.remove_prefix(headerOf(fatbin).size());
    std::vector<Entry> entries;
    while (rest.size() > kCompressionAt) {
        const std::size_t header = readAt<std::uint32_t>(rest, kHeaderBytesAt),
                          content = readAt<std::uint64_t>(rest, kBytesAt);
        if (header == 0 || header > rest.size() || content > rest.size() - header) break;
        entries.push_back({rest.substr(0, header), rest.substr(header, content)});
        rest.remove_prefix(header + content);
    }
    return entries;
}

bool isOfName(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/// A variable's definition: `.visible .global .align 4 .b8 name[400] = {1, 2};` on a line of its own.
struct Definition {
    std::size_t begin, end;         ///< in the text, with the semicolon
    std::string_view declared;      ///< from .global to the name, with the number of elements
    std::string_view type, values;  ///< values: empty if there are none
};

std::optional<Definition> definitionIn(std::string_view ptx, std::string_view name) {
    for (std::size_t at = ptx.find(name); at != std::string_view::npos; at = ptx.find(name, at + 1)) {
        const std::size_t behind = at + name.size();
        if (at < 2 || ptx[at - 1] != ' ' || (behind < ptx.size() && isOfName(ptx[behind]))) continue;
        const std::size_t begin = ptx.rfind('\n', at) + 1, end = ptx.find(';', at);
        const std::string_view before = ptx.substr(begin, at - begin);
        const std::size_t space = before.find(".global ");
        const bool begins = before.starts_with(".visible ") || before.starts_with(".weak ") || space == 0;
        if (!begins || space == std::string_view::npos || end == std::string_view::npos) continue;
        Definition d;
        d.begin = begin;
        d.end = end + 1;
        const std::size_t equals = std::min(ptx.find('=', at), end);
        std::size_t last = equals;
        while (ptx[last - 1] == ' ') --last;
        d.declared = ptx.substr(begin + space, last - begin - space);
        const std::size_t type = before.rfind(" .") + 2;
        d.type = before.substr(type, before.size() - 1 - type);
        if (equals < end) d.values = ptx.substr(equals + 1, end - equals - 1);
        return d;
    }
    return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::string_view(" {}").find(text.front()) != std::string_view::npos) text.remove_prefix(1);
    while (!text.empty() && std::string_view(" {}").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
    return text;
}

template <class T>
std::optional<std::uint64_t> parsed(std::string_view text, int base) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return static_cast<std::uint64_t>(value);
}

/// The bits of a number as LLVM writes it: decimal, 0f and 0d with the bits of a float, or an address.
std::optional<std::uint64_t> bitsOf(std::string_view text,
                                    const std::function<const void*(std::string_view)>& addressOf) {
    constexpr std::string_view kGeneric = "generic(";
    if (text.starts_with("0f") || text.starts_with("0d")) return parsed<std::uint64_t>(text.substr(2), 16);
    if (text.starts_with('-')) return parsed<std::int64_t>(text, 10);
    if (!text.starts_with(kGeneric)) return parsed<std::uint64_t>(text, 10);
    const std::size_t close = std::min(text.find(')'), text.size() - 1);
    const auto* address = addressOf(text.substr(kGeneric.size(), close - kGeneric.size()));
    if (!address) return std::nullopt;
    const auto base = reinterpret_cast<std::uintptr_t>(address);
    if (close + 1 == text.size()) return base;
    if (text[close + 1] != '+') return std::nullopt;
    const auto offset = parsed<std::int64_t>(text.substr(close + 2), 10);
    return offset ? std::optional(base + *offset) : std::nullopt;
}

/// How many bytes an element of a type such as u32 has; 0 if it is none that variables have.
std::size_t elementBytes(std::string_view type) {
    const auto bits = type.empty() ? std::nullopt : parsed<std::uint32_t>(type.substr(1), 10);
    return bits && *bits >= 8 && *bits <= 64 ? *bits / 8 : 0;
}

}  // namespace

std::size_t fatbinBytes(const void* fatbin) {
    const std::string_view header(static_cast<const char*>(fatbin), 16);
    return readAt<std::uint16_t>(header, 6) + readAt<std::uint64_t>(header, 8);
}

bool writeInitialValue(const void* fatbin, std::string_view name, void* to, std::size_t bytes,
                       const std::function<const void*(std::string_view)>& addressOf) {
    for (const Entry& entry : entriesOf(fatbin)) {
        const auto definition = entry.isText() ? definitionIn(entry.content, name) : std::nullopt;
        if (!definition) continue;
        const std::size_t element = elementBytes(definition->type);
        std::vector<std::uint8_t> value(bytes);
        std::size_t offset = 0;
        for (std::string_view rest = trimmed(definition->values); !rest.empty(); offset += element) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            const auto bits = bitsOf(trimmed(rest.substr(0, comma)), addressOf);
            if (!bits || element == 0 || offset + element > bytes) return false;
            std::memcpy(value.data() + offset, &*bits, element);
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
        std::memcpy(to, value.data(), bytes);
        return true;
    }
    return false;
}

std::string withoutDefinitions(const void* fatbin, const std::set<std::string, std::less<>>& names) {
    std::string made(headerOf(fatbin));
    for (const Entry& entry : entriesOf(fatbin)) {
        std::string content(entry.content);
        if (entry.isText()) {
            for (const std::string& name : names)
                if (const auto d = definitionIn(content, name))
                    content.replace(d->begin, d->end - d->begin, ".extern " + std::string(d->declared) + ";");
            content.resize((content.size() + 7) / 8 * 8, '\0');
        }
        const std::size_t at = made.size();
        made += entry.header;
        writeAt<std::uint64_t>(made, at + kBytesAt, content.size());
        made += content;
    }
    writeAt<std::uint64_t>(made, 8, made.size() - headerOf(fatbin).size());
    return made;
}

}  // namespace bulkhead::cudart
