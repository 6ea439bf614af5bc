#include "driver/state.h"

#include <cstdio>
#include <utility>

#include "driver/shared_machine.h"

namespace bulkhead::driver {

namespace {

thread_local std::vector<CUcontext> stackOfContexts;
thread_local std::string errorText;
thread_local bool inHostFunction = false;
thread_local bool perThreadDefault = false;
thread_local Driver* calledFor = nullptr;

}  // namespace

Driver& state() {
    if (calledFor) return *calledFor;
    static Driver* driver = new Driver;  // outlives every static object that might still call
    return *driver;
}

void Driver::print(std::string_view text) {
    if (!machine) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return;
    }
    printed += text;
    hasPrinted = true;
}

Driver* callFor(Driver* driver) {
    return std::exchange(calledFor, driver);
}

std::vector<CUcontext>& contextStack() {
    return stackOfContexts;
}
std::string& lastErrorText() {
    return errorText;
}
bool& insideHostFunction() {
    return inHostFunction;
}

CUctx_st::~CUctx_st() = default;

namespace {

/// Counted, so that the driver's own thread knows when to stop and when to look again.
struct CallInProgress {
    CallInProgress() {
        state().calls.fetch_add(1, std::memory_order_relaxed);
        state().callsInside.fetch_add(1, std::memory_order_relaxed);
    }
    ~CallInProgress() { state().callsInside.fetch_sub(1, std::memory_order_relaxed); }
    CallInProgress(const CallInProgress&) = delete;
    CallInProgress& operator=(const CallInProgress&) = delete;
};

}  // namespace

CUresult guarded(void (*body)(void*), void* data) {
    if (inHostFunction) {
        errorText = "a function that a stream runs may not call the driver";
        return CUDA_ERROR_NOT_PERMITTED;
    }
    const CallInProgress call;
    const SharedMachine::Turn turn(state().machine.get());
    const std::lock_guard lock(state().mutex);
    turn.come();
    try {
        if (state().machine) state().machine->spreadFaults();
        body(data);
        return CUDA_SUCCESS;
    } catch (const Failure& failure) {
        errorText = failure.why;
        return failure.code;
    } catch (const ptx::PtxError& error) {
        errorText = error.what();
        return CUDA_ERROR_INVALID_PTX;
    } catch (const std::bad_alloc&) {
        errorText = "the host is out of memory";
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::exception& error) {
        errorText = error.what();
        return CUDA_ERROR_INVALID_VALUE;
    }
}

void requireInitialized() {
    require(state().initialized, CUDA_ERROR_NOT_INITIALIZED, "cuInit has not been called");
}

Device& deviceAt(CUdevice ordinal) {
    requireInitialized();
    const auto found = state().devices.find(ordinal);
    require(found != state().devices.end(), CUDA_ERROR_INVALID_DEVICE, "no such device");
    return *found->second;
}

CUcontext currentContext() {
    requireInitialized();
    CUcontext context = stackOfContexts.empty() ? nullptr : stackOfContexts.back();
    require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT, "no context is current");
    require(!context->destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context has been destroyed");
    return context;
}

CUcontext current() {
    CUcontext context = currentContext();
    if (context->root->failed) throw Failure{context->root->failed, context->root->why};
    return context;
}

CUcontext liveContext(CUcontext context) {
    requireInitialized();
    require(isKnown(context), CUDA_ERROR_INVALID_CONTEXT, "a context that the driver never gave out");
    require(!context->destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context has been destroyed");
    return context;
}

CUcontext contextOrCurrent(CUcontext context) {
    return context ? liveContext(context) : currentContext();
}

PerThreadDefaultStream::PerThreadDefaultStream() : before_(perThreadDefault) {
    perThreadDefault = true;
}
PerThreadDefaultStream::~PerThreadDefaultStream() {
    perThreadDefault = before_;
}

CUstream defaultStream(CUcontext context) {
    if (!perThreadDefault) return context->null.get();
    return streamOf(context, kPerThreadStream);
}

CUstream streamOf(CUcontext context, CUstream stream) {
    if (!stream) return defaultStream(context);
    if (stream == kLegacyStream) return context->null.get();
    if (stream == kPerThreadStream) {
        auto& own = context->perThread[std::this_thread::get_id()];
        if (!own) own = newStream(context, true, 0);
        return own.get();
    }
    require(known(stream)->context->root == context->root, CUDA_ERROR_INVALID_HANDLE, "a stream of another context");
    return stream;
}

}  // namespace bulkhead::driver
