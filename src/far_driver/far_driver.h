#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "driver/driver_api.h"
#include "sim/mem/context_memory.h"

namespace bulkhead::far_driver {

/// Where the process that has a GPU listens.
struct Place {
    std::filesystem::path folder;
    std::string socket;
};

/// What it tells of itself.
struct Keeper {
    pid_t process = 0;
    uid_t user = 0;
    std::string about;
};

/// Asks without using the GPU; empty where nobody listens. Throws Error.
std::optional<Keeper> ask(const Place&);
/// Has it give the GPU up. Throws Error where it refuses.
void end(const Place&);

/// From now on that process has this one's GPU, which calls of farDriver() go to; empty where nobody listens. Throws
/// Error: it is of another version, or this process has such a GPU already.
std::optional<Keeper> join(const Place&);
bool hasJoined();

/// The GPU of another process as a CUDA driver: the same table that every driver fills. Each thread has a connection of
/// its own, so what is current in a thread is so there. Calls that nobody has described are refused by name; where the
/// other process is gone, all fail as those of MPS clients do whose server is.
const driver::DriverApi& farDriver();

// Likewise what a simulated GPU can do beyond CUDA's calls.
driver::CUresult setAllocation(const sim::AllocationOptions&);
driver::CUresult physicalAddress(std::uint64_t* physical, driver::CUdeviceptr);
driver::CUresult pageColor(std::uint32_t* color, driver::CUdeviceptr);
driver::CUresult limitThreads(double share);
/// Simulated, since it began.
double seconds();

}  // namespace bulkhead::far_driver
