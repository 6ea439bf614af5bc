#include <dlfcn.h>

#include <string>

#include "cudart/runtime.h"

namespace bulkhead::cudart {
namespace {

/// The folder of this library, or of the program that it is linked into.
std::string ownFolder() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<const void*>(&ownFolder), &info) || !info.dli_fname) return {};
    const std::string file = info.dli_fname;
    const std::size_t slash = file.rfind('/');
    return slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
}

/// Where there is no NVIDIA driver, the simulated one that was installed with this library serves.
void* openLibrary() {
    if (void* installed = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) return installed;
    const std::string folder = ownFolder();
    return folder.empty() ? nullptr : dlopen((folder + "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
}

struct Loaded {
    void* library = nullptr;
    driver::DriverApi api;
    cudaError_t error = cudaSuccess;
};

Loaded load() {
    Loaded loaded;
    loaded.library = openLibrary();
    if (!loaded.library) {
        loaded.error = cudaErrorInsufficientDriver;
        return loaded;
    }
#define BULKHEAD_FIND_CALL(name, symbol, variant, parameters, arguments) \
    loaded.api.name = reinterpret_cast<decltype(loaded.api.name)>(dlsym(loaded.library, #symbol));
    BULKHEAD_DRIVER_CALLS(BULKHEAD_FIND_CALL)
#undef BULKHEAD_FIND_CALL
#define BULKHEAD_EXPECT_CALL(name, symbol, variant, parameters, arguments) \
    if (!loaded.api.name) loaded.error = cudaErrorInsufficientDriver;
    BULKHEAD_REQUIRED_CALLS(BULKHEAD_EXPECT_CALL)
#undef BULKHEAD_EXPECT_CALL
    if (loaded.error == cudaSuccess) loaded.error = static_cast<cudaError_t>(loaded.api.cuInit(0));
    return loaded;
}

const Loaded& loaded() {
    static const Loaded* loaded = new Loaded(load());  // static objects may call it until the very end
    return *loaded;
}

}  // namespace

const driver::DriverApi& api() {
    if (loaded().error) throw Failure{loaded().error};
    return loaded().api;
}

void* driverSymbol(const char* name) {
    return loaded().library ? dlsym(loaded().library, name) : nullptr;
}

}  // namespace bulkhead::cudart
