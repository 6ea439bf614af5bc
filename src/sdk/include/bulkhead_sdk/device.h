#pragma once

#include "../host_defines.h"

/// Small functions of the device: inlined wherever they are used, so that each file of a program has its own.
#define BULKHEAD_DEVICE static __device__ __inline__ __attribute__((always_inline))
/// Larger ones: the compiler decides.
#define BULKHEAD_DEVICE_LARGE static __device__ __inline__
/// Both sides.
#define BULKHEAD_BOTH static __host__ __device__ __inline__ __attribute__((always_inline))
