#include "metrics/kernel_name.h"

#include <cxxabi.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <utility>

namespace bulkhead::metrics {
namespace {

std::string demangled(std::string_view written) {
    std::string name(written);
    if (!name.starts_with("_Z")) return name;
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 && text ? text.get() : name;
}

void replaceAll(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

bool isWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Up to the parameters, which are the first parenthesis outside of a template's arguments.
std::string_view withoutParameters(std::string_view name) {
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>') --depth;
        if (name[i] == '(' && depth <= 0) return name.substr(0, i);
    }
    return name;
}

/// A type that is returned stands before the last space outside of a template's arguments.
std::string_view withoutResult(std::string_view name) {
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>') --depth;
        if (name[i] == ' ' && depth <= 0) begin = i + 1;
    }
    return name.substr(begin);
}

/// Numbers among a template's arguments: Nsight Compute writes (int)32 and (bool)1, the C++ ABI 32 and true, 32u.
std::string plainArguments(std::string_view name) {
    std::string out;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '(') {
            const std::size_t end = name.find(')', i);
            if (end != std::string_view::npos) {
                i = end;
                continue;
            }
        }
        if (name[i] == ' ') continue;
        const bool begins = i == 0 || !isWord(name[i - 1]);
        if (!begins || std::isdigit(static_cast<unsigned char>(name[i])) == 0) {
            out += name[i];
            continue;
        }
        for (; i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])) != 0; ++i) out += name[i];
        while (i < name.size() && (name[i] == 'u' || name[i] == 'l')) ++i;
        --i;
    }
    for (const char* const before : {"<", ","})
        for (const auto& [word, number] : {std::pair{"true", "1"}, std::pair{"false", "0"}})
            for (const char* const after : {",", ">"})
                replaceAll(out, std::string(before) + word + after, std::string(before) + number + after);
    return out;
}

}  // namespace

std::string kernelName(std::string_view written) {
    std::string name = demangled(written);
    replaceAll(name, "(anonymous namespace)", "<unnamed>");
    return plainArguments(withoutResult(withoutParameters(name)));
}

}  // namespace bulkhead::metrics
