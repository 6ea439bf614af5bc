#include "driver/simulated_driver.h"

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/error.h"
#include "ptx/module.h"
#include "sim/gpu.h"

namespace bulkhead::driver {
namespace {

struct Device {
    std::unique_ptr<sim::Gpu> gpu;
    std::unique_ptr<CUctx_st> primary;
    int retained = 0;
};

}  // namespace

struct CUctx_st {
    Device* device = nullptr;
    sim::ContextId id = 0;
    std::unique_ptr<CUstream_st> null;  ///< the legacy default stream
    std::set<CUstream> streams;
    std::vector<sim::LaunchId> unchecked;  ///< launches whose end nobody has looked at yet
    CUresult failed = CUDA_SUCCESS;        ///< a kernel's fault stays with its context
    std::string why;
};
struct CUmod_st {
    CUcontext context = nullptr;
    sim::LoadedModule loaded;
    std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};
struct CUfunc_st {
    CUmodule module = nullptr;
    const sim::Code* code = nullptr;
};
struct CUstream_st {
    CUcontext context = nullptr;
    sim::StreamId id = 0;
    bool blocking = true;  ///< waits for the default stream, and it for this one
};
struct CUevent_st {
    CUcontext context = nullptr;
    sim::MarkerId marker = 0;
    CUstream stream = nullptr;  ///< where it was last recorded
};

namespace {

// CUresult, as the driver numbers them.
enum Result : CUresult {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidContext = 201,
    kInvalidPtx = 218,
    kInvalidHandle = 400,
    kNotFound = 500,
    kNotReady = 600,
    kIllegalAddress = 700,
    kLaunchOutOfResources = 701,
    kLaunchTimeout = 702,
    kAssert = 710,
    kHardwareStackError = 714,
    kIllegalInstruction = 715,
    kMisalignedAddress = 716,
    kLaunchFailed = 719,
};

struct ErrorText {
    CUresult code;
    const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {kAssert, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {kHardwareStackError, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {kIllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

/// Leaves a call with a code of the driver's.
struct Failure {
    CUresult code;
    std::string why;
};

/// Assumed: what PCIe 3.0 x16 gives in practice. Copies take this long and move no simulated traffic.
constexpr double kHostLinkBytesPerSecond = 12e9;

struct Driver {
    std::mutex mutex;
    bool initialized = false;
    std::deque<Device> devices;
    std::set<const void*> live;  ///< every handle that was given out and not destroyed
};

Driver& state() {
    static Driver* driver = new Driver;  // outlives every static object that might still call
    return *driver;
}

thread_local CUcontext currentContext = nullptr;
thread_local std::string lastError;

template <class Body>
CUresult call(Body&& body) {
    const std::lock_guard lock(state().mutex);
    try {
        if (!state().initialized) throw Failure{kNotInitialized, "cuInit has not been called"};
        body();
        return kSuccess;
    } catch (const Failure& failure) {
        lastError = failure.why;
        return failure.code;
    } catch (const ptx::PtxError& error) {
        lastError = error.what();
        return kInvalidPtx;
    } catch (const Error& error) {
        lastError = error.what();
        return kInvalidValue;
    }
}

void require(bool condition, CUresult code, const char* why) {
    if (!condition) throw Failure{code, why};
}
template <class Handle>
Handle known(Handle handle) {
    require(state().live.count(handle) != 0, kInvalidHandle,
            "a handle that the driver never gave out, or has destroyed");
    return handle;
}
Device& deviceAt(CUdevice ordinal) {
    require(ordinal >= 0 && static_cast<std::size_t>(ordinal) < state().devices.size(), kInvalidDevice,
            "no such device");
    return state().devices[static_cast<std::size_t>(ordinal)];
}
CUcontext current() {
    require(currentContext != nullptr, kInvalidContext, "no context is current");
    if (currentContext->failed) throw Failure{currentContext->failed, currentContext->why};
    return currentContext;
}
sim::Gpu& gpuOf(CUcontext context) {
    return *context->device->gpu;
}

CUresult codeOf(sim::LaunchError::Cause cause) {
    using Cause = sim::LaunchError::Cause;
    switch (cause) {
        case Cause::illegalAddress:
            return kIllegalAddress;
        case Cause::misalignedAddress:
            return kMisalignedAddress;
        case Cause::illegalInstruction:
            return kIllegalInstruction;
        case Cause::assertion:
            return kAssert;
        case Cause::stackOverflow:
            return kHardwareStackError;
        case Cause::outOfResources:
            return kLaunchOutOfResources;
        case Cause::timeout:
            return kLaunchTimeout;
        default:
            return kLaunchFailed;
    }
}

/// Looks at launches that have ended since; the first that failed marks the context.
void checkLaunches(CUcontext context) {
    std::erase_if(context->unchecked, [&](sim::LaunchId id) {
        const sim::LaunchRecord& record = gpuOf(context).record(id);
        if (record.error && !context->failed) {
            context->failed = codeOf(record.error->cause);
            context->why = record.error->what();
        }
        return record.over();
    });
    if (context->failed) throw Failure{context->failed, context->why};
}

void waitFor(CUcontext context, CUstream stream) {
    gpuOf(context).finishStream(stream->id);
    checkLaunches(context);
}
void waitForAll(CUcontext context) {
    waitFor(context, context->null.get());
    for (CUstream stream : context->streams) waitFor(context, stream);
}

CUstream streamOf(CUcontext context, CUstream stream) {
    return stream ? known(stream) : context->null.get();
}

/// The default stream and the blocking ones wait for each other: whatever is about to be put into `stream` comes after
/// what the other side holds now.
void order(CUcontext context, CUstream stream) {
    sim::Gpu& gpu = gpuOf(context);
    const auto after = [&](CUstream first) {
        if (gpu.idle(first->id)) return;
        const sim::MarkerId marker = gpu.createMarker();
        gpu.record(first->id, marker);
        gpu.wait(stream->id, marker);
    };
    if (stream == context->null.get()) {
        for (CUstream other : context->streams)
            if (other->blocking) after(other);
    } else if (stream->blocking) {
        after(context->null.get());
    }
}

/// Synchronous copies and fills: everything before them is done first, and they take their time.
void hostOperation(CUcontext context, double seconds) {
    waitForAll(context);
    sim::Gpu& gpu = gpuOf(context);
    const double cycles = seconds * static_cast<double>(gpu.profile().clock.coreMHz) * 1e6;
    gpu.enqueue(context->null->id, static_cast<Cycles>(cycles) + 1, [] {});
    gpu.finishStream(context->null->id);
}
std::uint8_t* deviceBytes(CUcontext context, CUdeviceptr address, std::size_t bytes) {
    return gpuOf(context).memory(context->id).host(address, bytes);
}

int attributeOf(const arch::DeviceProfile& p, int attribute) {
    switch (static_cast<DeviceAttribute>(attribute)) {
        case DeviceAttribute::maxThreadsPerBlock:
            return static_cast<int>(p.sm.maxThreadsPerBlock);
        case DeviceAttribute::warpSize:
            return sim::kLanes;
        case DeviceAttribute::clockRateKHz:
            return static_cast<int>(p.clock.coreMHz * 1000);
        case DeviceAttribute::multiprocessors:
            return static_cast<int>(p.sm.count);
        case DeviceAttribute::memoryClockKHz:
            return static_cast<int>(p.clock.memoryMHz * 1000);
        case DeviceAttribute::memoryBusBits:  // two transfers a clock give the peak bandwidth
            return static_cast<int>(p.dramGBps() * 1e3 * 8 / (2 * static_cast<double>(p.clock.memoryMHz)) + 0.5);
        case DeviceAttribute::l2Bytes:
            return static_cast<int>(p.l2.bytes);
        case DeviceAttribute::maxThreadsPerMultiprocessor:
            return static_cast<int>(p.sm.maxThreads);
        case DeviceAttribute::computeMajor:
            return p.compute.major;
        case DeviceAttribute::computeMinor:
            return p.compute.minor;
        case DeviceAttribute::sharedBytesPerMultiprocessor:
            return static_cast<int>(p.sm.sharedBytes);
        case DeviceAttribute::registersPerMultiprocessor:
            return static_cast<int>(p.sm.registers);
    }
    throw Failure{kInvalidValue, "an attribute that the simulated driver does not know"};
}

// ---- the calls

CUresult init(unsigned flags) {
    const std::lock_guard lock(state().mutex);
    if (flags != 0) return kInvalidValue;
    if (state().devices.empty()) return kNoDevice;
    state().initialized = true;
    return kSuccess;
}
CUresult driverGetVersion(int* version) {
    *version = 13000;
    return kSuccess;
}
CUresult getErrorName(CUresult code, const char** name) {
    for (const ErrorText& error : kErrors)
        if (error.code == code) return *name = error.name, kSuccess;
    *name = nullptr;
    return kInvalidValue;
}
CUresult getErrorString(CUresult code, const char** text) {
    for (const ErrorText& error : kErrors)
        if (error.code == code) return *text = error.text, kSuccess;
    *text = nullptr;
    return kInvalidValue;
}

CUresult deviceGetCount(int* count) {
    return call([&] { *count = static_cast<int>(state().devices.size()); });
}
CUresult deviceGet(CUdevice* device, int ordinal) {
    return call([&] {
        deviceAt(ordinal);
        *device = ordinal;
    });
}
CUresult deviceGetName(char* name, int length, CUdevice device) {
    return call([&] {
        require(name && length > 0, kInvalidValue, "no room for a name");
        const arch::DeviceProfile& profile = deviceAt(device).gpu->profile();
        std::snprintf(name, static_cast<std::size_t>(length), "sim:%s", profile.name.c_str());
    });
}
CUresult deviceTotalMem(std::size_t* bytes, CUdevice device) {
    return call([&] { *bytes = deviceAt(device).gpu->physicalMemory().totalBytes(); });
}
CUresult deviceGetAttribute(int* value, int attribute, CUdevice device) {
    return call([&] { *value = attributeOf(deviceAt(device).gpu->profile(), attribute); });
}

CUresult primaryCtxRetain(CUcontext* out, CUdevice ordinal) {
    return call([&] {
        Device& device = deviceAt(ordinal);
        if (!device.primary) {
            auto context = std::make_unique<CUctx_st>();
            context->device = &device;
            context->id = device.gpu->createContext();
            context->null = std::make_unique<CUstream_st>();
            context->null->context = context.get();
            context->null->id = device.gpu->createStream(context->id);
            device.primary = std::move(context);
            state().live.insert(device.primary.get());
        }
        ++device.retained;
        *out = device.primary.get();
    });
}
CUresult primaryCtxRelease(CUdevice ordinal) {
    return call([&] {
        Device& device = deviceAt(ordinal);
        require(device.retained > 0, kInvalidContext, "the primary context is not retained");
        --device.retained;
    });
}
CUresult ctxSetCurrent(CUcontext context) {
    return call([&] { currentContext = context ? known(context) : nullptr; });
}
CUresult ctxSynchronize() {
    return call([] { waitForAll(current()); });
}

CUresult moduleLoadData(CUmodule* out, const void* image) {
    return call([&] {
        CUcontext context = current();
        auto module = std::make_unique<CUmod_st>();
        module->context = context;
        module->loaded = gpuOf(context).load(context->id, ptx::parse(static_cast<const char*>(image), "<module>"));
        state().live.insert(module.get());
        *out = module.release();
    });
}
CUresult moduleUnload(CUmodule module) {
    return call([&] {
        waitForAll(known(module)->context);
        for (const sim::Program::Global& global : module->loaded.program->globals)
            gpuOf(module->context).memory(module->context->id).free(global.address);
        for (const auto& [name, function] : module->functions) state().live.erase(function.get());
        state().live.erase(module);
        delete module;
    });
}
CUresult moduleGetFunction(CUfunction* out, CUmodule module, const char* name) {
    return call([&] {
        const sim::Code* code = known(module)->loaded.program->kernel(name);
        if (!code) throw Failure{kNotFound, fmt::format("the module has no kernel {}", name)};
        auto& function = module->functions[name];
        if (!function) {
            function = std::make_unique<CUfunc_st>();
            function->module = module;
            function->code = code;
            state().live.insert(function.get());
        }
        *out = function.get();
    });
}

CUresult memAlloc(CUdeviceptr* address, std::size_t bytes) {
    return call([&] {
        CUcontext context = current();
        require(bytes > 0, kInvalidValue, "an allocation of 0 bytes");
        try {
            *address = gpuOf(context).memory(context->id).allocate(bytes);
        } catch (const Error& error) {
            throw Failure{kOutOfMemory, error.what()};
        }
    });
}
CUresult memFree(CUdeviceptr address) {
    return call([&] {
        CUcontext context = current();
        if (address == 0) return;
        waitForAll(context);
        gpuOf(context).memory(context->id).free(address);
    });
}
CUresult memcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
    return call([&] {
        CUcontext context = current();
        if (bytes == 0) return;
        std::uint8_t* target = deviceBytes(context, to, bytes);
        hostOperation(context, static_cast<double>(bytes) / kHostLinkBytesPerSecond);
        std::memcpy(target, from, bytes);
    });
}
CUresult memcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
    return call([&] {
        CUcontext context = current();
        if (bytes == 0) return;
        const std::uint8_t* source = deviceBytes(context, from, bytes);
        hostOperation(context, static_cast<double>(bytes) / kHostLinkBytesPerSecond);
        std::memcpy(to, source, bytes);
    });
}
CUresult memsetD8(CUdeviceptr to, unsigned char value, std::size_t bytes) {
    return call([&] {
        CUcontext context = current();
        if (bytes == 0) return;
        std::uint8_t* target = deviceBytes(context, to, bytes);
        hostOperation(context, static_cast<double>(bytes) / (gpuOf(context).profile().dramGBps() * 1e9));
        std::memset(target, value, bytes);
    });
}

CUresult streamCreate(CUstream* out, unsigned flags) {
    return call([&] {
        CUcontext context = current();
        require(flags <= 1, kInvalidValue, "unknown flags of a stream");
        auto stream = std::make_unique<CUstream_st>();
        stream->context = context;
        stream->id = gpuOf(context).createStream(context->id);
        stream->blocking = flags == 0;
        context->streams.insert(stream.get());
        state().live.insert(stream.get());
        *out = stream.release();
    });
}
CUresult streamDestroy(CUstream stream) {
    return call([&] {
        gpuOf(known(stream)->context).finishStream(stream->id);
        stream->context->streams.erase(stream);
        state().live.erase(stream);
        delete stream;
    });
}
CUresult streamSynchronize(CUstream stream) {
    return call([&] {
        CUcontext context = current();
        waitFor(context, streamOf(context, stream));
    });
}

CUresult eventCreate(CUevent* out, unsigned) {
    return call([&] {
        CUcontext context = current();
        auto event = std::make_unique<CUevent_st>();
        event->context = context;
        event->marker = gpuOf(context).createMarker();
        state().live.insert(event.get());
        *out = event.release();
    });
}
CUresult eventDestroy(CUevent event) {
    return call([&] {
        state().live.erase(known(event));
        delete event;
    });
}
CUresult eventRecord(CUevent event, CUstream stream) {
    return call([&] {
        CUcontext context = current();
        CUstream on = streamOf(context, stream);
        known(event)->stream = on;
        order(context, on);
        gpuOf(context).record(on->id, event->marker);
    });
}
CUresult eventSynchronize(CUevent event) {
    return call([&] {
        CUcontext context = current();
        // A stream that has been destroyed had finished: its events have happened.
        if (!known(event)->stream || gpuOf(context).recordedAt(event->marker)) return;
        waitFor(context, event->stream);
    });
}
CUresult eventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return call([&] {
        CUcontext context = current();
        require(known(start)->stream && known(end)->stream, kInvalidHandle, "an event that was never recorded");
        const auto from = gpuOf(context).recordedAt(start->marker), to = gpuOf(context).recordedAt(end->marker);
        require(from && to, kNotReady, "an event that has not happened yet");
        const double seconds =
            *to >= *from ? gpuOf(context).seconds(*to - *from) : -gpuOf(context).seconds(*from - *to);
        *milliseconds = static_cast<float>(seconds * 1e3);
    });
}

CUresult launchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                      unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters,
                      void** extra) {
    return call([&] {
        CUcontext context = current();
        require(extra == nullptr, kInvalidValue, "parameters in a buffer are not supported");
        CUstream on = streamOf(context, stream);
        const sim::Code& code = *known(function)->code;
        sim::LaunchSpec spec;
        spec.program = function->module->loaded.program;
        spec.code = &code;
        spec.grid = {gridX, gridY, gridZ};
        spec.block = {blockX, blockY, blockZ};
        spec.dynamicShared = sharedBytes;
        spec.params.resize(code.kernelParamBytes);
        for (std::size_t i = 0; i < code.params.size(); ++i)
            std::memcpy(spec.params.data() + code.params[i].offset, parameters[i], code.params[i].bytes);
        spec.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
        order(context, on);
        context->unchecked.push_back(gpuOf(context).launch(on->id, std::move(spec)));
    });
}

}  // namespace

const DriverApi& simulatedDriver() {
    static const DriverApi api = [] {
        DriverApi a;
        a.cuInit = init;
        a.cuDriverGetVersion = driverGetVersion;
        a.cuGetErrorName = getErrorName;
        a.cuGetErrorString = getErrorString;
        a.cuDeviceGetCount = deviceGetCount;
        a.cuDeviceGet = deviceGet;
        a.cuDeviceGetName = deviceGetName;
        a.cuDeviceTotalMem = deviceTotalMem;
        a.cuDeviceGetAttribute = deviceGetAttribute;
        a.cuDevicePrimaryCtxRetain = primaryCtxRetain;
        a.cuDevicePrimaryCtxRelease = primaryCtxRelease;
        a.cuCtxSetCurrent = ctxSetCurrent;
        a.cuCtxSynchronize = ctxSynchronize;
        a.cuModuleLoadData = moduleLoadData;
        a.cuModuleUnload = moduleUnload;
        a.cuModuleGetFunction = moduleGetFunction;
        a.cuMemAlloc = memAlloc;
        a.cuMemFree = memFree;
        a.cuMemcpyHtoD = memcpyHtoD;
        a.cuMemcpyDtoH = memcpyDtoH;
        a.cuMemsetD8 = memsetD8;
        a.cuStreamCreate = streamCreate;
        a.cuStreamDestroy = streamDestroy;
        a.cuStreamSynchronize = streamSynchronize;
        a.cuEventCreate = eventCreate;
        a.cuEventDestroy = eventDestroy;
        a.cuEventRecord = eventRecord;
        a.cuEventSynchronize = eventSynchronize;
        a.cuEventElapsedTime = eventElapsedTime;
        a.cuLaunchKernel = launchKernel;
        return a;
    }();
    return api;
}

int addSimulatedDevice(arch::DeviceProfile profile, const std::string& scheduler) {
    const std::lock_guard lock(state().mutex);
    Device device;
    sim::Gpu::Options options;
    options.scheduler = scheduler;
    device.gpu = std::make_unique<sim::Gpu>(std::move(profile), options);
    state().devices.push_back(std::move(device));
    return static_cast<int>(state().devices.size() - 1);
}

std::string lastSimulatedError() {
    return lastError;
}

}  // namespace bulkhead::driver
