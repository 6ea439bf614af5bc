#include "libcuda/front.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>

#include "base/error.h"
#include "driver/simulated_driver.h"
#include "libcuda/devices.h"
#include "libcuda/partition.h"
#include "libcuda/timed_driver.h"
#include "walls/walls.h"

namespace bulkhead::libcuda {
namespace {

using namespace driver;

std::atomic<bool> forked = false;

CUresult getProcAddress(const char* symbol, void** address, int version, std::uint64_t flags) {
    return findCall(exportedCalls(), symbol, address, version, flags, nullptr);
}
CUresult getProcAddressV2(const char* symbol, void** address, int version, std::uint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
    return findCall(exportedCalls(), symbol, address, version, flags, status);
}

DriverApi withOwnAddresses(DriverApi api) {
    api.cuGetProcAddress = getProcAddress;
    api.cuGetProcAddress_v2 = getProcAddressV2;
    return api;
}

template <class... Parameters>
CUresult notInitialized(Parameters...) {
    return CUDA_ERROR_NOT_INITIALIZED;
}

/// Of a child whose parent had begun: what needs no device is answered.
DriverApi childOfFork() {
    DriverApi api;
#define BULKHEAD_ENTER(name, symbol, variant, parameters, arguments) api.name = notInitialized;
    BULKHEAD_DRIVER_CALLS(BULKHEAD_ENTER)
#undef BULKHEAD_ENTER
    api.cuDriverGetVersion = simulatedDriver().cuDriverGetVersion;
    api.cuGetErrorName = simulatedDriver().cuGetErrorName;
    api.cuGetErrorString = simulatedDriver().cuGetErrorString;
    return withOwnAddresses(api);
}

/// NVIDIA's driver, where the program is to be timed there; null where it is not.
const DriverApi* timedFront() {
    try {
        if (const DriverApi* timed = openTimed()) return new DriverApi(withOwnAddresses(*timed));
    } catch (const Error& e) {
        fmt::print(stderr, "bulkhead: {}\n", e.what());
    }
    return nullptr;
}

bool noteForks() {
    return pthread_atfork(nullptr, nullptr, [] { forked = true; }) == 0;
}

}  // namespace

const DriverApi& front() {
    static const DriverApi walled = withOwnAddresses(walls::walledDriver());
    static const DriverApi plain = withOwnAddresses(simulatedDriver());
    static const DriverApi child = childOfFork();
    static const bool noted = noteForks();
    (void)noted;
    if (forked) return child;
    static const DriverApi* const timed = timedFront();
    if (timed) return *timed;
    switch (placeOfProcess()) {
        case Place::walled:
            return walled;
        case Place::outside:
            addChosenDevices();
            return plain;
        case Place::refused:
            break;
    }
    return plain;  // to which nobody added a device
}

}  // namespace bulkhead::libcuda
