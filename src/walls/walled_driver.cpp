// The calls that walls change. All others go to the driver behind.

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/files.h"
#include "walls/tenants.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

thread_local std::vector<Tenant*> stack;  ///< of current contexts; null for one without walls
thread_local std::string lastErrorText;
std::atomic<const DriverApi*> lastInner{nullptr};

std::mutex tenantsMutex;
std::vector<std::shared_ptr<Tenant>>& tenants() {
    static std::vector<std::shared_ptr<Tenant>> list;
    return list;
}

Tenant* tenantOf(CUcontext handle) {
    const std::lock_guard lock(tenantsMutex);
    for (const auto& tenant : tenants())
        if (tenant->handle() == handle) return tenant.get();
    return nullptr;
}

Tenant* currentTenant() {
    return stack.empty() ? nullptr : stack.back();
}

/// The driver behind: that of the current context, or of the latest enclosure.
const DriverApi& inner() {
    const Tenant* tenant = currentTenant();
    return tenant ? tenant->inner() : *lastInner;
}

Tenant& current() {
    Tenant* tenant = currentTenant();
    if (tenant == nullptr) throw Failure{CUDA_ERROR_INVALID_CONTEXT, "no context inside walls is current"};
    return *tenant;
}

/// What is thrown becomes the call's result.
template <class Body>
CUresult call(Body&& body) {
    lastErrorText.clear();
    if (lastInner == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
    try {
        body();
        return CUDA_SUCCESS;
    } catch (const Failure& failure) {
        lastErrorText = failure.why;
        return failure.code;
    } catch (const Error& error) {
        lastErrorText = error.what();
        return CUDA_ERROR_UNKNOWN;
    }
}

/// The same for the tenant whose context is current, which does one thing at a time.
template <class Body>
CUresult forTenant(Body&& body) {
    return call([&] {
        Tenant& tenant = current();
        const std::lock_guard lock(tenant.mutex);
        tenant.makeCurrent();
        body(tenant);
    });
}

void check(CUresult result) {
    if (result != CUDA_SUCCESS) throw Failure{result, ""};
}

template <class... Pointers>
void requireOutput(Pointers... pointers) {
    if (!(pointers && ...)) throw Failure{CUDA_ERROR_INVALID_VALUE, "no place for a result"};
}

CUresult refused(const char* what) {
    return call([&] { throw Failure{CUDA_ERROR_NOT_SUPPORTED, std::string(what) + " inside walls"}; });
}

// Every call as it is, for those that walls do not change.
namespace unchanged {
#define BULKHEAD_PASS_ON(name, symbol, variant, parameters, arguments)                        \
    CUresult name parameters {                                                                \
        lastErrorText.clear();                                                                \
        if (lastInner == nullptr) return CUDA_ERROR_NOT_INITIALIZED;                          \
        return inner().name ? inner().name arguments : CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER; \
    }
BULKHEAD_DRIVER_CALLS(BULKHEAD_PASS_ON)
#undef BULKHEAD_PASS_ON
}  // namespace unchanged

// Devices.

CUresult deviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    const CUresult result = inner().cuDeviceGetAttribute(value, attribute, device);
    const Tenant* const tenant = currentTenant();
    if (tenant == nullptr || result != CUDA_SUCCESS) return result;
    const auto asked = static_cast<DeviceAttribute>(attribute);
    if (asked == DeviceAttribute::multiprocessors) *value = tenant->multiprocessors();
    if (asked == DeviceAttribute::sharedBytesPerBlock || asked == DeviceAttribute::sharedBytesPerBlockOptIn)
        *value -= tenant->sharedBytesTaken();
    return result;
}

CUresult deviceTotalMem(std::size_t* bytes, CUdevice device) {
    const CUresult result = inner().cuDeviceTotalMem(bytes, device);
    if (const Tenant* tenant = currentTenant(); tenant && tenant->walls().memory != 0 && result == CUDA_SUCCESS)
        *bytes = tenant->walls().memory;
    return result;
}

// Contexts.

void makeCurrent(CUcontext context) {
    Tenant* tenant = tenantOf(context);
    if (tenant) {
        tenant->makeCurrent();
    } else {
        check(inner().cuCtxSetCurrent(context));
    }
    if (stack.empty()) {
        stack.push_back(tenant);
    } else {
        stack.back() = tenant;
    }
}

CUresult ctxSetCurrent(CUcontext context) {
    return call([&] { makeCurrent(context); });
}
CUresult ctxPushCurrent(CUcontext context) {
    return call([&] {
        stack.push_back(nullptr);
        makeCurrent(context);
    });
}
CUresult ctxPopCurrent(CUcontext* context) {
    return call([&] {
        Tenant& tenant = current();
        if (context) *context = tenant.handle();
        stack.pop_back();
        if (Tenant* before = currentTenant()) {
            before->makeCurrent();
        } else {
            check(tenant.inner().cuCtxSetCurrent(nullptr));
        }
    });
}
CUresult ctxGetCurrent(CUcontext* context) {
    return call([&] {
        requireOutput(context);
        Tenant* tenant = currentTenant();
        *context = tenant ? tenant->handle() : nullptr;
    });
}
CUresult ctxDestroy(CUcontext context) {
    return call([&] {
        std::shared_ptr<Tenant> leaving;
        {
            const std::lock_guard lock(tenantsMutex);
            auto& list = tenants();
            const auto found =
                std::find_if(list.begin(), list.end(), [&](const auto& t) { return t->handle() == context; });
            if (found == list.end()) throw Failure{CUDA_ERROR_INVALID_CONTEXT, "no such context inside walls"};
            leaving = *found;
            list.erase(found);
        }
        std::replace(stack.begin(), stack.end(), leaving.get(), static_cast<Tenant*>(nullptr));
        leaving->close();
    });
}
/// A process's own context is the place it was put into.
CUresult primaryRetain(CUcontext* context, CUdevice device) {
    return call([&] {
        requireOutput(context);
        const std::lock_guard lock(tenantsMutex);
        for (const auto& tenant : tenants())
            if (tenant->device() == device) *context = tenant->handle();
    });
}
CUresult primaryRelease(CUdevice) {
    return CUDA_SUCCESS;
}
CUresult ctxCreate(CUcontext*, unsigned, CUdevice) {
    return refused("no other contexts");
}
CUresult ctxSynchronize() {
    return call([] {
        current().makeCurrent();
        current().synchronize();
    });
}

// Modules.

CUresult moduleLoadData(CUmodule* module, const void* image) {
    return forTenant([&](Tenant& tenant) {
        requireOutput(module, image);
        *module = tenant.load(image);
    });
}
CUresult moduleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    return moduleLoadData(module, image);
}
CUresult moduleLoad(CUmodule* module, const char* path) {
    return forTenant([&](Tenant& tenant) {
        requireOutput(module, path);
        *module = tenant.load(readFile(path).c_str());
    });
}
CUresult moduleUnload(CUmodule module) {
    return forTenant([&](Tenant& tenant) { tenant.unload(module); });
}
CUresult moduleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    return forTenant([&](Tenant& tenant) {
        requireOutput(function, name);
        *function = tenant.function(module, name);
    });
}
CUresult funcGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    return forTenant([&](Tenant& tenant) {
        if (!tenant.parameter(function, index, offset, bytes))
            throw Failure{CUDA_ERROR_INVALID_VALUE, "no such parameter"};
    });
}
CUresult funcGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
    return forTenant([&](Tenant& tenant) {
        check(tenant.inner().cuFuncGetAttribute(value, attribute, function));
        if (static_cast<FunctionAttribute>(attribute) == FunctionAttribute::sharedBytes)
            *value = tenant.ownSharedBytes(function, *value);
    });
}
CUresult funcSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    return forTenant([&](Tenant& tenant) {
        tenant.forgetOccupancy(function);
        check(tenant.inner().cuFuncSetAttribute(function, attribute, value));
    });
}
/// A grid that fills the share.
CUresult occupancyMaxPotentialBlockSizeWithFlags(int* gridBlocks, int* blockThreads, CUfunction function,
                                                 CUoccupancyB2DSize dynamicBytesOf, std::size_t dynamicBytes, int limit,
                                                 unsigned flags) {
    return forTenant([&](Tenant& tenant) {
        check(tenant.inner().cuOccupancyMaxPotentialBlockSizeWithFlags(gridBlocks, blockThreads, function,
                                                                       dynamicBytesOf, dynamicBytes, limit, flags));
        *gridBlocks = *gridBlocks / tenant.allMultiprocessors() * tenant.multiprocessors();
    });
}
CUresult occupancyMaxPotentialBlockSize(int* gridBlocks, int* blockThreads, CUfunction function,
                                        CUoccupancyB2DSize dynamicBytesOf, std::size_t dynamicBytes, int limit) {
    return occupancyMaxPotentialBlockSizeWithFlags(gridBlocks, blockThreads, function, dynamicBytesOf, dynamicBytes,
                                                   limit, 0);
}
CUresult libraryLoadData(CUlibrary*, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
    return refused("libraries are not loaded");
}
CUresult libraryLoadFromFile(CUlibrary*, const char*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                             unsigned) {
    return refused("libraries are not loaded");
}

// Launches.

CUresult launchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                      unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters,
                      void** extra) {
    return forTenant([&](Tenant& tenant) {
        const Tenant::Shape shape{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes};
        tenant.launch(function, shape, tenant.real(stream), parameters, extra);
    });
}
CUresult launchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (config->numAttrs != 0) return refused("launches have no attributes");
    return launchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                        config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, parameters,
                        extra);
}
CUresult launchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 CUstream, void**) {
    return refused("grids do not synchronise");
}
CUresult launchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return forTenant(
        [&](Tenant& tenant) { check(tenant.inner().cuLaunchHostFunc(tenant.real(stream), function, data)); });
}

// Memory.

CUresult memGetInfo(std::size_t* free, std::size_t* total) {
    return forTenant([&](Tenant& tenant) { tenant.memoryInfo(free, total); });
}
CUresult memAlloc(CUdeviceptr* address, std::size_t bytes) {
    return forTenant([&](Tenant& tenant) {
        requireOutput(address);
        *address = tenant.allocate(bytes);
    });
}
CUresult memAllocPitch(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
    return forTenant([&](Tenant& tenant) {
        requireOutput(address, pitch);
        constexpr std::size_t kRowAlignment = 512;
        *pitch = (width + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
        *address = tenant.allocate(*pitch * height);
    });
}
CUresult memAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream) {
    return memAlloc(address, bytes);
}
CUresult memAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool, CUstream) {
    return memAlloc(address, bytes);
}
CUresult memFree(CUdeviceptr address) {
    return forTenant([&](Tenant& tenant) { tenant.free(address); });
}
CUresult memFreeAsync(CUdeviceptr address, CUstream) {
    return memFree(address);
}
CUresult memAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
    if (currentTenant() && currentTenant()->hasMemoryWall()) return refused("managed memory has no color");
    return inner().cuMemAllocManaged(address, bytes, flags);
}
CUresult memCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                   unsigned long long flags) {
    if (currentTenant() && currentTenant()->hasMemoryWall()) return refused("memory is not made without an address");
    return inner().cuMemCreate(handle, bytes, properties, flags);
}
CUresult memGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
    return forTenant([&](Tenant& tenant) {
        const auto range = tenant.allocationAt(address);
        if (!range) return check(tenant.inner().cuMemGetAddressRange(base, bytes, address));
        if (base) *base = range->base;
        if (bytes) *bytes = range->bytes;
    });
}

/// CUpointer_attribute.
enum : CUpointer_attribute {
    kContext = 1,
    kMemoryType = 2,
    kDevicePointer = 3,
    kIsManaged = 8,
    kDeviceOrdinal = 9,
    kRangeStart = 11,
    kRangeSize = 12,
    kMapped = 13,
};
constexpr unsigned kTypeHost = 1, kTypeDevice = 2, kTypeUnified = 4;

template <class T>
void answer(void* data, T value) {
    *static_cast<T*>(data) = value;
}

CUresult pointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    return forTenant([&](Tenant& tenant) {
        requireOutput(data);
        if (!tenant.isTranslated(address)) {
            check(tenant.inner().cuPointerGetAttribute(data, attribute, address));
            if (attribute == kContext) answer(data, tenant.handle());
            return;
        }
        const auto range = tenant.allocationAt(address);
        if (!range) throw Failure{CUDA_ERROR_INVALID_VALUE, "nothing was allocated there"};
        switch (attribute) {
            case kContext:
                return answer(data, tenant.handle());
            case kMemoryType:
                return answer(data, kTypeDevice);
            case kDevicePointer:
                return answer(data, address);
            case kIsManaged:
                return answer(data, false);
            case kDeviceOrdinal:
                return answer(data, tenant.device());
            case kRangeStart:
                return answer(data, range->base);
            case kRangeSize:
                return answer(data, static_cast<std::size_t>(range->bytes));
            case kMapped:
                return answer(data, true);
            default:
                throw Failure{CUDA_ERROR_INVALID_VALUE, "an attribute that memory inside walls has not"};
        }
    });
}
CUresult pointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
    for (unsigned i = 0; i < count; ++i)
        if (const CUresult result = pointerGetAttribute(data[i], attributes[i], address); result != CUDA_SUCCESS)
            return result;
    return CUDA_SUCCESS;
}

// Copies.

Tenant::End onDevice(CUdeviceptr address, std::size_t pitch = 0) {
    return {address, nullptr, pitch};
}
Tenant::End onHost(const void* address, std::size_t pitch = 0) {
    return {0, const_cast<void*>(address), pitch};
}
/// An end that may be either.
Tenant::End anywhere(const Tenant& tenant, CUdeviceptr address, std::size_t pitch = 0) {
    if (tenant.isTranslated(address)) return onDevice(address, pitch);
    unsigned type = 0;
    const CUresult result = tenant.inner().cuPointerGetAttribute(&type, kMemoryType, address);
    return result == CUDA_SUCCESS && type == kTypeDevice ? onDevice(address, pitch)
                                                         : onHost(reinterpret_cast<const void*>(address), pitch);
}

CUresult copy(const Tenant::End& to, const Tenant::End& from, std::size_t bytes, CUstream stream) {
    return forTenant([&](Tenant& tenant) { tenant.copy(to, from, bytes, 1, tenant.real(stream)); });
}
/// Calls without a stream end with the copy.
CUresult finished(CUresult begun) {
    if (begun != CUDA_SUCCESS) return begun;
    return call([] { current().synchronize(current().real(nullptr)); });
}

CUresult memcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    return copy(onDevice(to), onHost(from), bytes, stream);
}
CUresult memcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return copy(onHost(to), onDevice(from), bytes, stream);
}
CUresult memcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return copy(onDevice(to), onDevice(from), bytes, stream);
}
CUresult memcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return forTenant([&](Tenant& tenant) {
        tenant.copy(anywhere(tenant, to), anywhere(tenant, from), bytes, 1, tenant.real(stream));
    });
}
CUresult memcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
    return finished(memcpyHtoDAsync(to, from, bytes, nullptr));
}
CUresult memcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
    return finished(memcpyDtoHAsync(to, from, bytes, nullptr));
}
CUresult memcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    return finished(memcpyDtoDAsync(to, from, bytes, nullptr));
}
CUresult memcpyAny(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    return finished(memcpyAsync(to, from, bytes, nullptr));
}

Tenant::End endOf(const Tenant& tenant, CUmemorytype type, const void* host, CUdeviceptr device, std::size_t offset,
                  std::size_t pitch) {
    if (type == kTypeHost) return onHost(static_cast<const char*>(host) + offset, pitch);
    if (type == kTypeDevice) return onDevice(device + offset, pitch);
    if (type == kTypeUnified) return anywhere(tenant, device + offset, pitch);
    throw Failure{CUDA_ERROR_NOT_SUPPORTED, "no CUDA arrays inside walls"};
}

/// A rectangle of a copy of rectangles or of boxes, from these rows on.
template <class Copy>
void copyRectangle(Tenant& tenant, const Copy& c, std::size_t toRow, std::size_t fromRow, CUstream stream) {
    tenant.copy(
        endOf(tenant, c.dstMemoryType, c.dstHost, c.dstDevice, toRow * c.dstPitch + c.dstXInBytes, c.dstPitch),
        endOf(tenant, c.srcMemoryType, c.srcHost, c.srcDevice, fromRow * c.srcPitch + c.srcXInBytes, c.srcPitch),
        c.WidthInBytes, c.Height, tenant.real(stream));
}

CUresult memcpy2DAsync(const CUDA_MEMCPY2D* c, CUstream stream) {
    return forTenant([&](Tenant& tenant) {
        requireOutput(c);
        copyRectangle(tenant, *c, c->dstY, c->srcY, stream);
    });
}
CUresult memcpy2D(const CUDA_MEMCPY2D* c) {
    return finished(memcpy2DAsync(c, nullptr));
}
/// A copy of boxes is one of rectangles, one after the other.
CUresult memcpy3DAsync(const CUDA_MEMCPY3D* c, CUstream stream) {
    return forTenant([&](Tenant& tenant) {
        requireOutput(c);
        for (std::size_t z = 0; z < c->Depth; ++z)
            copyRectangle(tenant, *c, c->dstY + (c->dstZ + z) * c->dstHeight, c->srcY + (c->srcZ + z) * c->srcHeight,
                          stream);
    });
}
CUresult memcpy3D(const CUDA_MEMCPY3D* c) {
    return finished(memcpy3DAsync(c, nullptr));
}

// Fills. Those without a stream do not wait either.

CUresult fill(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned bytes, std::size_t width, std::size_t height,
              CUstream stream) {
    return forTenant([&](Tenant& tenant) {
        const std::size_t row = height > 1 ? pitch : width * bytes;
        tenant.fill(to, row, value, bytes, width, height, tenant.real(stream));
    });
}
template <class T>
CUresult memsetAsync(CUdeviceptr to, T value, std::size_t count, CUstream stream) {
    return fill(to, 0, value, sizeof(T), count, 1, stream);
}
template <class T>
CUresult memset1D(CUdeviceptr to, T value, std::size_t count) {
    return fill(to, 0, value, sizeof(T), count, 1, nullptr);
}
template <class T>
CUresult memset2DAsync(CUdeviceptr to, std::size_t pitch, T value, std::size_t width, std::size_t height,
                       CUstream stream) {
    return fill(to, pitch, value, sizeof(T), width, height, stream);
}
template <class T>
CUresult memset2D(CUdeviceptr to, std::size_t pitch, T value, std::size_t width, std::size_t height) {
    return fill(to, pitch, value, sizeof(T), width, height, nullptr);
}

// Streams and events.

CUresult streamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    return forTenant([&](Tenant& tenant) {
        requireOutput(stream);
        *stream = tenant.createStream(flags, priority);
    });
}
CUresult streamCreate(CUstream* stream, unsigned flags) {
    return streamCreateWithPriority(stream, flags, 0);
}
CUresult streamDestroy(CUstream stream) {
    return forTenant([&](Tenant& tenant) { tenant.destroyStream(stream); });
}
CUresult streamSynchronize(CUstream stream) {
    return call([&] {
        current().makeCurrent();
        current().synchronize(current().real(stream));
    });
}
CUresult streamGetCtx(CUstream, CUcontext* context) {
    return ctxGetCurrent(context);
}
CUresult streamQuery(CUstream stream) {
    return forTenant([&](Tenant& tenant) { check(tenant.inner().cuStreamQuery(tenant.real(stream))); });
}
CUresult streamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    return forTenant(
        [&](Tenant& tenant) { check(tenant.inner().cuStreamWaitEvent(tenant.real(stream), event, flags)); });
}
CUresult streamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned flags) {
    return forTenant(
        [&](Tenant& tenant) { check(tenant.inner().cuStreamAddCallback(tenant.real(stream), callback, data, flags)); });
}
CUresult streamGetFlags(CUstream stream, unsigned* flags) {
    return forTenant([&](Tenant& tenant) { check(tenant.inner().cuStreamGetFlags(tenant.real(stream), flags)); });
}
CUresult eventRecord(CUevent event, CUstream stream) {
    return forTenant([&](Tenant& tenant) { check(tenant.inner().cuEventRecord(event, tenant.real(stream))); });
}
CUresult eventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    return forTenant(
        [&](Tenant& tenant) { check(tenant.inner().cuEventRecordWithFlags(event, tenant.real(stream), flags)); });
}

DriverApi makeTable() {
    DriverApi api;
#define BULKHEAD_ENTER(name, symbol, variant, parameters, arguments) api.name = unchanged::name;
    BULKHEAD_DRIVER_CALLS(BULKHEAD_ENTER)
#undef BULKHEAD_ENTER
    api.cuDeviceGetAttribute = deviceGetAttribute;
    api.cuDeviceTotalMem = deviceTotalMem;
    api.cuDevicePrimaryCtxRetain = primaryRetain;
    api.cuDevicePrimaryCtxRelease = primaryRelease;
    api.cuCtxCreate = ctxCreate;
    api.cuCtxDestroy = ctxDestroy;
    api.cuCtxSetCurrent = ctxSetCurrent;
    api.cuCtxPushCurrent = ctxPushCurrent;
    api.cuCtxPopCurrent = ctxPopCurrent;
    api.cuCtxGetCurrent = ctxGetCurrent;
    api.cuCtxSynchronize = ctxSynchronize;
    api.cuModuleLoad = moduleLoad;
    api.cuModuleLoadData = moduleLoadData;
    api.cuModuleLoadDataEx = moduleLoadDataEx;
    api.cuModuleLoadFatBinary = moduleLoadData;
    api.cuModuleUnload = moduleUnload;
    api.cuModuleGetFunction = moduleGetFunction;
    api.cuFuncGetParamInfo = funcGetParamInfo;
    api.cuFuncGetAttribute = funcGetAttribute;
    api.cuFuncSetAttribute = funcSetAttribute;
    api.cuOccupancyMaxPotentialBlockSize = occupancyMaxPotentialBlockSize;
    api.cuOccupancyMaxPotentialBlockSizeWithFlags = occupancyMaxPotentialBlockSizeWithFlags;
    api.cuLibraryLoadData = libraryLoadData;
    api.cuLibraryLoadFromFile = libraryLoadFromFile;
    api.cuLaunchKernel = launchKernel;
    api.cuLaunchKernelEx = launchKernelEx;
    api.cuLaunchCooperativeKernel = launchCooperativeKernel;
    api.cuLaunchHostFunc = launchHostFunc;
    api.cuMemGetInfo = memGetInfo;
    api.cuMemAlloc = memAlloc;
    api.cuMemAllocPitch = memAllocPitch;
    api.cuMemAllocAsync = memAllocAsync;
    api.cuMemAllocFromPoolAsync = memAllocFromPoolAsync;
    api.cuMemAllocManaged = memAllocManaged;
    api.cuMemCreate = memCreate;
    api.cuMemFree = memFree;
    api.cuMemFreeAsync = memFreeAsync;
    api.cuMemGetAddressRange = memGetAddressRange;
    api.cuPointerGetAttribute = pointerGetAttribute;
    api.cuPointerGetAttributes = pointerGetAttributes;
    api.cuMemcpy = memcpyAny;
    api.cuMemcpyAsync = memcpyAsync;
    api.cuMemcpyHtoD = memcpyHtoD;
    api.cuMemcpyDtoH = memcpyDtoH;
    api.cuMemcpyDtoD = memcpyDtoD;
    api.cuMemcpyHtoDAsync = memcpyHtoDAsync;
    api.cuMemcpyDtoHAsync = memcpyDtoHAsync;
    api.cuMemcpyDtoDAsync = memcpyDtoDAsync;
    api.cuMemcpy2D = memcpy2D;
    api.cuMemcpy2DUnaligned = memcpy2D;
    api.cuMemcpy2DAsync = memcpy2DAsync;
    api.cuMemcpy3D = memcpy3D;
    api.cuMemcpy3DAsync = memcpy3DAsync;
    api.cuMemsetD8 = memset1D<unsigned char>;
    api.cuMemsetD16 = memset1D<unsigned short>;
    api.cuMemsetD32 = memset1D<unsigned>;
    api.cuMemsetD8Async = memsetAsync<unsigned char>;
    api.cuMemsetD16Async = memsetAsync<unsigned short>;
    api.cuMemsetD32Async = memsetAsync<unsigned>;
    api.cuMemsetD2D8 = memset2D<unsigned char>;
    api.cuMemsetD2D16 = memset2D<unsigned short>;
    api.cuMemsetD2D32 = memset2D<unsigned>;
    api.cuMemsetD2D8Async = memset2DAsync<unsigned char>;
    api.cuMemsetD2D16Async = memset2DAsync<unsigned short>;
    api.cuMemsetD2D32Async = memset2DAsync<unsigned>;
    api.cuStreamCreate = streamCreate;
    api.cuStreamCreateWithPriority = streamCreateWithPriority;
    api.cuStreamDestroy = streamDestroy;
    api.cuStreamSynchronize = streamSynchronize;
    api.cuStreamGetCtx = streamGetCtx;
    api.cuStreamQuery = streamQuery;
    api.cuStreamWaitEvent = streamWaitEvent;
    api.cuStreamAddCallback = streamAddCallback;
    api.cuStreamGetFlags = streamGetFlags;
    api.cuEventRecord = eventRecord;
    api.cuEventRecordWithFlags = eventRecordWithFlags;
    return api;
}

}  // namespace

const DriverApi& walledDriver() {
    static const DriverApi api = makeTable();
    return api;
}

void admit(std::shared_ptr<Tenant> tenant) {
    lastInner = &tenant->inner();
    const std::lock_guard lock(tenantsMutex);
    tenants().push_back(std::move(tenant));
}

std::string lastError() {
    return lastErrorText;
}

}  // namespace bulkhead::walls
