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

std::string shortName(const std::string& kernel) {
    constexpr std::string_view nothing = "void ";
    std::string name = signatureOf(kernel);
    if (name.starts_with(nothing)) name.erase(0, nothing.size());
    return name.substr(0, name.find('('));
}

}  // namespace bulkhead::libcuda
