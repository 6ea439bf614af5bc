#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "cudart/runtime.h"

// Every name of the library that has no definition elsewhere: programs that need it still load and link, and learn
// by its name what is missing. The linker prefers any other definition to a weak one.

namespace {

using namespace bulkhead::cudart;

/// Names that were told of, kept to the end: destructors of a program call as well.
struct Told {
    std::mutex mutex;
    std::set<std::string> names;
};
Told& told() {
    static auto& all = *new Told;
    return all;
}

cudaError_t refuse(const char* name) noexcept {
    return call([&] {
        Told& before = told();
        const std::lock_guard lock(before.mutex);
        if (before.names.insert(name).second)
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
