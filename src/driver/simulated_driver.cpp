#include "driver/simulated_driver.h"

#include "driver/simulator_api.h"
#include "driver/state.h"

namespace bulkhead::driver {

const DriverApi& simulatedDriver() {
    static const DriverApi api = [] {
        DriverApi a;
#define BULKHEAD_FILL_CALL(name, symbol, variant, parameters, arguments) a.name = simulated::name;
        BULKHEAD_DRIVER_CALLS(BULKHEAD_FILL_CALL)
#undef BULKHEAD_FILL_CALL
        return a;
    }();
    return api;
}

int addSimulatedDevice(arch::DeviceProfile profile, const std::string& scheduler) {
    sim::Gpu::Options options;
    options.scheduler = scheduler;
    return simulator().addDevice(std::move(profile), std::move(options));
}

std::string lastSimulatedError() {
    return simulator().lastError();
}

}  // namespace bulkhead::driver
