#include "driver/simulated_driver.h"

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

}  // namespace bulkhead::driver
