#include <cstring>

#include "cudart/registry.h"
#include "sdk/include/cuda_runtime_api.h"

using namespace bulkhead::cudart;
using bulkhead::driver::FunctionAttribute;

namespace {

CUfunction functionOf(const void* function) {
    return Registry::instance().function(function);
}

int attribute(CUfunction function, FunctionAttribute which) {
    int value = 0;
    check(api().cuFuncGetAttribute(&value, static_cast<int>(which), function));
    return value;
}

/// Zero from a driver that does not know of it.
int newerAttribute(CUfunction function, FunctionAttribute which) {
    int value = 0;
    return api().cuFuncGetAttribute(&value, static_cast<int>(which), function) == cudaSuccess ? value : 0;
}

cudaFuncAttributes attributesOf(CUfunction function) {
    cudaFuncAttributes a;
    std::memset(&a, 0, sizeof a);
    const auto bytes = [&](FunctionAttribute which) { return static_cast<std::size_t>(attribute(function, which)); };
    a.sharedSizeBytes = bytes(FunctionAttribute::sharedBytes);
    a.constSizeBytes = bytes(FunctionAttribute::constantBytes);
    a.localSizeBytes = bytes(FunctionAttribute::localBytes);
    a.maxThreadsPerBlock = attribute(function, FunctionAttribute::maxThreadsPerBlock);
    a.numRegs = attribute(function, FunctionAttribute::registers);
    a.ptxVersion = attribute(function, FunctionAttribute::ptxVersion);
    a.binaryVersion = attribute(function, FunctionAttribute::binaryVersion);
    a.cacheModeCA = attribute(function, FunctionAttribute::cacheModeCa);
    a.maxDynamicSharedSizeBytes = attribute(function, FunctionAttribute::maxDynamicSharedBytes);
    a.preferredShmemCarveout = attribute(function, FunctionAttribute::sharedCarveout);
    a.clusterDimMustBeSet = newerAttribute(function, FunctionAttribute::clusterSizeMustBeSet);
    a.requiredClusterWidth = newerAttribute(function, FunctionAttribute::clusterWidth);
    a.requiredClusterHeight = newerAttribute(function, FunctionAttribute::clusterHeight);
    a.requiredClusterDepth = newerAttribute(function, FunctionAttribute::clusterDepth);
    a.clusterSchedulingPolicyPreference = newerAttribute(function, FunctionAttribute::clusterScheduling);
    a.nonPortableClusterSizeAllowed = newerAttribute(function, FunctionAttribute::nonPortableCluster);
    return a;
}

}  // namespace

BULKHEAD_EXPORT cudaError_t cudaGetFuncBySymbol(CUfunction* found, const void* function) {
    return call([&] {
        require(found != nullptr);
        require(Registry::instance().find(function) != nullptr, cudaErrorInvalidDeviceFunction);
        *found = functionOf(function);
    });
}

BULKHEAD_EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
    return call([&] {
        require(attributes != nullptr);
        *attributes = attributesOf(functionOf(function));
    });
}

BULKHEAD_EXPORT cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    return call([&] { check(api().cuFuncSetAttribute(functionOf(function), attribute, value)); });
}

BULKHEAD_EXPORT cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
    return call([&] { check(api().cuFuncSetCacheConfig(functionOf(function), config)); });
}

BULKHEAD_EXPORT cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig config) {
    return call([&] { check(api().cuFuncSetSharedMemConfig(functionOf(function), config)); });
}

BULKHEAD_EXPORT cudaError_t cudaFuncGetName(const char** name, const void* function) {
    return call([&] { check(newer(api().cuFuncGetName)(name, functionOf(function))); });
}

BULKHEAD_EXPORT cudaError_t cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset,
                                                 std::size_t* bytes) {
    return call([&] { check(newer(api().cuFuncGetParamInfo)(functionOf(function), index, offset, bytes)); });
}

BULKHEAD_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                          int threads, std::size_t dynamicBytes) {
    return call([&] {
        check(api().cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, functionOf(function), threads, dynamicBytes));
    });
}

BULKHEAD_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                                   int threads,
                                                                                   std::size_t dynamicBytes,
                                                                                   unsigned flags) {
    return call([&] {
        check(api().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, functionOf(function), threads,
                                                                         dynamicBytes, flags));
    });
}

BULKHEAD_EXPORT cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* dynamicBytes, const void* function,
                                                                      int blocks, int threads) {
    return call([&] {
        check(api().cuOccupancyAvailableDynamicSMemPerBlock(dynamicBytes, functionOf(function), blocks, threads));
    });
}
