// The table of calls that stands before a driver's. What its parts do not name is refused.

#include "walls/walled_calls.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

thread_local std::string lastErrorText;

namespace closed {
template <class... Arguments>
void ignore(Arguments...) {}
#define BULKHEAD_REFUSE(name, symbol, variant, parameters, arguments) \
    CUresult name parameters {                                        \
        ignore arguments;                                             \
        return refused(#name " is not supported");                    \
    }
BULKHEAD_DRIVER_CALLS(BULKHEAD_REFUSE)
#undef BULKHEAD_REFUSE
}  // namespace closed

DriverApi makeTable() {
    DriverApi api;
#define BULKHEAD_ENTER(name, symbol, variant, parameters, arguments) api.name = closed::name;
    BULKHEAD_DRIVER_CALLS(BULKHEAD_ENTER)
#undef BULKHEAD_ENTER
    enterDeviceCalls(api);
    enterContextCalls(api);
    enterModuleCalls(api);
    enterLibraryCalls(api);
    enterMemoryCalls(api);
    enterCopyCalls(api);
    enterStreamCalls(api);
    enterGraphCalls(api);
    return api;
}

}  // namespace

const DriverApi& innerDriver() {
    const DriverApi* inner = ContextRegistry::instance().inner();
    if (inner == nullptr) throw Failure{CUDA_ERROR_NOT_INITIALIZED, "no walls were put up"};
    return *inner;
}

void setLastError(std::string why) {
    lastErrorText = std::move(why);
}

std::string lastError() {
    return lastErrorText;
}

const DriverApi& walledDriver() {
    static const DriverApi api = makeTable();
    return api;
}

}  // namespace bulkhead::walls
