#include "gpu/real_driver.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "base/environment.h"
#include "base/error.h"

namespace bulkhead::gpu {

using driver::CUresult;
using driver::DriverApi;

namespace {

bool ofPrograms = false;

/// BULKHEAD_LIBCUDA names the library, for programs before whose driver Bulkhead's comes first, for tests and for
/// unusual installations.
std::string libraryName() {
    constexpr const char* kUsual = "libcuda.so.1";
    return ofPrograms ? kUsual : environment("BULKHEAD_LIBCUDA", kUsual);
}

/// A file as nobody else would spell its name: the dynamic linker gives a library that is loaded to whoever asks by the
/// same name, and so would give a program inside walls the driver behind them.
std::string unusually(const std::string& name) {
    return name.starts_with('/') ? "/." + name : name;
}

/// A server whose client ended in the middle of a kernel, or made a fault, takes no new ones until it has recovered.
CUresult initialize(const DriverApi& api) {
    constexpr int kTries = 20;
    constexpr std::chrono::milliseconds kPause(100);
    CUresult result = api.cuInit(0);
    for (int i = 0; result == driver::CUDA_ERROR_MPS_SERVER_NOT_READY && i < kTries; ++i) {
        std::this_thread::sleep_for(kPause);
        result = api.cuInit(0);
    }
    return result;
}

/// What a code means where an MPS server stands between: it tells all of its clients of what one of them did.
const char* underServer(CUresult result) {
    switch (result) {
        case driver::CUDA_ERROR_MPS_CONNECTION_FAILED:
        case driver::CUDA_ERROR_MPS_RPC_FAILURE:
            return "the MPS server or its daemon has ended";
        case driver::CUDA_ERROR_MPS_SERVER_NOT_READY:
            return "the MPS server takes nobody in until its clients have left: one of them ended in the middle of a "
                   "kernel, or made a fault";
        case driver::CUDA_ERROR_ILLEGAL_ADDRESS:
        case driver::CUDA_ERROR_LAUNCH_FAILED:
        case driver::CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case driver::CUDA_ERROR_MPS_CLIENT_TERMINATED:
            return "a client of the MPS server, this one or another, ended in the middle of a kernel, or made a fault";
        default:
            return nullptr;
    }
}

DriverApi loadDriver() {
    const std::string name = libraryName();
    // With the usual eight queues, some of many streams share one and wait for each other. Clients of MPS share those
    // of its server, which has too few for two that take 32.
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", underMps() ? "4" : "32", 0);
    void* library = dlopen(unusually(name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw Error("no NVIDIA driver: {} cannot be loaded", name);
    DriverApi api;
    const auto find = [&](const char* symbol) {
        void* address = dlsym(library, symbol);
        if (!address) throw Error("the NVIDIA driver is too old: {} has no {}", name, symbol);
        return address;
    };
#define BULKHEAD_FIND_CALL(call, symbol, variant, parameters, arguments) \
    api.call = reinterpret_cast<decltype(api.call)>(find(#symbol));
    BULKHEAD_REQUIRED_CALLS(BULKHEAD_FIND_CALL)
#undef BULKHEAD_FIND_CALL
#define BULKHEAD_FIND_CALL(call, symbol, variant, parameters, arguments) \
    api.call = reinterpret_cast<decltype(api.call)>(dlsym(library, #symbol));
    BULKHEAD_OPTIONAL_CALLS(BULKHEAD_FIND_CALL)
#undef BULKHEAD_FIND_CALL
    check(api, initialize(api), "the NVIDIA driver cannot start");
    return api;
}

}  // namespace

void openDriverOfPrograms() {
    ofPrograms = true;
}

driver::CUdevice realDevice(int ordinal) {
    const driver::DriverApi& api = realDriver();
    int count = 0;
    check(api, api.cuDeviceGetCount(&count), "cannot count the GPUs");
    if (ordinal >= count) throw Error("no GPU cuda:{}: this machine has {}", ordinal, count);
    driver::CUdevice device = 0;
    check(api, api.cuDeviceGet(&device, ordinal), "cannot open a GPU");
    return device;
}

std::string realDriverFile() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(realDriver().cuInit), &info) == 0)
        throw Error("cannot find the file of the NVIDIA driver");
    return std::filesystem::canonical(info.dli_fname).string();
}

std::string uuidOf(const driver::DriverApi& api, driver::CUdevice device) {
    driver::CUuuid uuid = {};
    check(api, api.cuDeviceGetUuid(&uuid, device), "cannot tell the GPU's identity");
    std::string text = "GPU-";
    for (const char byte : uuid.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

bool underMps() {
    const std::filesystem::path folder = environment("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps");
    return std::filesystem::exists(folder / "control");
}

const DriverApi& realDriver() {
    static const DriverApi api = loadDriver();  // never unloaded: its threads outlive any order of destruction
    return api;
}

void check(const DriverApi& api, CUresult result, const char* what) {
    if (result == driver::CUDA_SUCCESS) return;
    const char *name = nullptr, *text = nullptr;
    api.cuGetErrorName(result, &name);
    api.cuGetErrorString(result, &text);
    if (const char* const served = underMps() ? underServer(result) : nullptr) text = served;
    throw Error("{}: {} ({})", what, text ? text : "unknown error", name ? name : std::to_string(result));
}

}  // namespace bulkhead::gpu
