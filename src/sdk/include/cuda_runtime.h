#pragma once

#define __CUDA_RUNTIME_H__

// CUDA C++ for clang, with nothing of NVIDIA's toolkit: docs/cc.md says what is covered. Device code first: what it
// declares must be seen before the standard library.

#include "device_types.h"
#include "host_defines.h"
#include "vector_types.h"

#ifdef __CUDA__
#include "bulkhead_sdk/atomics.h"
#include "bulkhead_sdk/cached_access.h"
#include "bulkhead_sdk/coordinates.h"
#include "bulkhead_sdk/graph_condition.h"
#include "bulkhead_sdk/math_overloads.h"
#include "bulkhead_sdk/min_max.h"
#include "bulkhead_sdk/simd_intrinsics.h"
#include "bulkhead_sdk/standard_library.h"
#include "bulkhead_sdk/synchronization.h"
#include "bulkhead_sdk/unconstructed.h"
#include "bulkhead_sdk/warp.h"
#endif

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
#include <cmath>
#include <cstdlib>
#include <new>
#endif

#include "cuda_runtime_api.h"

#ifdef __CUDA__
#include "bulkhead_sdk/surface_functions.h"
#include "bulkhead_sdk/texture_functions.h"

// What clang turns <<<...>>> into; the second one where it has not been shown a toolkit, and only device code is
// wanted.
extern "C" unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes = 0,
                                                    cudaStream_t stream = 0);
extern "C" cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t sharedBytes = 0, cudaStream_t stream = 0);
#endif
#ifdef __cplusplus
#include "bulkhead_sdk/host_templates.h"
#include "bulkhead_sdk/managed.h"
#include "channel_descriptor.h"
#include "vector_functions.h"
#endif
