#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "cudart/runtime.h"

// Every name of the library that has no definition elsewhere: programs that need it still load and link, and learn
// by its name what is missing. The linker prefers any other definition to a weak one.

namespace {

using namespace bulkhead::cudart;

cudaError_t refuse(const char* name) noexcept {
    return call([&] {
        static std::mutex* mutex = new std::mutex;
        static auto* named = new std::set<std::string>;
        const std::lock_guard lock(*mutex);
        if (named->insert(name).second)
            std::fprintf(stderr, "bulkhead: %s is not supported by this CUDA runtime\n", name);
        throw Failure{cudaErrorNotSupported};
    });
}

}  // namespace

#define BULKHEAD_REFUSED_CALL(name)                    \
    BULKHEAD_EXPORT __attribute__((weak)) int name() { \
        return refuse(#name);                          \
    }
#include "cudart_symbols.inc"
#undef BULKHEAD_REFUSED_CALL
