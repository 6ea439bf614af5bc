// A tenant's context, and which is current in a thread. There are no others: whoever could make one would be outside.

#include "walls/walled_calls.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

/// Contexts that are current in this thread, the one in use last. They may be destroyed meanwhile.
thread_local std::vector<std::weak_ptr<WalledContext>> stack;

/// CUlimit.
enum : CUlimit { kStackBytes = 0, kPrintfBytes = 1, kHeapBytes = 2, kPersistingL2Bytes = 6 };

bool isEmpty(const std::weak_ptr<WalledContext>& walled) {
    const std::weak_ptr<WalledContext> none;
    return !walled.owner_before(none) && !none.owner_before(walled);
}

std::shared_ptr<WalledContext> contextOf(CUcontext context) {
    std::shared_ptr<WalledContext> walled = ContextRegistry::instance().find(context);
    if (walled == nullptr) throw Failure{CUDA_ERROR_INVALID_CONTEXT, "no such context inside walls"};
    return walled;
}

/// Null for none.
std::shared_ptr<WalledContext> madeCurrent(CUcontext context) {
    if (context == nullptr) {
        check(innerDriver().cuCtxSetCurrent(nullptr));
        return nullptr;
    }
    std::shared_ptr<WalledContext> walled = contextOf(context);
    walled->makeCurrent();
    return walled;
}

CUresult ctxSetCurrent(CUcontext context) {
    return call([&] {
        const std::shared_ptr<WalledContext> walled = madeCurrent(context);
        if (stack.empty()) {
            stack.push_back(walled);
        } else {
            stack.back() = walled;
        }
    });
}
CUresult ctxPushCurrent(CUcontext context) {
    return call([&] { stack.push_back(madeCurrent(context)); });
}
CUresult ctxPopCurrent(CUcontext* context) {
    return call([&] {
        const std::shared_ptr<WalledContext> walled = currentContext();
        stack.pop_back();
        if (context) *context = walled->handle();
        const std::shared_ptr<WalledContext> before = stack.empty() ? nullptr : stack.back().lock();
        madeCurrent(before ? before->handle() : nullptr);
    });
}
CUresult ctxGetCurrent(CUcontext* context) {
    return call([&] {
        requireOutput(context);
        innerDriver();
        const std::shared_ptr<WalledContext> walled = stack.empty() ? nullptr : stack.back().lock();
        *context = walled ? walled->handle() : nullptr;
    });
}
CUresult ctxDestroy(CUcontext context) {
    return call([&] {
        const std::shared_ptr<WalledContext> walled = ContextRegistry::instance().remove(context);
        if (walled == nullptr) throw Failure{CUDA_ERROR_INVALID_CONTEXT, "no such context inside walls"};
        walled->close();
        if (!stack.empty() && stack.back().lock() == walled) stack.back().reset();
    });
}
/// A process's own context is the place it was put into.
CUresult primaryRetain(CUcontext* context, CUdevice device) {
    return call([&] {
        requireOutput(context);
        const std::shared_ptr<WalledContext> walled = ContextRegistry::instance().latestOn(device);
        if (walled == nullptr) throw Failure{CUDA_ERROR_INVALID_DEVICE, "no such device inside walls"};
        *context = walled->handle();
    });
}
CUresult primaryRelease(CUdevice device) {
    CUcontext context = nullptr;
    return primaryRetain(&context, device);
}
CUresult primaryReset(CUdevice device) {
    return call([&] {
        const std::shared_ptr<WalledContext> walled = ContextRegistry::instance().latestOn(device);
        if (walled == nullptr) throw Failure{CUDA_ERROR_INVALID_DEVICE, "no such device inside walls"};
        walled->reset();
    });
}
CUresult primaryGetState(CUdevice device, unsigned* flags, int* active) {
    return call([&] {
        CUcontext context = nullptr;
        check(primaryRetain(&context, device));
        const std::shared_ptr<WalledContext> walled = contextOf(context);
        check(walled->inner().cuDevicePrimaryCtxGetState(device, flags, active));
    });
}
/// The flags say how the host waits. The context stands already; others may be in it.
CUresult primarySetFlags(CUdevice device, unsigned) {
    CUcontext context = nullptr;
    return primaryRetain(&context, device);
}
CUresult ctxSynchronize() {
    return waitingInside([](WalledContext& walled) { walled.synchronize(); });
}
CUresult ctxSynchronizeOf(CUcontext context) {
    return call([&] {
        const std::shared_ptr<WalledContext> walled = contextOf(context);
        const auto staying = walled->stay();
        walled->makeCurrent();
        walled->synchronize();
    });
}
CUresult ctxGetDevice(CUdevice* device) {
    return call([&] {
        requireOutput(device);
        *device = currentContext()->device();
    });
}
CUresult ctxGetDeviceOf(CUdevice* device, CUcontext context) {
    return call([&] {
        requireOutput(device);
        *device = contextOf(context)->device();
    });
}
/// What would take memory beyond the share, or cache from everybody.
CUresult ctxSetLimit(CUlimit limit, std::size_t value) {
    return waitingInside([&](WalledContext& walled) {
        std::size_t now = 0;
        check(walled.inner().cuCtxGetLimit(&now, limit));
        if (walled.limitsMemory() && value > now && limit != kStackBytes && limit != kPrintfBytes)
            throw Failure{CUDA_ERROR_NOT_SUPPORTED, limit == kHeapBytes
                                                        ? "a larger heap for device code is outside of the share"
                                                        : "a limit that cannot be raised inside walls"};
        check(walled.inner().cuCtxSetLimit(limit, value));
    });
}

}  // namespace

std::shared_ptr<WalledContext> currentContext() {
    innerDriver();
    if (stack.empty() || isEmpty(stack.back()))
        throw Failure{CUDA_ERROR_INVALID_CONTEXT, "no context inside walls is current"};
    std::shared_ptr<WalledContext> walled = stack.back().lock();
    if (walled == nullptr || walled->isClosed())
        throw Failure{CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context was destroyed"};
    return walled;
}

void enterContextCalls(DriverApi& api) {
    passOn<&DriverApi::cuCtxGetFlags, &DriverApi::cuCtxGetApiVersion, &DriverApi::cuCtxGetLimit,
           &DriverApi::cuCtxGetCacheConfig, &DriverApi::cuCtxSetCacheConfig, &DriverApi::cuCtxGetSharedMemConfig,
           &DriverApi::cuCtxSetSharedMemConfig, &DriverApi::cuCtxGetStreamPriorityRange, &DriverApi::cuCtxGetId>(api);
    api.cuDevicePrimaryCtxRetain = primaryRetain;
    api.cuDevicePrimaryCtxRelease = primaryRelease;
    api.cuDevicePrimaryCtxReset = primaryReset;
    api.cuDevicePrimaryCtxGetState = primaryGetState;
    api.cuDevicePrimaryCtxSetFlags = primarySetFlags;
    api.cuCtxDestroy = ctxDestroy;
    api.cuCtxSetCurrent = ctxSetCurrent;
    api.cuCtxPushCurrent = ctxPushCurrent;
    api.cuCtxPopCurrent = ctxPopCurrent;
    api.cuCtxGetCurrent = ctxGetCurrent;
    api.cuCtxGetDevice = ctxGetDevice;
    api.cuCtxGetDevice_v2 = ctxGetDeviceOf;
    api.cuCtxSynchronize = ctxSynchronize;
    api.cuCtxSynchronize_v2 = ctxSynchronizeOf;
    api.cuCtxSetLimit = ctxSetLimit;
}

}  // namespace bulkhead::walls
