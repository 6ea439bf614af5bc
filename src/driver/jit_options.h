#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "driver/cu_types.h"
#include "ptx/module.h"

namespace bulkhead::driver {

/// CUjit_option: where a compiler's messages go, and which variables lie in the host's memory. Sizes of messages come
/// in and go out in the value itself.
class JitOptions {
  public:
    JitOptions() = default;
    JitOptions(unsigned count, const CUjit_option* options, void** values);
    /// What a compiler would say: nothing where all went well.
    void report(const std::string& error) const {
        write(info_, "");
        write(error_, error);
    }

    /// Lets global variables that the module only declares be the host's memory that the program has named for them.
    void relocate(ptx::Module&) const;

  private:
    static constexpr CUjit_option kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6;
    static constexpr CUjit_option kSymbolNames = 17, kSymbolAddresses = 18, kSymbolCount = 19;

    struct Log {
        char* buffer = nullptr;
        void** bytes = nullptr;
        std::size_t room = 0;
    };
    static std::size_t roomOf(const Log& log) {
        return log.buffer && log.bytes ? static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(*log.bytes)) : 0;
    }
    static void write(const Log& log, const std::string& text) {
        std::size_t written = 0;
        if (log.room > 0) {
            written = std::min(text.size(), log.room - 1);
            std::memcpy(log.buffer, text.data(), written);
            log.buffer[written] = '\0';
        }
        if (log.bytes) *log.bytes = reinterpret_cast<void*>(static_cast<std::uintptr_t>(written));
    }
    Log info_, error_;
    std::map<std::string, std::uint64_t> symbols_;
};

}  // namespace bulkhead::driver
