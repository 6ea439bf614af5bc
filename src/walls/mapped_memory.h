#pragma once

#include <map>

#include "base/units.h"
#include "driver/driver_api.h"

namespace bulkhead::walls {

class WalledContext;

/// Memory that a program maps itself (cuMemAddressReserve, cuMemCreate, cuMemMap) behind a memory wall, where an
/// address tells where its memory is: addresses that are reserved have their memory from the share at once, and what is
/// created is a name for the place to which it is mapped first. Memory at two addresses, or moved from one to another,
/// cannot be. Calls throw Failure.
class MappedMemory {
  public:
    using Handle = driver::CUmemGenericAllocationHandle;

    explicit MappedMemory(WalledContext& walled) : walled_(walled) {}

    driver::CUdeviceptr reserve(Bytes bytes, Bytes alignment);
    void free(driver::CUdeviceptr, Bytes bytes);
    Handle create(Bytes bytes);
    void release(Handle);
    void map(driver::CUdeviceptr, Bytes bytes, Bytes offset, Handle);
    void unmap(driver::CUdeviceptr, Bytes bytes);
    /// Whether all of it is mapped.
    bool isMapped(driver::CUdeviceptr, Bytes bytes) const;
    /// All allocations of the context are gone.
    void forget();

  private:
    struct Reservation {
        Bytes bytes = 0;
        driver::CUdeviceptr allocation = 0;  ///< which begins there, or before for the sake of alignment
    };
    struct Created {
        Bytes bytes = 0;
        driver::CUdeviceptr place = 0;  ///< of its first byte; 0 until it is mapped
        bool released = false;
    };
    struct Mapping {
        Bytes bytes = 0;
        Handle handle = 0;
    };
    /// Forgets what is neither mapped nor held.
    void forgetUnused(Handle);

    WalledContext& walled_;
    std::map<driver::CUdeviceptr, Reservation> reserved_;
    std::map<Handle, Created> created_;
    std::map<driver::CUdeviceptr, Mapping> mapped_;
    Handle last_ = 0;
};

}  // namespace bulkhead::walls
