// Device code gets its walls when it is loaded; launches keep within them.

#include "driver/fatbin.h"
#include "driver/launch_attributes.h"
#include "walls/walled_calls.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

// Modules.

CUresult moduleLoadData(CUmodule* module, const void* image) {
    return inside([&](WalledContext& walled) {
        requireOutput(module, image);
        *module = walled.load(image);
    });
}
CUresult moduleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    return moduleLoadData(module, image);
}
CUresult moduleLoad(CUmodule* module, const char* path) {
    return inside([&](WalledContext& walled) {
        requireOutput(module, path);
        *module = walled.load(readImage(path).c_str());
    });
}
CUresult moduleUnload(CUmodule module) {
    return inside([&](WalledContext& walled) { walled.unload(module); });
}
CUresult moduleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    return inside([&](WalledContext& walled) {
        requireOutput(function, name);
        *function = walled.function(module, name);
    });
}
CUresult moduleGetFunctionCount(unsigned* count, CUmodule module) {
    return inside([&](WalledContext& walled) {
        requireOutput(count);
        *count = static_cast<unsigned>(walled.kernelsOf(module).size());
    });
}
CUresult moduleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
    return inside([&](WalledContext& walled) {
        requireOutput(functions);
        const std::vector<std::string> names = walled.kernelsOf(module);
        for (unsigned i = 0; i < count && i < names.size(); ++i)
            functions[i] = walled.function(module, names[i].c_str());
    });
}

// Functions.

CUresult funcGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    return inside([&](WalledContext& walled) {
        if (!walled.parameter(function, index, offset, bytes))
            throw Failure{CUDA_ERROR_INVALID_VALUE, "no such parameter"};
    });
}
CUresult funcGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
    return inside([&](WalledContext& walled) {
        requireOutput(value);
        check(walled.inner().cuFuncGetAttribute(value, attribute, function));
        if (static_cast<FunctionAttribute>(attribute) == FunctionAttribute::sharedBytes)
            *value = walled.ownSharedBytes(function, *value);
    });
}
CUresult funcSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    return inside([&](WalledContext& walled) {
        walled.forgetOccupancy(function);
        check(walled.inner().cuFuncSetAttribute(function, attribute, value));
    });
}
/// Asks the driver behind of a launch with clusters, in a stream of the place.
template <class Ask>
CUresult ofPlace(WalledContext& walled, const CUlaunchConfig* config, Ask&& ask) {
    requireOutput(config);
    if (!walled.placedByDriver())
        throw Failure{CUDA_ERROR_NOT_SUPPORTED, "there are no clusters where blocks place themselves"};
    CUlaunchConfig behindIt = *config;
    behindIt.hStream = walled.enter(config->hStream);
    return ask(behindIt);
}
/// A grid that fills the share.
CUresult occupancyMaxPotentialBlockSizeWithFlags(int* gridBlocks, int* blockThreads, CUfunction function,
                                                 CUoccupancyB2DSize dynamicBytesOf, std::size_t dynamicBytes, int limit,
                                                 unsigned flags) {
    return inside([&](WalledContext& walled) {
        requireOutput(gridBlocks, blockThreads);
        check(walled.inner().cuOccupancyMaxPotentialBlockSizeWithFlags(gridBlocks, blockThreads, function,
                                                                       dynamicBytesOf, dynamicBytes, limit, flags));
        *gridBlocks = *gridBlocks / walled.allSms() * walled.sms();
    });
}
CUresult occupancyMaxPotentialBlockSize(int* gridBlocks, int* blockThreads, CUfunction function,
                                        CUoccupancyB2DSize dynamicBytesOf, std::size_t dynamicBytes, int limit) {
    return occupancyMaxPotentialBlockSizeWithFlags(gridBlocks, blockThreads, function, dynamicBytesOf, dynamicBytes,
                                                   limit, 0);
}

/// As the place has room for.
CUresult occupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
    return inside([&](WalledContext& walled) {
        check(ofPlace(walled, config, [&](const CUlaunchConfig& c) {
            return walled.inner().cuOccupancyMaxActiveClusters(clusters, function, &c);
        }));
    });
}
CUresult occupancyMaxPotentialClusterSize(int* blocks, CUfunction function, const CUlaunchConfig* config) {
    return inside([&](WalledContext& walled) {
        check(ofPlace(walled, config, [&](const CUlaunchConfig& c) {
            return walled.inner().cuOccupancyMaxPotentialClusterSize(blocks, function, &c);
        }));
    });
}

// Launches.

CUresult launchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                      unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters,
                      void** extra) {
    return inside([&](WalledContext& walled) {
        const WalledContext::Shape shape{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes};
        walled.launch(function, shape, walled.enter(stream), parameters, extra);
    });
}

CUresult launchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    return inside([&](WalledContext& walled) {
        const WalledContext::Shape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                                         {config->blockDimX, config->blockDimY, config->blockDimZ},
                                         config->sharedMemBytes};
        const auto attributes = attributesBehind(walled, std::span(config->attrs, config->numAttrs));
        walled.launch(function, shape, walled.enter(config->hStream), parameters, extra, attributes);
    });
}
CUresult launchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                 unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream,
                                 void** parameters) {
    CUlaunchAttribute cooperative = {};
    cooperative.id = static_cast<CUlaunchAttributeID>(LaunchAttribute::cooperative);
    cooperative.value.cooperative = 1;
    const CUlaunchConfig config = {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, &cooperative, 1};
    return launchKernelEx(&config, function, parameters, nullptr);
}

}  // namespace

std::vector<CUlaunchAttribute> attributesBehind(const WalledContext& walled, std::span<const CUlaunchAttribute> given) {
    std::vector<CUlaunchAttribute> kept;
    for (const CUlaunchAttribute& attribute : given) {
        switch (static_cast<LaunchAttribute>(attribute.id)) {
            case LaunchAttribute::ignore:
            case LaunchAttribute::accessPolicyWindow:  // of addresses that are others behind a memory wall
            case LaunchAttribute::nvlinkScheduling:
                break;
            case LaunchAttribute::cooperative:
                if (attribute.value.cooperative == 0) break;
                if (!walled.placedByDriver())
                    throw Failure{CUDA_ERROR_NOT_SUPPORTED, "grids do not synchronise where blocks place themselves"};
                kept.push_back(attribute);
                break;
            case LaunchAttribute::clusterDimension:
                if (const auto& d = attribute.value.clusterDim; d.x * d.y * d.z > 1 && !walled.placedByDriver())
                    throw Failure{CUDA_ERROR_NOT_SUPPORTED, "there are no clusters where blocks place themselves"};
                if (walled.placedByDriver()) kept.push_back(attribute);
                break;
            case LaunchAttribute::clusterScheduling:
            case LaunchAttribute::preferredClusterDimension:
            case LaunchAttribute::synchronizationPolicy:
            case LaunchAttribute::programmaticSerialization:
            case LaunchAttribute::priority:
            case LaunchAttribute::memorySyncDomainMap:
            case LaunchAttribute::memorySyncDomain:
            case LaunchAttribute::sharedCarveout:
                if (walled.placedByDriver()) kept.push_back(attribute);
                break;
            default:
                throw Failure{CUDA_ERROR_NOT_SUPPORTED,
                              fmt::format("launches inside walls have no attribute {}", attribute.id)};
        }
    }
    return kept;
}

void enterModuleCalls(DriverApi& api) {
    passOn<&DriverApi::cuModuleGetGlobal, &DriverApi::cuFuncSetCacheConfig, &DriverApi::cuFuncSetSharedMemConfig,
           &DriverApi::cuFuncGetModule, &DriverApi::cuFuncGetName, &DriverApi::cuFuncIsLoaded, &DriverApi::cuFuncLoad,
           &DriverApi::cuOccupancyMaxActiveBlocksPerMultiprocessor,
           &DriverApi::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
           &DriverApi::cuOccupancyAvailableDynamicSMemPerBlock>(api);
    api.cuOccupancyMaxActiveClusters = occupancyMaxActiveClusters;
    api.cuOccupancyMaxPotentialClusterSize = occupancyMaxPotentialClusterSize;
    api.cuModuleLoad = moduleLoad;
    api.cuModuleLoadData = moduleLoadData;
    api.cuModuleLoadDataEx = moduleLoadDataEx;
    api.cuModuleLoadFatBinary = moduleLoadData;
    api.cuModuleUnload = moduleUnload;
    api.cuModuleGetFunction = moduleGetFunction;
    api.cuModuleGetFunctionCount = moduleGetFunctionCount;
    api.cuModuleEnumerateFunctions = moduleEnumerateFunctions;
    api.cuFuncGetParamInfo = funcGetParamInfo;
    api.cuFuncGetAttribute = funcGetAttribute;
    api.cuFuncSetAttribute = funcSetAttribute;
    api.cuOccupancyMaxPotentialBlockSize = occupancyMaxPotentialBlockSize;
    api.cuOccupancyMaxPotentialBlockSizeWithFlags = occupancyMaxPotentialBlockSizeWithFlags;
    api.cuLaunchKernel = launchKernel;
    api.cuLaunchKernelEx = launchKernelEx;
    api.cuLaunchCooperativeKernel = launchCooperativeKernel;
}

}  // namespace bulkhead::walls
