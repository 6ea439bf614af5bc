// Calls of CUDA 2 to 4 that programs still look up. A launch was then made of many calls, which prepared it in the
// function.

#include <cstring>

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

/// More than any kernel's parameters.
constexpr unsigned kMostParameterBytes = 1 << 16;

CUresult setParameter(CUfunction function, int offset, const void* value, unsigned bytes) {
    return call([&] {
        current();
        requireOutput(value);
        require(offset >= 0 && static_cast<unsigned>(offset) < kMostParameterBytes && bytes < kMostParameterBytes,
                CUDA_ERROR_INVALID_VALUE, "a parameter outside of what kernels can have");
        std::vector<std::uint8_t>& parameters = known(function)->next.parameters;
        const std::size_t end = static_cast<std::size_t>(offset) + bytes;
        if (parameters.size() < end) parameters.resize(end);
        std::memcpy(parameters.data() + offset, value, bytes);
    });
}

}  // namespace

namespace simulated {

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    return call([&] {
        requireOutput(major, minor);
        const auto& compute = deviceAt(device).gpu->profile().compute;
        *major = compute.major;
        *minor = compute.minor;
    });
}
CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
    int values[14] = {};
    constexpr CUdevice_attribute kAttributes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    for (std::size_t i = 0; i < std::size(kAttributes); ++i)
        if (const CUresult result = cuDeviceGetAttribute(&values[i], kAttributes[i], device); result != CUDA_SUCCESS)
            return result;
    return call([&] {
        requireOutput(properties);
        *properties = {values[0],
                       {values[1], values[2], values[3]},
                       {values[4], values[5], values[6]},
                       values[7],
                       values[8],
                       values[9],
                       values[10],
                       values[11],
                       values[12],
                       values[13]};
    });
}

CUresult cuDeviceGetUuid_v1(CUuuid* uuid, CUdevice device) {
    return cuDeviceGetUuid(uuid, device);
}
CUresult cuDevicePrimaryCtxRelease_v1(CUdevice device) {
    return cuDevicePrimaryCtxRelease(device);
}
CUresult cuDevicePrimaryCtxReset_v1(CUdevice device) {
    return cuDevicePrimaryCtxReset(device);
}
CUresult cuDevicePrimaryCtxSetFlags_v1(CUdevice device, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags(device, flags);
}
CUresult cuCtxCreate_v1(CUcontext* context, unsigned flags, CUdevice device) {
    return cuCtxCreate(context, flags, device);
}
CUresult cuCtxDestroy_v1(CUcontext context) {
    return cuCtxDestroy(context);
}
CUresult cuCtxPushCurrent_v1(CUcontext context) {
    return cuCtxPushCurrent(context);
}
CUresult cuCtxPopCurrent_v1(CUcontext* context) {
    return cuCtxPopCurrent(context);
}
CUresult cuStreamDestroy_v1(CUstream stream) {
    return cuStreamDestroy(stream);
}
CUresult cuEventDestroy_v1(CUevent event) {
    return cuEventDestroy(event);
}
CUresult cuMemHostRegister_v1(void* pointer, std::size_t bytes, unsigned flags) {
    return cuMemHostRegister(pointer, bytes, flags);
}

/// Counts users of a context, as every library of a program was to do.
CUresult cuCtxAttach(CUcontext* context, unsigned flags) {
    return call([&] {
        requireOutput(context);
        require(flags == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags");
        *context = current();
        ++(*context)->attached;
    });
}
CUresult cuCtxDetach(CUcontext context) {
    const CUresult result = call([&] {
        CUcontext attached = current();
        require(attached == liveContext(context), CUDA_ERROR_INVALID_CONTEXT, "not the current context");
        if (attached->attached > 0) --attached->attached, attached = nullptr;
        context = attached;
    });
    return result == CUDA_SUCCESS && context ? cuCtxDestroy(context) : result;
}

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
    return call([&] {
        current();
        require(x > 0 && y > 0 && z > 0, CUDA_ERROR_INVALID_VALUE, "a block of no threads");
        known(function)->next.block = {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
    });
}
CUresult cuFuncSetSharedSize(CUfunction function, unsigned bytes) {
    return call([&] {
        current();
        known(function)->next.sharedBytes = bytes;
    });
}
CUresult cuParamSetSize(CUfunction function, unsigned bytes) {
    return call([&] {
        current();
        require(bytes < kMostParameterBytes, CUDA_ERROR_INVALID_VALUE, "more parameters than kernels can have");
        known(function)->next.parameters.resize(bytes);
    });
}
CUresult cuParamSeti(CUfunction function, int offset, unsigned value) {
    return setParameter(function, offset, &value, sizeof value);
}
CUresult cuParamSetf(CUfunction function, int offset, float value) {
    return setParameter(function, offset, &value, sizeof value);
}
CUresult cuParamSetv(CUfunction function, int offset, void* value, unsigned bytes) {
    return setParameter(function, offset, value, bytes);
}
CUresult cuLaunch(CUfunction function) {
    return cuLaunchGrid(function, 1, 1);
}
CUresult cuLaunchGrid(CUfunction function, int width, int height) {
    return cuLaunchGridAsync(function, width, height, nullptr);
}
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
    std::vector<std::uint8_t> parameters;
    sim::Dim3 block;
    unsigned sharedBytes = 0;
    const CUresult prepared = call([&] {
        require(width > 0 && height > 0, CUDA_ERROR_INVALID_VALUE, "a launch of no threads");
        const auto& next = known(function)->next;
        parameters = next.parameters;
        block = next.block;
        sharedBytes = next.sharedBytes;
    });
    if (prepared != CUDA_SUCCESS) return prepared;
    std::size_t bytes = parameters.size();
    const auto key = [](std::uintptr_t number) { return reinterpret_cast<void*>(number); };
    void* extra[] = {key(1), parameters.data(), key(2), &bytes, key(0)};
    return cuLaunchKernel(function, static_cast<unsigned>(width), static_cast<unsigned>(height), 1, block.x, block.y,
                          block.z, sharedBytes, stream, nullptr, extra);
}

}  // namespace simulated
}  // namespace bulkhead::driver
