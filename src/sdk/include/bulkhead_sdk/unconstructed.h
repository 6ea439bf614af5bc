#pragma once

#include "device.h"

namespace bulkhead_sdk {

/// Room for an object in shared memory, where nobody constructs or destroys it.
template <class T>
union Unconstructed {
    T object;
    __device__ Unconstructed() {}
    __device__ ~Unconstructed() {}
};

}  // namespace bulkhead_sdk
