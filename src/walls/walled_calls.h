#pragma once

#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "walls/context_registry.h"

// What the files of the walled driver's calls share. Each enters its calls into the table: those that walls change, and
// those that it names as harmless, which go to the driver behind. All others are refused by name, so that a call that
// nobody thought about is no way out.

namespace bulkhead::walls {

void enterDeviceCalls(driver::DriverApi&);
void enterContextCalls(driver::DriverApi&);
void enterModuleCalls(driver::DriverApi&);
void enterLibraryCalls(driver::DriverApi&);
void enterMemoryCalls(driver::DriverApi&);
void enterCopyCalls(driver::DriverApi&);
void enterStreamCalls(driver::DriverApi&);
void enterGraphCalls(driver::DriverApi&);

/// A copy of boxes is one of rectangles, one after the other, in a stream of the driver behind.
void copyBox(WalledContext&, const driver::CUDA_MEMCPY3D&, driver::CUstream);
/// What of a launch's attributes the driver behind is told. Hints that have no meaning behind walls are left out.
/// Throws Failure where the launch would be another one without.
std::vector<driver::CUlaunchAttribute> attributesBehind(const WalledContext&,
                                                        std::span<const driver::CUlaunchAttribute> given);

/// Throws Failure where no context inside walls is current in this thread, or it was destroyed.
std::shared_ptr<WalledContext> currentContext();

/// Keeps the words of a call that fails; empty ones for those of the driver behind.
void setLastError(std::string);

/// The driver behind, for calls that need no context. Throws Failure before there is one.
const driver::DriverApi& innerDriver();

inline void check(driver::CUresult result) {
    if (result != driver::CUDA_SUCCESS) throw Failure{result, ""};
}

template <class... Pointers>
void requireOutput(Pointers... pointers) {
    if (!(pointers && ...)) throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "no place for a result"};
}

/// What is thrown becomes the call's result.
template <class Body>
driver::CUresult call(Body&& body) noexcept {
    try {
        setLastError("");
        body();
        return driver::CUDA_SUCCESS;
    } catch (const Failure& failure) {
        setLastError(failure.why);
        return failure.code;
    } catch (const std::bad_alloc&) {
        return driver::CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::exception& error) {
        setLastError(error.what());
        return driver::CUDA_ERROR_UNKNOWN;
    }
}

/// A call of the tenant whose context is current, which does one thing at a time.
template <class Body>
driver::CUresult inside(Body&& body) noexcept {
    return call([&] {
        const std::shared_ptr<WalledContext> walled = currentContext();
        const auto held = walled->lock();
        walled->makeCurrent();
        body(*walled);
    });
}

/// The same for calls that may wait for the GPU, which must not hold up those of other threads.
template <class Body>
driver::CUresult waitingInside(Body&& body) noexcept {
    return call([&] {
        const std::shared_ptr<WalledContext> walled = currentContext();
        const auto staying = walled->stay();
        walled->makeCurrent();
        body(*walled);
    });
}

inline driver::CUresult refused(std::string what) noexcept {
    return call([&] { throw Failure{driver::CUDA_ERROR_NOT_SUPPORTED, what + " inside walls"}; });
}

/// What the driver behind knows an argument as: contexts and streams have other handles inside.
template <class Argument>
Argument behind(WalledContext&, Argument argument) {
    return argument;
}
inline driver::CUstream behind(WalledContext& walled, driver::CUstream stream) {
    const auto held = walled.lock();
    return walled.enter(stream);
}
inline driver::CUcontext behind(WalledContext& walled, driver::CUcontext context) {
    if (context != walled.handle()) throw Failure{driver::CUDA_ERROR_INVALID_CONTEXT, "no such context inside walls"};
    return walled.realContext();
}

/// Calls that walls do not change, in the context of the tenant.
template <auto member>
struct PassedOn;
template <class... Parameters, driver::CUresult (*driver::DriverApi::*member)(Parameters...)>
struct PassedOn<member> {
    static driver::CUresult call(Parameters... parameters) {
        return waitingInside([&](WalledContext& walled) {
            const auto behindIt = walled.inner().*member;
            check(behindIt ? behindIt(behind(walled, parameters)...) : driver::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
        });
    }
    /// Without a context.
    static driver::CUresult callAnywhere(Parameters... parameters) {
        return walls::call([&] {
            const auto behindIt = innerDriver().*member;
            check(behindIt ? behindIt(parameters...) : driver::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
        });
    }
};

template <auto... members>
void passOn(driver::DriverApi& api) {
    ((api.*members = PassedOn<members>::call), ...);
}
template <auto... members>
void passOnAnywhere(driver::DriverApi& api) {
    ((api.*members = PassedOn<members>::callAnywhere), ...);
}

}  // namespace bulkhead::walls
