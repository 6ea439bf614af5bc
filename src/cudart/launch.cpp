#include <vector>

#include "cudart/registry.h"
#include "sdk/include/cuda_runtime_api.h"

namespace bulkhead::cudart {
namespace {

/// What stands between <<< and >>>. A launch that has no call yet may be nested in another's arguments.
struct Configuration {
    dim3 grid, block;
    std::size_t sharedBytes;
    cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

unsigned sharedBytesOf(std::size_t bytes) {
    require(bytes <= ~0u);
    return static_cast<unsigned>(bytes);
}

void launch(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t sharedBytes,
            cudaStream_t stream) {
    const CUfunction found = Registry::instance().function(function);
    check(api().cuLaunchKernel(found, grid.x, grid.y, grid.z, block.x, block.y, block.z, sharedBytesOf(sharedBytes),
                               streamOf(stream), arguments, nullptr));
}

driver::CUlaunchConfig driversConfig(const cudaLaunchConfig_t& config) {
    const dim3 &grid = config.gridDim, &block = config.blockDim;
    return {grid.x,
            grid.y,
            grid.z,
            block.x,
            block.y,
            block.z,
            sharedBytesOf(config.dynamicSmemBytes),
            streamOf(config.stream),
            reinterpret_cast<driver::CUlaunchAttribute*>(config.attrs),
            config.numAttrs};
}

}  // namespace
}  // namespace bulkhead::cudart

using namespace bulkhead::cudart;
using bulkhead::driver::CUlaunchAttribute;
using bulkhead::driver::CUlaunchConfig;

static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute));

BULKHEAD_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t sharedBytes,
                                                     cudaStream_t stream) {
    return static_cast<unsigned>(call([&] { configurations.push_back({grid, block, sharedBytes, stream}); }));
}

BULKHEAD_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* sharedBytes,
                                                       void* stream) {
    return call([&] {
        require(!configurations.empty(), cudaErrorMissingConfiguration);
        const Configuration last = configurations.back();
        configurations.pop_back();
        *grid = last.grid;
        *block = last.block;
        *sharedBytes = last.sharedBytes;
        *static_cast<cudaStream_t*>(stream) = last.stream;
    });
}

BULKHEAD_EXPORT cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                             std::size_t sharedBytes, cudaStream_t stream) {
    return call([&] { launch(function, grid, block, arguments, sharedBytes, stream); });
}

BULKHEAD_EXPORT cudaError_t __cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                               std::size_t sharedBytes, cudaStream_t stream) {
    return call([&] { launch(kernel, grid, block, arguments, sharedBytes, stream); });
}

BULKHEAD_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                                        std::size_t sharedBytes, cudaStream_t stream) {
    return call([&] {
        const CUfunction found = Registry::instance().function(function);
        check(api().cuLaunchCooperativeKernel(found, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                              sharedBytesOf(sharedBytes), streamOf(stream), arguments));
    });
}

BULKHEAD_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                                void** arguments) {
    return call([&] {
        require(config != nullptr);
        const CUfunction found = Registry::instance().function(function);
        const CUlaunchConfig drivers = driversConfig(*config);
        check(newer(api().cuLaunchKernelEx)(&drivers, found, arguments, nullptr));
    });
}

BULKHEAD_EXPORT cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                           const cudaLaunchConfig_t* config) {
    return call([&] {
        require(config != nullptr);
        const CUfunction found = Registry::instance().function(function);
        const CUlaunchConfig drivers = driversConfig(*config);
        check(newer(api().cuOccupancyMaxActiveClusters)(clusters, found, &drivers));
    });
}

BULKHEAD_EXPORT cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                                 const cudaLaunchConfig_t* config) {
    return call([&] {
        require(config != nullptr);
        const CUfunction found = Registry::instance().function(function);
        const CUlaunchConfig drivers = driversConfig(*config);
        check(newer(api().cuOccupancyMaxPotentialClusterSize)(size, found, &drivers));
    });
}

BULKHEAD_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    return call([&] { check(ready().cuLaunchHostFunc(streamOf(stream), function, data)); });
}
