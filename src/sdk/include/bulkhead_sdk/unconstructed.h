#pragma once

#include "device.h"

namespace bulkhead_sdk {

/// Room for an object in shared memory, where nobody constructs or destroys it.
template <class T_>
union Unconstructed {
    T_ object;
    __device__ Unconstructed() {}
    __device__ ~Unconstructed() {}
};

}  // namespace bulkhead_sdk
