// A driver behind an MPS server that is not well: contexts cannot be made as often as the file FAULTS says, in one of
// the ways that were seen on an H200. All else is done by the simulated driver.

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>

#include "driver/driver_api.h"

using namespace bulkhead::driver;

namespace {

void* behind(const char* symbol) {
    static void* const library = dlopen(std::getenv("SIMULATED"), RTLD_NOW | RTLD_LOCAL);
    return dlsym(library, symbol);
}

/// Whether this is one of the times that fail.
bool fails() {
    const char* const file = std::getenv("FAULTS");
    int left = 0;
    std::ifstream(file) >> left;
    if (left > 0) std::ofstream(file) << left - 1;
    return left > 0;
}

}  // namespace

#define FORWARD(name, symbol, variant, parameters, arguments)                                                  \
    extern "C" __attribute__((visibility("default"))) CUresult symbol parameters {                             \
        if (std::string_view(#name) == "cuDevicePrimaryCtxRetain" && fails()) return CUDA_ERROR_LAUNCH_FAILED; \
        return reinterpret_cast<decltype(DriverApi::name)>(behind(#symbol)) arguments;                         \
    }
BULKHEAD_REQUIRED_CALLS(FORWARD)
