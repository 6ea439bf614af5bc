#include "libcuda/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace bulkhead::libcuda {

std::string signatureOf(const std::string& kernel) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(kernel.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 && text ? text.get() : kernel;
}

namespace {

/// Where the parameters begin, or the template's arguments: not inside of other arguments.
std::size_t endOf(const std::string& name, char bracket) {
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == bracket && depth == 0) return i;
        if (name[i] == '<') ++depth;
        if (name[i] == '>') --depth;
    }
    return name.size();
}

}  // namespace

std::string shortName(const std::string& kernel) {
    constexpr std::string_view nothing = "void ";
    constexpr std::size_t kWidest = 60;
    std::string name = signatureOf(kernel);
    if (name.starts_with(nothing)) name.erase(0, nothing.size());
    // A scope without a name is told by a bracket too, and tells nothing.
    constexpr std::string_view nobody = "(anonymous namespace)::";
    for (auto at = name.find(nobody); at != std::string::npos; at = name.find(nobody)) name.erase(at, nobody.size());
    name.resize(endOf(name, '('));
    if (name.size() <= kWidest) return name;
    // Libraries of templates have names of a thousand letters: the function's own, and how its arguments begin.
    const std::size_t arguments = endOf(name, '<');
    const std::size_t scope = name.rfind("::", arguments);
    if (scope != std::string::npos) name.erase(0, scope + 2);
    if (name.size() > kWidest) name = name.substr(0, kWidest - 3) + "...";
    return name;
}

}  // namespace bulkhead::libcuda
