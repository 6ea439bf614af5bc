#include <vector>

#include "cudart/registry.h"

namespace bulkhead::cudart {
namespace {

/// What stands between <<< and >>>. A launch that has no call yet may be nested in another's arguments.
struct Configuration {
    Dim3 grid, block;
    std::size_t sharedBytes;
    CUstream stream;
};
thread_local std::vector<Configuration> configurations;

unsigned sharedBytesOf(std::size_t bytes) {
    require(bytes <= ~0u);
    return static_cast<unsigned>(bytes);
}

void launch(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t sharedBytes, CUstream stream) {
    const CUfunction found = Registry::instance().function(function);
    check(api().cuLaunchKernel(found, grid.x, grid.y, grid.z, block.x, block.y, block.z, sharedBytesOf(sharedBytes),
                               streamOf(stream), arguments, nullptr));
}

}  // namespace
}  // namespace bulkhead::cudart

using namespace bulkhead::cudart;
using bulkhead::driver::CUlaunchConfig;

BULKHEAD_EXPORT unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t sharedBytes, CUstream stream) {
    return static_cast<unsigned>(call([&] { configurations.push_back({grid, block, sharedBytes, stream}); }));
}

BULKHEAD_EXPORT CudaError __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* sharedBytes, void* stream) {
    return call([&] {
        require(!configurations.empty(), kMissingConfiguration);
        const Configuration last = configurations.back();
        configurations.pop_back();
        *grid = last.grid;
        *block = last.block;
        *sharedBytes = last.sharedBytes;
        *static_cast<CUstream*>(stream) = last.stream;
    });
}

BULKHEAD_EXPORT CudaError cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments,
                                           std::size_t sharedBytes, CUstream stream) {
    return call([&] { launch(function, grid, block, arguments, sharedBytes, stream); });
}

BULKHEAD_EXPORT CudaError __cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void** arguments,
                                             std::size_t sharedBytes, CUstream stream) {
    return call([&] { launch(kernel, grid, block, arguments, sharedBytes, stream); });
}

BULKHEAD_EXPORT CudaError cudaLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block, void** arguments,
                                                      std::size_t sharedBytes, CUstream stream) {
    return call([&] {
        const CUfunction found = Registry::instance().function(function);
        check(api().cuLaunchCooperativeKernel(found, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                              sharedBytesOf(sharedBytes), streamOf(stream), arguments));
    });
}

BULKHEAD_EXPORT CudaError cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
    return call([&] {
        require(config != nullptr);
        const CUfunction found = Registry::instance().function(function);
        const Dim3 &grid = config->grid, &block = config->block;
        const CUlaunchConfig drivers = {grid.x,
                                        grid.y,
                                        grid.z,
                                        block.x,
                                        block.y,
                                        block.z,
                                        sharedBytesOf(config->dynamicBytes),
                                        streamOf(config->stream),
                                        config->attributes,
                                        config->attributeCount};
        check(newer(api().cuLaunchKernelEx)(&drivers, found, arguments, nullptr));
    });
}

BULKHEAD_EXPORT CudaError cudaLaunchHostFunc(CUstream stream, bulkhead::driver::CUhostFn function, void* data) {
    return call([&] { check(ready().cuLaunchHostFunc(streamOf(stream), function, data)); });
}
