// What functions and kernels say of themselves, and how many of their blocks fit an SM.

#include <algorithm>
#include <limits>

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

const arch::DeviceProfile& profileOf(CUfunction function) {
    return gpuOf(function->module->context).profile();
}

/// The largest block whose registers an SM has.
int maxThreads(CUfunction function) {
    const auto& sm = profileOf(function).sm;
    const sim::Code& code = *function->code;
    const std::int64_t perThread = std::clamp<std::int64_t>(code.registersPerThread, 1, sm.maxRegistersPerThread);
    const std::int64_t perWarp =
        (perThread * sim::kLanes + sm.registerGranularity - 1) / sm.registerGranularity * sm.registerGranularity;
    std::int64_t most = std::min(sm.maxThreadsPerBlock, sm.registers / perWarp * sim::kLanes);
    if (code.maxThreadsPerBlock) most = std::min<std::int64_t>(most, code.maxThreadsPerBlock);
    return static_cast<int>(most);
}

int constantBytes(CUfunction function) {
    std::uint64_t sum = 0;
    for (const sim::Program::Global& global : function->module->loaded.program->globals)
        if (global.space == ptx::Space::constant) sum += global.bytes;
    return static_cast<int>(sum);
}

int attributeOf(CUfunction function, FunctionAttribute attribute) {
    using A = FunctionAttribute;
    const sim::Code& code = *function->code;
    switch (attribute) {
        case A::maxThreadsPerBlock:
            return maxThreads(function);
        case A::sharedBytes:
            return static_cast<int>(code.sharedBytes);
        case A::constantBytes:
            return constantBytes(function);
        case A::localBytes:
            return static_cast<int>(code.stackBytes);
        case A::registers:
            return static_cast<int>(
                std::min<std::int64_t>(code.registersPerThread, profileOf(function).sm.maxRegistersPerThread));
        case A::ptxVersion:
            return function->module->target;
        case A::binaryVersion:
            return profileOf(function).compute.major * 10 + profileOf(function).compute.minor;
        case A::maxDynamicSharedBytes:
            return static_cast<int>(dynamicSharedLimit(function));
        case A::sharedCarveout:
            return function->settings.sharedCarveout;
        case A::clusterSizeMustBeSet:
            return code.explicitCluster && !requiredCluster(function).count();
        case A::clusterWidth:
            return static_cast<int>(requiredCluster(function).x);
        case A::clusterHeight:
            return static_cast<int>(requiredCluster(function).y);
        case A::clusterDepth:
            return static_cast<int>(requiredCluster(function).z);
        case A::nonPortableCluster:
            return function->settings.nonPortableCluster;
        case A::clusterScheduling:
            return function->settings.clusterScheduling;
        case A::cacheModeCa:
            return 0;
    }
    throw Failure{CUDA_ERROR_INVALID_VALUE, "no such attribute of a function"};
}

/// Changes the settings; `staticShared` and the profile say what is possible.
void setAttribute(FunctionSettings& settings, FunctionAttribute attribute, int value, std::int64_t staticShared,
                  const arch::DeviceProfile& profile) {
    switch (attribute) {
        case FunctionAttribute::maxDynamicSharedBytes:
            require(value >= 0 && value + staticShared <= profile.sm.maxSharedPerBlock, CUDA_ERROR_INVALID_VALUE,
                    "more shared memory than a block can have");
            settings.maxDynamicShared = value;
            return;
        case FunctionAttribute::sharedCarveout:
            requireCarveout(value);
            settings.sharedCarveout = value;
            return;
        case FunctionAttribute::clusterWidth:
        case FunctionAttribute::clusterHeight:
        case FunctionAttribute::clusterDepth:
            require(value >= 0, CUDA_ERROR_INVALID_VALUE, "a cluster has a positive number of blocks, or 0");
            settings.cluster[static_cast<int>(attribute) - static_cast<int>(FunctionAttribute::clusterWidth)] = value;
            return;
        case FunctionAttribute::nonPortableCluster:
            require(value == 0 || value == 1, CUDA_ERROR_INVALID_VALUE, "clusters of all sizes are allowed, or not");
            settings.nonPortableCluster = value;
            return;
        case FunctionAttribute::clusterScheduling:
            require(value >= 0 && value <= 2, CUDA_ERROR_INVALID_VALUE, "no such way to schedule clusters");
            settings.clusterScheduling = value;
            return;
        default:
            throw Failure{CUDA_ERROR_INVALID_VALUE, "an attribute that cannot be set"};
    }
}

void requireCacheConfig(CUfunc_cache config) {
    require(config >= 0 && config <= 3, CUDA_ERROR_INVALID_VALUE, "no such preference of a cache");
}

/// Blocks of that size on one SM; 0 if not even one fits.
int blocksPerSm(CUfunction function, std::int64_t threads, std::size_t dynamicBytes) {
    require(threads > 0 && threads <= std::numeric_limits<int>::max(), CUDA_ERROR_INVALID_VALUE,
            "a block has at least one thread");
    if (dynamicBytes > std::numeric_limits<std::uint32_t>::max()) return 0;
    try {
        return static_cast<int>(
            sim::occupancyOf(profileOf(function), *function->code, {static_cast<std::uint32_t>(threads), 1, 1},
                             static_cast<std::uint32_t>(dynamicBytes), function->settings.sharedCarveout)
                .blocksPerSm);
    } catch (const Error&) {
        return 0;
    }
}

/// The block size, a multiple of a warp, that puts the most threads on an SM; of equals the largest.
void bestBlock(int* gridBlocks, int* blockThreads, CUfunction function, CUoccupancyB2DSize dynamicBytesOf,
               std::size_t dynamicBytes, int limit) {
    requireOutput(gridBlocks, blockThreads);
    int most = maxThreads(function);
    if (limit > 0) most = std::min(most, limit);
    int best = 0, bestBlocks = 0;
    for (int threads = (most + sim::kLanes - 1) / sim::kLanes * sim::kLanes; threads > 0; threads -= sim::kLanes) {
        const int clipped = std::min(threads, most);
        const std::size_t shared = dynamicBytesOf ? dynamicBytesOf(clipped) : dynamicBytes;
        const int blocks = blocksPerSm(function, clipped, shared);
        if (blocks * clipped > best * bestBlocks) best = clipped, bestBlocks = blocks;
    }
    require(best > 0, CUDA_ERROR_INVALID_VALUE, "no block of this kernel fits an SM");
    *blockThreads = best;
    *gridBlocks = bestBlocks * static_cast<int>(profileOf(function).sm.count);
}

void giveParameter(const sim::Code& code, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    require(index < code.params.size(), CUDA_ERROR_INVALID_VALUE, "the kernel has fewer parameters");
    if (offset) *offset = code.params[index].offset;
    if (bytes) *bytes = code.params[index].bytes;
}

/// A kernel as a function of the current context.
CUfunction hereOf(CUkernel kernel) {
    return resolveFunction(reinterpret_cast<CUfunction>(known(kernel)));
}

}  // namespace

std::int64_t dynamicSharedLimit(CUfunction function) {
    if (function->settings.maxDynamicShared >= 0) return function->settings.maxDynamicShared;
    const std::int64_t most = std::min(kSharedWithoutOptIn, profileOf(function).sm.maxSharedPerBlock);
    return std::max<std::int64_t>(0, most - function->code->sharedBytes);
}

sim::Dim3 requiredCluster(CUfunction function) {
    const auto& compiled = function->code->requiredCluster;
    if (compiled[0]) return {compiled[0], compiled[1], compiled[2]};
    const auto& set = function->settings.cluster;
    return {static_cast<std::uint32_t>(set[0]), static_cast<std::uint32_t>(set[1]), static_cast<std::uint32_t>(set[2])};
}

namespace simulated {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
    return call([&] {
        requireOutput(value);
        *value = attributeOf(resolveFunction(function), static_cast<FunctionAttribute>(attribute));
    });
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    return call([&] {
        CUfunction found = resolveFunction(function);
        const bool ofCluster = attribute >= static_cast<int>(FunctionAttribute::clusterWidth) &&
                               attribute <= static_cast<int>(FunctionAttribute::clusterDepth);
        require(!ofCluster || !found->code->requiredCluster[0], CUDA_ERROR_NOT_PERMITTED,
                "the kernel was compiled for its cluster");
        setAttribute(found->settings, static_cast<FunctionAttribute>(attribute), value, found->code->sharedBytes,
                     profileOf(found));
    });
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
    return call([&] {
        requireCacheConfig(config);
        resolveFunction(function)->settings.cacheConfig = config;
    });
}
CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
    return call([&] {
        require(config >= 0 && config <= 2, CUDA_ERROR_INVALID_VALUE, "no such width of a bank");
        resolveFunction(function);
    });
}
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
    return call([&] {
        requireOutput(module);
        *module = resolveFunction(function)->module;
    });
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
    return call([&] {
        requireOutput(name);
        *name = resolveFunction(function)->code->name.c_str();
    });
}
CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    return call([&] { giveParameter(*resolveFunction(function)->code, index, offset, bytes); });
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
    return call([&] {
        requireOutput(state);
        known(function);
        constexpr CUfunctionLoadingState kLoaded = 1;
        *state = kLoaded;
    });
}
CUresult cuFuncLoad(CUfunction function) {
    return call([&] { known(function); });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device) {
    return call([&] {
        requireOutput(value);
        deviceAt(device);
        *value = attributeOf(hereOf(kernel), static_cast<FunctionAttribute>(attribute));
    });
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
    return call([&] {
        const arch::DeviceProfile& profile = deviceAt(device).gpu->profile();
        setAttribute(known(kernel)->settings, static_cast<FunctionAttribute>(attribute), value, 0, profile);
        for (const auto& [context, module] : kernel->library->loaded) {
            const auto found = module->functions.find(kernel->name);
            if (context->device->ordinal == device && found != module->functions.end())
                setAttribute(found->second->settings, static_cast<FunctionAttribute>(attribute), value,
                             found->second->code->sharedBytes, profile);
        }
    });
}
CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) {
    return call([&] {
        requireCacheConfig(config);
        deviceAt(device);
        known(kernel)->settings.cacheConfig = config;
    });
}
CUresult cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    return call([&] { giveParameter(*hereOf(kernel)->code, index, offset, bytes); });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int blockThreads,
                                                     std::size_t dynamicBytes) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, blockThreads, dynamicBytes, 0);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int blockThreads,
                                                              std::size_t dynamicBytes, unsigned flags) {
    return call([&] {
        requireOutput(blocks);
        require(flags <= 1, CUDA_ERROR_INVALID_VALUE, "unknown flags");
        *blocks = blocksPerSm(resolveFunction(function), blockThreads, dynamicBytes);
    });
}
CUresult cuOccupancyMaxPotentialBlockSize(int* gridBlocks, int* blockThreads, CUfunction function,
                                          CUoccupancyB2DSize dynamicBytesOf, std::size_t dynamicBytes, int limit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(gridBlocks, blockThreads, function, dynamicBytesOf, dynamicBytes,
                                                     limit, 0);
}
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* gridBlocks, int* blockThreads, CUfunction function,
                                                   CUoccupancyB2DSize dynamicBytesOf, std::size_t dynamicBytes,
                                                   int limit, unsigned flags) {
    return call([&] {
        require(flags <= 1, CUDA_ERROR_INVALID_VALUE, "unknown flags");
        bestBlock(gridBlocks, blockThreads, resolveFunction(function), dynamicBytesOf, dynamicBytes, limit);
    });
}
CUresult cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* dynamicBytes, CUfunction function, int blocks,
                                                 int blockThreads) {
    return call([&] {
        requireOutput(dynamicBytes);
        CUfunction found = resolveFunction(function);
        require(blocks > 0 && blockThreads > 0, CUDA_ERROR_INVALID_VALUE, "at least one block of one thread");
        const auto& sm = profileOf(found).sm;
        const std::int64_t each = sm.sharedBytes / blocks / sm.sharedGranularity * sm.sharedGranularity;
        const std::int64_t most = std::min(each, sm.maxSharedPerBlock) - found->code->sharedBytes;
        *dynamicBytes = blocksPerSm(found, blockThreads, 0) < blocks
                            ? 0
                            : static_cast<std::size_t>(std::max<std::int64_t>(0, most));
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
