#include "ptx/module.h"

#include <algorithm>
#include <array>

namespace bulkhead::ptx {

namespace {

struct TypeInfo {
    std::string_view name;
    unsigned bits;
    bool isFloat, isSigned;
};

constexpr std::array<TypeInfo, 21> kTypes = {{
    {"none", 0, false, false}, {"pred", 1, false, false}, {"b8", 8, false, false},     {"b16", 16, false, false},
    {"b32", 32, false, false}, {"b64", 64, false, false}, {"b128", 128, false, false}, {"u8", 8, false, false},
    {"u16", 16, false, false}, {"u32", 32, false, false}, {"u64", 64, false, false},   {"s8", 8, false, true},
    {"s16", 16, false, true},  {"s32", 32, false, true},  {"s64", 64, false, true},    {"f16", 16, true, true},
    {"f16x2", 32, true, true}, {"bf16", 16, true, true},  {"bf16x2", 32, true, true},  {"f32", 32, true, true},
    {"f64", 64, true, true},
}};
static_assert(static_cast<std::size_t>(Type::f64) + 1 == kTypes.size());

const TypeInfo& info(Type type) {
    return kTypes[static_cast<std::size_t>(type)];
}

/// A message is one line: blanks and line ends become single spaces, other control characters a question mark.
std::string oneLine(std::string_view text) {
    constexpr std::size_t kLongest = 160;
    std::string line;
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        bool isBlank = c == ' ' || (c >= '\t' && c <= '\r');
        if (isBlank && (line.empty() || line.back() == ' ')) continue;
        if (line.size() >= kLongest) {
            line += "...";
            break;
        }
        line += isBlank ? ' ' : byte < ' ' || byte == 127 ? '?' : c;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

std::string describe(std::string_view file, Position position, std::string_view message, std::string_view quoted) {
    std::string text = fmt::format("{}:{}:{}: {}", file, position.line, position.column, message);
    if (std::string quote = oneLine(quoted); !quote.empty()) text += fmt::format(": `{}`", quote);
    return text;
}

}  // namespace

unsigned bitsOf(Type type) {
    return info(type).bits;
}
bool isFloat(Type type) {
    return info(type).isFloat;
}
bool isSigned(Type type) {
    return info(type).isSigned;
}
std::string_view nameOf(Type type) {
    return info(type).name;
}

std::string_view nameOf(Space space) {
    constexpr std::array<std::string_view, 8> kNames = {"none",   "reg",   "sreg",  "const",
                                                        "global", "local", "param", "shared"};
    return kNames[static_cast<std::size_t>(space)];
}

PtxError::PtxError(std::string_view file, Position where, std::string_view message, std::string_view quoted)
    : Error(describe(file, where, message, quoted)), position(where) {}

bool Instruction::has(std::string_view modifier) const {
    return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

const Function* Module::find(std::string_view functionName) const {
    for (const Function& function : functions) {
        if (function.name == functionName) return &function;
    }
    return nullptr;
}

}  // namespace bulkhead::ptx
