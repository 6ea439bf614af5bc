#include "driver/jit_options.h"

#include "driver/state.h"

namespace bulkhead::driver {

JitOptions::JitOptions(unsigned count, const CUjit_option* options, void** values) {
    const char* const* names = nullptr;
    void* const* addresses = nullptr;
    std::uint32_t symbols = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (options[i] == kInfoLog) info_.buffer = static_cast<char*>(values[i]);
        if (options[i] == kInfoLogBytes) info_.bytes = &values[i];
        if (options[i] == kErrorLog) error_.buffer = static_cast<char*>(values[i]);
        if (options[i] == kErrorLogBytes) error_.bytes = &values[i];
        if (options[i] == kSymbolNames) names = static_cast<const char**>(values[i]);
        if (options[i] == kSymbolAddresses) addresses = static_cast<void**>(values[i]);
        if (options[i] == kSymbolCount)
            symbols = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(values[i]));
    }
    require(symbols == 0 || (names && addresses), CUDA_ERROR_INVALID_VALUE, "symbols without names or addresses");
    for (std::uint32_t i = 0; i < symbols; ++i) {
        require(names[i] && addresses[i], CUDA_ERROR_INVALID_VALUE, "a symbol without a name or an address");
        const auto address = reinterpret_cast<std::uintptr_t>(addresses[i]);
        require(symbols_.emplace(names[i], address).second, CUDA_ERROR_INVALID_VALUE, "a symbol at several addresses");
    }
    info_.room = roomOf(info_);
    error_.room = roomOf(error_);
}

void JitOptions::relocate(ptx::Module& module) const {
    for (ptx::Variable& v : module.variables) {
        const auto symbol = v.space == ptx::Space::global ? symbols_.find(v.name) : symbols_.end();
        if (symbol == symbols_.end()) continue;
        require(v.isExtern, CUDA_ERROR_INVALID_VALUE, "a symbol that the module defines cannot be relocated");
        v.isExtern = false;
        v.hostAddress = symbol->second;
    }
}

}  // namespace bulkhead::driver
