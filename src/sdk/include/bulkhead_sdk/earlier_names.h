#pragma once

#include "../cuda_runtime_api.h"

// Calls that CUDA 13 has under other names only. Programs still make them.

#ifndef cudaThreadSynchronize
static __inline__ cudaError_t cudaThreadSynchronize(void) {
    return cudaDeviceSynchronize();
}
#endif
#ifndef cudaThreadExit
static __inline__ cudaError_t cudaThreadExit(void) {
    return cudaDeviceReset();
}
#endif
#ifndef cudaThreadSetCacheConfig
static __inline__ cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config) {
    return cudaDeviceSetCacheConfig(config);
}
#endif
#ifndef cudaThreadGetCacheConfig
static __inline__ cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache* config) {
    return cudaDeviceGetCacheConfig(config);
}
#endif
#ifndef cudaThreadSetLimit
static __inline__ cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value) {
    return cudaDeviceSetLimit(limit, value);
}
#endif
#ifndef cudaThreadGetLimit
static __inline__ cudaError_t cudaThreadGetLimit(size_t* value, enum cudaLimit limit) {
    return cudaDeviceGetLimit(value, limit);
}
#endif
