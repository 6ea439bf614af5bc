// Device code goes as the bytes of its image; a launch's arguments go packed, as its kernel's parameters lie.

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "driver/fatbin.h"
#include "far_driver/client.h"

namespace bulkhead::far_driver {
namespace {

using namespace driver;

struct Parameter {
    std::size_t offset = 0, bytes = 0;
};

/// Of kernels that were launched before; forgotten when any module goes, whose handles others may get.
struct Layouts {
    std::mutex mutex;
    std::map<CUfunction, std::vector<Parameter>> of;
};
Layouts& layouts() {
    static auto* const one = new Layouts;
    return *one;
}

template <auto member>
struct Forgetting;
template <class... Parameters, CUresult (*DriverApi::*member)(Parameters...)>
struct Forgetting<member> {
    static CUresult call(Parameters... parameters) {
        {
            const std::lock_guard lock(layouts().mutex);
            layouts().of.clear();
        }
        return FarCall<member>::call(parameters...);
    }
};
template <auto... members>
void enterForgetting(DriverApi& api) {
    ((api.*members = Forgetting<members>::call), ...);
}

std::vector<Parameter> parametersOf(CUfunction function) {
    {
        const std::lock_guard lock(layouts().mutex);
        if (const auto found = layouts().of.find(function); found != layouts().of.end()) return found->second;
    }
    std::vector<Parameter> parameters;
    Parameter next;
    while (FarCall<&DriverApi::cuFuncGetParamInfo>::call(function, parameters.size(), &next.offset, &next.bytes) ==
           CUDA_SUCCESS)
        parameters.push_back(next);
    const std::lock_guard lock(layouts().mutex);
    layouts().of[function] = parameters;
    return parameters;
}

/// What a launch gives a kernel, in one piece; empty where something is missing.
std::optional<std::vector<std::uint8_t>> packed(CUfunction function, void** parameters, void** extra) {
    constexpr std::uintptr_t kBuffer = 1, kSize = 2;  // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE
    std::vector<std::uint8_t> bytes;
    if (parameters) {
        std::size_t index = 0;
        for (const Parameter& parameter : parametersOf(function)) {
            if (!parameters[index]) return std::nullopt;
            bytes.resize(parameter.offset + parameter.bytes);
            std::memcpy(bytes.data() + parameter.offset, parameters[index++], parameter.bytes);
        }
        return bytes;
    }
    const void* given = nullptr;
    std::size_t count = 0;
    for (void** entry = extra; entry && *entry; entry += 2) {
        if (reinterpret_cast<std::uintptr_t>(entry[0]) == kBuffer) given = entry[1];
        if (reinterpret_cast<std::uintptr_t>(entry[0]) == kSize) count = *static_cast<std::size_t*>(entry[1]);
    }
    bytes.resize(given ? count : 0);
    if (!bytes.empty()) std::memcpy(bytes.data(), given, count);
    return bytes;
}

CUresult launch(const CUlaunchConfig& config, CUfunction function, void** parameters, void** extra) {
    Message message;
    CUlaunchConfig sent = config;
    sent.attrs = nullptr;
    message.put(sent);
    message.putBytes(config.attrs, config.numAttrs * sizeof(CUlaunchAttribute));
    message.put(function);
    const std::optional<std::vector<std::uint8_t>> arguments = packed(function, parameters, extra);
    if (!arguments) return refuse(CUDA_ERROR_INVALID_VALUE, "a parameter without a value");
    message.put(arguments->size());
    message.putBytes(arguments->data(), arguments->size());
    return ask(numberOf(&DriverApi::cuLaunchKernelEx), message);
}

CUresult launchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    if (!config || (config->numAttrs != 0 && !config->attrs))
        return refuse(CUDA_ERROR_INVALID_VALUE, "attributes without values");
    return launch(*config, function, parameters, extra);
}
CUresult launchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                      unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters,
                      void** extra) {
    return launch({gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, nullptr, 0}, function, parameters,
                  extra);
}
CUresult launchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                 unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream,
                                 void** parameters) {
    constexpr CUlaunchAttributeID kCooperative = 2;
    CUlaunchAttribute attribute = {};
    attribute.id = kCooperative;
    attribute.value.cooperative = 1;
    return launch({gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, &attribute, 1}, function,
                  parameters, nullptr);
}

CUresult loadData(CUmodule* module, const void* image) {
    if (!module || !image) return refuse(CUDA_ERROR_INVALID_VALUE, "no place for a result");
    Message message;
    try {
        const std::span<const std::uint8_t> fatbin = Fatbin::bytesAt(image);
        if (!fatbin.empty()) {
            message.putBytes(fatbin.data(), fatbin.size());
        } else {
            const auto* text = static_cast<const char*>(image);
            message.putBytes(text, std::strlen(text));
        }
    } catch (const Error& error) {
        return refuse(CUDA_ERROR_INVALID_IMAGE, error.what());
    }
    const CUresult result = ask(numberOf(&DriverApi::cuModuleLoadData), message);
    if (result == CUDA_SUCCESS) *module = message.take<CUmodule>();
    return result;
}
CUresult loadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    return loadData(module, image);
}
CUresult loadFile(CUmodule* module, const char* path) {
    if (!module || !path) return refuse(CUDA_ERROR_INVALID_VALUE, "no place for a result");
    try {
        return loadData(module, readImage(path).c_str());
    } catch (const Error& error) {
        return refuse(CUDA_ERROR_FILE_NOT_FOUND, error.what());
    }
}

CUresult potentialBlockSize(int* gridBlocks, int* blockThreads, CUfunction function, CUoccupancyB2DSize dynamicBytesOf,
                            std::size_t dynamicBytes, int limit, unsigned flags) {
    if (dynamicBytesOf)
        return refuse(CUDA_ERROR_NOT_SUPPORTED, "a function of the program cannot be called by another process");
    if (!gridBlocks || !blockThreads) return refuse(CUDA_ERROR_INVALID_VALUE, "no place for a result");
    Message message;
    message.put(function);
    message.put(dynamicBytes);
    message.put(limit);
    message.put(flags);
    const CUresult result = ask(numberOf(&DriverApi::cuOccupancyMaxPotentialBlockSizeWithFlags), message);
    if (result != CUDA_SUCCESS) return result;
    *gridBlocks = message.take<int>();
    *blockThreads = message.take<int>();
    return result;
}
CUresult potentialBlockSizePlain(int* gridBlocks, int* blockThreads, CUfunction function,
                                 CUoccupancyB2DSize dynamicBytesOf, std::size_t dynamicBytes, int limit) {
    return potentialBlockSize(gridBlocks, blockThreads, function, dynamicBytesOf, dynamicBytes, limit, 0);
}

}  // namespace

void enterModules(DriverApi& api) {
    enterForgetting<&DriverApi::cuModuleUnload, &DriverApi::cuCtxDestroy, &DriverApi::cuDevicePrimaryCtxRelease,
                    &DriverApi::cuDevicePrimaryCtxReset>(api);
    api.cuModuleLoadData = loadData;
    api.cuModuleLoadDataEx = loadDataEx;
    api.cuModuleLoadFatBinary = loadData;
    api.cuModuleLoad = loadFile;
    api.cuLaunchKernel = launchKernel;
    api.cuLaunchKernelEx = launchKernelEx;
    api.cuLaunchCooperativeKernel = launchCooperativeKernel;
    api.cuOccupancyMaxPotentialBlockSize = potentialBlockSizePlain;
    api.cuOccupancyMaxPotentialBlockSizeWithFlags = potentialBlockSize;
}

}  // namespace bulkhead::far_driver
