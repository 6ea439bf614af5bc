#include <map>
#include <mutex>

#include "cudart/registry.h"
#include "cudart/runtime.h"

namespace bulkhead::cudart {
namespace {

/// The primary contexts that this library holds, by device.
struct Primaries {
    struct Primary {
        CUcontext context = nullptr;
        unsigned generation = 0;  ///< how often it was reset: a thread may still have the old one current
    };
    std::mutex mutex;
    std::map<CUdevice, Primary> byDevice;
};

Primaries& primaries() {
    static Primaries* all = new Primaries;
    return *all;
}

struct ThreadState {
    CUdevice device = 0;
    CUcontext context = nullptr;  ///< the primary one that this library made current here
    unsigned generation = 0;
    bool perThreadDefault = false;
};
thread_local ThreadState thread;

Primaries::Primary retain(CUdevice device) {
    const std::lock_guard lock(primaries().mutex);
    Primaries::Primary& primary = primaries().byDevice[device];
    if (!primary.context) check(api().cuDevicePrimaryCtxRetain(&primary.context, device));
    return primary;
}

bool outdated(CUcontext current) {
    if (current != thread.context) return false;
    const std::lock_guard lock(primaries().mutex);
    return primaries().byDevice[thread.device].generation != thread.generation;
}

void makeCurrent(CUdevice device) {
    const Primaries::Primary primary = retain(device);
    check(api().cuCtxSetCurrent(primary.context));
    thread.device = device;
    thread.context = primary.context;
    thread.generation = primary.generation;
}

}  // namespace

const driver::DriverApi& ready() {
    CUcontext current = nullptr;
    check(api().cuCtxGetCurrent(&current));
    if (!current || outdated(current)) makeCurrent(thread.device);
    return api();
}

CUcontext primaryContext(int device) {
    return retain(deviceAt(device)).context;
}

CUdevice deviceAt(int ordinal) {
    CUdevice device = 0;
    check(api().cuDeviceGet(&device, ordinal));
    return device;
}

int currentDevice() {
    CUcontext current = nullptr;
    CUdevice device = thread.device;
    check(api().cuCtxGetCurrent(&current));
    if (current && current != thread.context) check(api().cuCtxGetDevice(&device));
    return device;
}

void setDevice(int device) {
    makeCurrent(deviceAt(device));
}

void resetDevice() {
    const CUdevice device = currentDevice();
    const std::lock_guard lock(primaries().mutex);
    Primaries::Primary& primary = primaries().byDevice[device];
    if (primary.context) Registry::instance().forget(primary.context);
    check(api().cuDevicePrimaryCtxReset(device));
    check(api().cuCtxSetCurrent(nullptr));
    primary.context = nullptr;
    ++primary.generation;
}

cudaStream_t streamOf(cudaStream_t stream) noexcept {
    return stream || !thread.perThreadDefault ? stream : driver::kPerThreadStream;
}
bool perThreadDefault() noexcept {
    return thread.perThreadDefault;
}

PerThreadDefault::PerThreadDefault() noexcept : before_(std::exchange(thread.perThreadDefault, true)) {}
PerThreadDefault::~PerThreadDefault() {
    thread.perThreadDefault = before_;
}

}  // namespace bulkhead::cudart
