#include <cstring>

#include "cudart/registry.h"

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
    return api().cuFuncGetAttribute(&value, static_cast<int>(which), function) == kSuccess ? value : 0;
}

FunctionAttributes attributesOf(CUfunction function) {
    FunctionAttributes a;
    std::memset(&a, 0, sizeof a);
    const auto bytes = [&](FunctionAttribute which) { return static_cast<std::size_t>(attribute(function, which)); };
    a.sharedBytes = bytes(FunctionAttribute::sharedBytes);
    a.constantBytes = bytes(FunctionAttribute::constantBytes);
    a.localBytes = bytes(FunctionAttribute::localBytes);
    a.maxThreadsPerBlock = attribute(function, FunctionAttribute::maxThreadsPerBlock);
    a.registers = attribute(function, FunctionAttribute::registers);
    a.ptxVersion = attribute(function, FunctionAttribute::ptxVersion);
    a.binaryVersion = attribute(function, FunctionAttribute::binaryVersion);
    a.cacheModeCa = attribute(function, FunctionAttribute::cacheModeCa);
    a.maxDynamicSharedBytes = attribute(function, FunctionAttribute::maxDynamicSharedBytes);
    a.sharedCarveout = attribute(function, FunctionAttribute::sharedCarveout);
    a.clusterSizeMustBeSet = newerAttribute(function, FunctionAttribute::clusterSizeMustBeSet);
    a.clusterWidth = newerAttribute(function, FunctionAttribute::clusterWidth);
    a.clusterHeight = newerAttribute(function, FunctionAttribute::clusterHeight);
    a.clusterDepth = newerAttribute(function, FunctionAttribute::clusterDepth);
    a.clusterScheduling = newerAttribute(function, FunctionAttribute::clusterScheduling);
    a.nonPortableCluster = newerAttribute(function, FunctionAttribute::nonPortableCluster);
    return a;
}

}  // namespace

BULKHEAD_EXPORT CudaError cudaGetFuncBySymbol(CUfunction* found, const void* function) {
    return call([&] {
        require(found != nullptr);
        require(Registry::instance().find(function) != nullptr, kInvalidDeviceFunction);
        *found = functionOf(function);
    });
}

BULKHEAD_EXPORT CudaError cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function) {
    return call([&] {
        require(attributes != nullptr);
        *attributes = attributesOf(functionOf(function));
    });
}

BULKHEAD_EXPORT CudaError cudaFuncSetAttribute(const void* function, int attribute, int value) {
    return call([&] { check(api().cuFuncSetAttribute(functionOf(function), attribute, value)); });
}

BULKHEAD_EXPORT CudaError cudaFuncSetCacheConfig(const void* function, int config) {
    return call([&] { check(api().cuFuncSetCacheConfig(functionOf(function), config)); });
}

BULKHEAD_EXPORT CudaError cudaFuncSetSharedMemConfig(const void* function, int config) {
    return call([&] { check(api().cuFuncSetSharedMemConfig(functionOf(function), config)); });
}

BULKHEAD_EXPORT CudaError cudaFuncGetName(const char** name, const void* function) {
    return call([&] { check(newer(api().cuFuncGetName)(name, functionOf(function))); });
}

BULKHEAD_EXPORT CudaError cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset,
                                               std::size_t* bytes) {
    return call([&] { check(newer(api().cuFuncGetParamInfo)(functionOf(function), index, offset, bytes)); });
}

BULKHEAD_EXPORT CudaError cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                                        std::size_t dynamicBytes) {
    return call([&] {
        check(api().cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, functionOf(function), threads, dynamicBytes));
    });
}

BULKHEAD_EXPORT CudaError cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                                 int threads, std::size_t dynamicBytes,
                                                                                 unsigned flags) {
    return call([&] {
        check(api().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, functionOf(function), threads,
                                                                         dynamicBytes, flags));
    });
}

BULKHEAD_EXPORT CudaError cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* dynamicBytes, const void* function,
                                                                    int blocks, int threads) {
    return call([&] {
        check(api().cuOccupancyAvailableDynamicSMemPerBlock(dynamicBytes, functionOf(function), blocks, threads));
    });
}
