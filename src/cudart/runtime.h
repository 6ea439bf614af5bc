#pragma once

#include <type_traits>
#include <utility>

#include "cudart/abi.h"
#include "driver/driver_api.h"

/// A function of the library's binary interface. Everything else stays inside.
#define BULKHEAD_EXPORT extern "C" __attribute__((visibility("default")))

namespace bulkhead::cudart {

using driver::CUcontext;
using driver::CUdevice;
using driver::CUdeviceptr;
using driver::CUfunction;
using driver::CUmodule;
using driver::CUresult;

static_assert(std::is_same_v<driver::CUstream, cudaStream_t>, "cudart/abi.h was included after the driver's types");

/// Leaves a call with an error code.
struct Failure {
    cudaError_t code;
};

inline void check(CUresult result) {
    if (result != cudaSuccess)
        throw Failure{static_cast<cudaError_t>(result)};  // driver and runtime number their errors alike
}
inline void require(bool condition, cudaError_t code = cudaErrorInvalidValue) {
    if (!condition) throw Failure{code};
}

/// Throws Failure unless the driver has a call that only newer ones have.
template <class Call>
Call newer(Call call) {
    require(call != nullptr, cudaErrorNotSupported);
    return call;
}

/// Remembers the code of a call for cudaGetLastError, and returns it.
cudaError_t finish(cudaError_t code) noexcept;

/// Runs the body of a call: what it throws is the call's result.
template <class Body>
cudaError_t call(Body&& body) noexcept {
    try {
        std::forward<Body>(body)();
        return finish(cudaSuccess);
    } catch (const Failure& failure) {
        return finish(failure.code);
    } catch (...) {
        return finish(cudaErrorMemoryAllocation);  // the host's memory is the only thing left that can fail
    }
}

/// The CUDA driver of this process: the installed one, or the simulated one that lies beside this library. Loaded and
/// started at the first call; throws Failure where there is none.
const driver::DriverApi& api();

/// A function of the driver by its exported name; null if it has none.
void* driverSymbol(const char* name);

/// The driver with a context current in this thread: the one that the program made current, or the primary context of
/// its device.
const driver::DriverApi& ready();

/// The device of this thread. A context that the program made current decides.
int currentDevice();
void setDevice(int device);
/// Ends the primary context of this thread's device.
void resetDevice();

/// The context that this library uses on a device. Made at the first call.
CUcontext primaryContext(int device);

/// Throws Failure unless there is such a device.
CUdevice deviceAt(int ordinal);

/// What a null stream stands for: the legacy default stream, or in a `_ptsz` or `_ptds` call the thread's own.
cudaStream_t streamOf(cudaStream_t) noexcept;
bool perThreadDefault() noexcept;

/// While it lives, a null stream of this thread's calls is the thread's own default stream.
class PerThreadDefault {
  public:
    PerThreadDefault() noexcept;
    ~PerThreadDefault();
    PerThreadDefault(const PerThreadDefault&) = delete;
    PerThreadDefault& operator=(const PerThreadDefault&) = delete;

  private:
    bool before_;
};

inline CUdeviceptr addressOf(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}
inline void* pointerTo(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

}  // namespace bulkhead::cudart
