#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "driver/cu_types.h"

namespace bulkhead::driver {

/// A call as cuGetProcAddress finds it.
struct NamedCall {
    std::string_view name, symbol;
    void* call;
    void* perThread;  ///< with the calling thread's default stream for the default one; the same where there is none
};

/// cuGetProcAddress_v2 over such calls: gives the one that a program which was written for a CUDA version means by a
/// name.
CUresult findCall(std::span<const NamedCall>, const char* name, void** address, int version, std::uint64_t flags,
                  CUdriverProcAddressQueryResult* status);

}  // namespace bulkhead::driver
