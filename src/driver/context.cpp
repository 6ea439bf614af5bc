#include <algorithm>
#include <iterator>

#include "driver/access_policy.h"
#include "driver/shared_machine.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

const std::map<CUlimit, std::size_t> kDefaultLimits = {
    {kStackBytes, 1024}, {kPrintfBytes, 1 << 20}, {kHeapBytes, 8 << 20}};

constexpr unsigned kFlagMask = 0x7f;  ///< scheduling, host mapping, local memory, core dumps, synchronous copies
constexpr unsigned kMapHost = 0x08;
constexpr unsigned kApiVersion = 3020;

void forgetStream(const std::unique_ptr<CUstream_st>& stream) {
    if (!stream) return;
    dropCapture(stream.get());
    forget(stream.get());
}

/// Runs what is left of its work to the end, whatever became of it.
void drain(CUcontext context) {
    for (const sim::StreamId id : streamsOf(context)) finishStream(*context->device, id);
}

void forgetLaunchesOf(CUcontext root) {
    sim::Machine& gpu = gpuOf(root);
    std::vector<sim::LaunchId> ids;
    std::ranges::set_union(root->launches, root->unchecked, std::back_inserter(ids));
    for (const sim::LaunchId id : ids)
        if (gpu.record(id).over()) gpu.forget(id);
    root->launches.clear();
    root->unchecked.clear();
}

void forgetEverything(CUcontext context) {
    forgetStream(context->null);
    for (const auto& [thread, stream] : context->perThread) forgetStream(stream);
    for (const auto& stream : context->streams) forgetStream(stream);
    for (const auto& event : context->events) forget(event.get());
    for (const auto& module : context->modules) {
        for (const auto& [name, function] : module->functions) forget(function.get());
        if (module->library) module->library->loaded.erase(context);
        forget(module.get());
    }
    forgetImagesOf(context);
}

/// A destroyed one may be made current: what is then asked of it fails.
void requireContext(CUcontext context) {
    require(isKnown(context), CUDA_ERROR_INVALID_CONTEXT, "a context that the driver never gave out");
}

/// Of the limits that CUDA has, those that mean nothing here are unsupported; others are no limits at all.
std::size_t& limitOf(CUcontext context, CUlimit limit) {
    constexpr CUlimit kLast = 9;
    require(limit >= 0 && limit <= kLast, CUDA_ERROR_INVALID_VALUE, "no such limit");
    const auto found = context->root->limits.find(limit);
    require(found != context->root->limits.end(), CUDA_ERROR_UNSUPPORTED_LIMIT, "a limit of nothing here");
    return found->second;
}

void checkFlags(unsigned flags) {
    require((flags & ~kFlagMask) == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags of a context");
}

}  // namespace

std::unique_ptr<CUctx_st> newContext(Device& device, sim::Sharing sharing, CUcontext root) {
    auto context = std::make_unique<CUctx_st>();
    context->device = &device;
    context->root = root ? root : context.get();
    context->id = root ? root->id : device.gpu->createContext(sharing);
    context->number = state().nextId++;
    context->null = newStream(context.get(), true, 0);
    context->limits = kDefaultLimits;
    if (!root) {
        mapHostRanges(context.get());
        takePooled(context.get());
    }
    return context;
}

CUcontext createContext(Device& device, sim::Sharing sharing, unsigned flags) {
    if (state().machine) state().machine->admit(sharing);
    state().contexts.push_back(newContext(device, sharing));
    CUcontext context = remember(state().contexts.back().get());
    context->flags = flags;
    return context;
}

CUcontext primaryContext(Device& device) {
    if (!device.primary) {
        device.primary = createContext(device, device.sharing, device.primaryFlags);
        device.primary->isPrimary = true;
    }
    return device.primary;
}

void destroyContext(CUcontext context) {
    if (context->isPrimary) {
        // Green contexts stand on the primary one's memory.
        for (const auto& green : state().greens)
            if (!green->context->destroyed && green->context->root == context) destroyContext(green->context.get());
        context->device->primary = nullptr;
    }
    drain(context);
    forgetEverything(context);
    if (context->root == context) {
        forgetPeersOf(context);
        dropHostRangesOf(context);
        forgetLaunchesOf(context);
        gpuOf(context).destroyContext(context->id);
    }
    // Stale handles must still be told apart, so the context itself stays, empty.
    context->destroyed = true;
    context->null.reset();
    context->perThread.clear();
    context->streams.clear();
    context->events.clear();
    context->modules.clear();
    context->liveGraphMemory.clear();
    context->allocations.clear();
    context->reservations.clear();
    context->device = nullptr;
}

void destroyDevice(Device& device) {
    if (state().machine) {
        discardWorkOf(state());
    } else {
        device.gpu->discardWork();
    }
    unmapMemoryOf(device);
    for (const auto& green : state().greens)
        if (!green->context->destroyed && green->context->device == &device) destroyContext(green->context.get());
    for (const auto& context : state().contexts)
        if (!context->destroyed && context->device == &device) destroyContext(context.get());
    std::erase_if(state().physical, [&](const auto& entry) { return entry.second->device == device.ordinal; });
    std::erase_if(state().pools, [&](const auto& entry) {
        if (entry.second->device != &device) return false;
        forget(entry.first);
        return true;
    });
    if (device.defaultPool) forget(device.defaultPool.get());
}

namespace simulated {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    return call([&] {
        requireOutput(context);
        Device& on = deviceAt(device);
        *context = primaryContext(on);
        ++on.retained;
    });
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return call([&] {
        Device& on = deviceAt(device);
        require(on.retained > 0, CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
        if (--on.retained == 0 && on.primary) destroyContext(on.primary);
    });
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return call([&] {
        Device& on = deviceAt(device);
        if (on.primary) destroyContext(on.primary);
    });
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    return call([&] {
        requireOutput(flags, active);
        const Device& on = deviceAt(device);
        *flags = on.primaryFlags;
        *active = on.primary ? 1 : 0;
    });
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    return call([&] {
        checkFlags(flags);
        Device& on = deviceAt(device);
        on.primaryFlags = flags;
        if (on.primary) on.primary->flags = flags;
    });
}

CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
    return call([&] {
        requireOutput(context);
        checkFlags(flags);
        Device& on = deviceAt(device);
        *context = createContext(on, on.sharing, flags);
        contextStack().push_back(*context);
    });
}
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int affinityCount, unsigned flags, CUdevice device) {
    if (affinityCount != 0) {
        return call([] {
            throw Failure{CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "a share of the SMs: use a green context"};
        });
    }
    return cuCtxCreate(context, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* settings, unsigned flags, CUdevice device) {
    return cuCtxCreate_v3(context, nullptr, settings ? settings->numExecAffinityParams : 0, flags, device);
}
CUresult cuCtxDestroy(CUcontext context) {
    return call([&] {
        liveContext(context);
        require(!context->isPrimary && !context->green, CUDA_ERROR_INVALID_CONTEXT,
                "primary and green contexts have calls of their own");
        auto& stack = contextStack();
        if (!stack.empty() && stack.back() == context) stack.pop_back();
        destroyContext(context);
    });
}
CUresult cuCtxPushCurrent(CUcontext context) {
    return call([&] {
        requireInitialized();
        requireContext(context);
        contextStack().push_back(context);
    });
}
CUresult cuCtxPopCurrent(CUcontext* context) {
    return call([&] {
        requireInitialized();
        auto& stack = contextStack();
        require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT, "no context is current");
        if (context) *context = stack.back();
        stack.pop_back();
    });
}
CUresult cuCtxSetCurrent(CUcontext context) {
    return call([&] {
        requireInitialized();
        auto& stack = contextStack();
        if (context) requireContext(context);
        if (!stack.empty()) stack.pop_back();
        if (context) stack.push_back(context);
    });
}
CUresult cuCtxGetCurrent(CUcontext* context) {
    return call([&] {
        requireInitialized();
        requireOutput(context);
        *context = contextStack().empty() ? nullptr : contextStack().back();
    });
}
CUresult cuCtxGetDevice(CUdevice* device) {
    return cuCtxGetDevice_v2(device, nullptr);
}
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
    return call([&] {
        requireOutput(device);
        *device = contextOrCurrent(context)->device->ordinal;
    });
}
CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
    return call([&] {
        requireOutput(id);
        *id = contextOrCurrent(context)->number;
    });
}
CUresult cuCtxGetFlags(unsigned* flags) {
    return call([&] {
        requireOutput(flags);
        *flags = currentContext()->flags | kMapHost;
    });
}
CUresult cuCtxSetFlags(unsigned flags) {
    return call([&] {
        checkFlags(flags);
        currentContext()->flags = flags;
    });
}
CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
    return call([&] {
        requireOutput(version);
        contextOrCurrent(context);
        *version = kApiVersion;
    });
}
CUresult cuCtxSynchronize() {
    return cuCtxSynchronize_v2(nullptr);
}
CUresult cuCtxSynchronize_v2(CUcontext context) {
    return call([&] {
        CUcontext waited = context ? liveContext(context) : current();
        requireNoneCapturing(waited);
        waitForAll(waited);
    });
}

CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
    return call([&] {
        requireOutput(value);
        CUcontext context = currentContext();
        *value = limit == kPersistingL2Bytes ? context->device->persistingL2 : limitOf(context, limit);
    });
}
CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
    return call([&] {
        if (limit == kPersistingL2Bytes) return setPersistingL2(*currentContext()->device, value);
        std::size_t& set = limitOf(currentContext(), limit);
        require(limit != kHeapBytes || !currentContext()->root->heap, CUDA_ERROR_INVALID_VALUE,
                "the heap of device code is in use");
        constexpr std::size_t kHeapStep = 64 << 10;  // as an H200 rounds it
        set = limit == kHeapBytes ? (value + kHeapStep - 1) / kHeapStep * kHeapStep : value;
    });
}
CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
    return call([&] {
        requireOutput(config);
        *config = currentContext()->root->cacheConfig;
    });
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    return call([&] {
        require(config >= 0 && config <= 3, CUDA_ERROR_INVALID_VALUE, "no such preference of a cache");
        currentContext()->root->cacheConfig = config;
    });
}
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
    return call([&] {
        requireOutput(config);
        *config = currentContext()->root->sharedConfig;
    });
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    return call([&] {
        require(config >= 0 && config <= 2, CUDA_ERROR_INVALID_VALUE, "no such width of a bank");
        currentContext()->root->sharedConfig = config;
    });
}
CUresult cuCtxResetPersistingL2Cache() {
    return call([] {
        CUcontext context = current();
        waitForAll(context);
        gpuOf(context).resetPersistingL2();
    });
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return call([&] {
        const Device& device = *currentContext()->device;
        if (least) *least = 0;
        if (greatest) *greatest = greatestPriority(device);
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
