#include <fmt/format.h>

#include <mutex>
#include <set>
#include <string>

#include "driver/results.h"

// Every name of NVIDIA's driver that the simulated one lacks: programs that need it still load, and learn by its name
// what is missing. The linker prefers any other definition to a weak one.

namespace {

bulkhead::driver::CUresult refuse(const char* name) {
    static std::mutex* mutex = new std::mutex;
    static auto* named = new std::set<std::string>;
    const std::lock_guard lock(*mutex);
    if (named->insert(name).second)
        fmt::print(stderr, "bulkhead: {} is not supported by the simulated CUDA driver\n", name);
    return bulkhead::driver::CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

#define BULKHEAD_REFUSED_CALL(name)                                      \
    extern "C" __attribute__((visibility("default"), weak)) int name() { \
        return refuse(#name);                                            \
    }
#include "cuda_symbols.inc"
#undef BULKHEAD_REFUSED_CALL
