#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "driver/simulated_driver.h"
#include "sim/machine.h"

namespace bulkhead::driver {

/// What a simulated GPU can do and tell beyond any CUDA driver. The second table: code that uses it says so by its
/// name.
struct SimulatorApi {
    /// Makes a simulated GPU a device of the simulated driver. Returns its ordinal, which is not used again.
    int (*addDevice)(arch::DeviceProfile, sim::Machine::Options) = nullptr;
    /// Takes it away with everything made on it, without waiting for what it has to do.
    void (*removeDevice)(CUdevice) = nullptr;
    /// Ends what runs on it and forgets what streams hold, at once.
    void (*discardWork)(CUdevice) = nullptr;
    /// The machine itself.
    sim::Machine* (*machine)(CUdevice) = nullptr;
    /// Another context: time-sliced with the others, or beside them as under MPS.
    CUresult (*createContext)(CUcontext*, CUdevice, bool concurrent) = nullptr;
    /// Likewise, of all contexts of a device that are made by CUDA's own calls from now on, the primary one included.
    void (*setSharing)(CUdevice, bool concurrent) = nullptr;
    /// Whether green contexts number their SMs from 0, as those of MPS clients do (driver 580).
    void (*setNumbering)(bool anew) = nullptr;
    /// How the current context's memory is placed from now on: page size, color, placement.
    CUresult (*setAllocation)(const sim::AllocationOptions&) = nullptr;
    /// Where a device address of the current context lies, and the color of its page.
    CUresult (*physicalAddress)(std::uint64_t* physical, CUdeviceptr) = nullptr;
    CUresult (*pageColor)(std::uint32_t* color, CUdeviceptr) = nullptr;
    /// The share of the GPU's threads, from 0 to 1, that the current context may have at once, as MPS limits its
    /// clients.
    CUresult (*limitThreads)(double share) = nullptr;
    /// Launches of the current context are remembered from now on, until as many calls say that they need not be.
    CUresult (*keepLaunches)(bool) = nullptr;
    /// Those that are, in order.
    CUresult (*launches)(std::vector<sim::LaunchId>*) = nullptr;
    /// Lets kernels read beside allocations where hardware would not notice, and tells of each instruction that does.
    void (*relaxBounds)(std::function<void(const std::string&)> tell) = nullptr;
    /// Whether a thread of the driver's lets simulated time pass while all threads of the program wait elsewhere, as
    /// programs on a real GPU may. Off at first: those who ask for cycles want nothing to depend on the host's time.
    void (*workWhileHostWaits)(bool) = nullptr;
    /// What went wrong in this thread's last call that failed, in words: kernel, PTX line, block, thread, address.
    std::string (*lastError)() = nullptr;
};

const SimulatorApi& simulatorApi();

}  // namespace bulkhead::driver
