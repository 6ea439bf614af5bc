#include <algorithm>
#include <cmath>

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

/// What a program that polls sees pass between two looks: a few microseconds, as a call to a real driver takes.
constexpr double kPollSeconds = 5e-6;
constexpr unsigned kNonBlocking = 1;

Cycles cyclesOf(CUcontext context, double seconds) {
    return static_cast<Cycles>(
        std::llround(seconds * static_cast<double>(gpuOf(context).profile().clock.coreMHz) * 1e6));
}

/// For those who do not hold the lock.
CUresult errorOf(CUcontext context) {
    const std::lock_guard lock(state().mutex);
    return context->root->failed;
}

}  // namespace

CUresult codeOf(sim::LaunchError::Cause cause) {
    using Cause = sim::LaunchError::Cause;
    switch (cause) {
        case Cause::illegalAddress:
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        case Cause::misalignedAddress:
            return CUDA_ERROR_MISALIGNED_ADDRESS;
        case Cause::illegalInstruction:
            return CUDA_ERROR_ILLEGAL_INSTRUCTION;
        case Cause::assertion:
            return CUDA_ERROR_ASSERT;
        case Cause::stackOverflow:
            return CUDA_ERROR_HARDWARE_STACK_ERROR;
        case Cause::outOfResources:
            return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        case Cause::timeout:
            return CUDA_ERROR_LAUNCH_TIMEOUT;
        default:
            return CUDA_ERROR_LAUNCH_FAILED;
    }
}

void markFailed(CUcontext context, CUresult code, std::string why) {
    if (context->root->failed) return;
    context->root->failed = code;
    context->root->why = std::move(why);
}

void checkLaunches(CUcontext context) {
    CUcontext root = context->root;
    sim::Machine& gpu = gpuOf(root);
    std::erase_if(root->unchecked, [&](sim::LaunchId id) {
        const sim::LaunchRecord& record = gpu.record(id);
        if (record.error) markFailed(root, codeOf(record.error->cause), record.error->what());
        const bool over = record.over();
        if (over && !std::ranges::binary_search(root->launches, id)) gpu.forget(id);
        return over;
    });
    if (root->failed) throw Failure{root->failed, root->why};
}

void waitFor(CUstream stream) {
    CUcontext context = stream->context;  // the stream may be gone by then
    finishStream(*context->device, stream->id);
    checkLaunches(context);
}

std::vector<sim::StreamId> streamsOf(CUcontext context) {
    std::vector<sim::StreamId> ids = {context->null->id};
    for (const auto& [thread, stream] : context->perThread) ids.push_back(stream->id);
    for (const auto& stream : context->streams) ids.push_back(stream->id);
    return ids;
}

void waitForAll(CUcontext context) {
    for (const sim::StreamId id : streamsOf(context)) {
        finishStream(*context->device, id);
        checkLaunches(context);
    }
}

std::unique_ptr<CUstream_st> newStream(CUcontext context, bool blocking, int priority) {
    auto stream = std::make_unique<CUstream_st>();
    stream->context = context;
    stream->blocking = blocking;
    stream->priority = priority;
    stream->number = state().nextId++;
    auto& spare = context->root->spareStreams;
    if (spare.empty()) {
        stream->id = gpuOf(context).createStream(context->root->id);
    } else {
        stream->id = spare.back();
        spare.pop_back();
    }
    return stream;
}

int greatestPriority(const Device& device) {
    const auto& compute = device.gpu->profile().compute;
    constexpr int kNone = 0, kOfKepler = -1, kOfVolta = -5;
    if (compute.major >= 7) return kOfVolta;
    return compute.major * 10 + compute.minor >= 35 ? kOfKepler : kNone;
}

/// Priorities beyond the range are taken for the nearest, as CUDA does.
CUstream createStream(CUcontext context, unsigned flags, int priority) {
    require((flags & ~kNonBlocking) == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags of a stream");
    context->streams.push_back(
        newStream(context, !(flags & kNonBlocking), std::clamp(priority, greatestPriority(*context->device), 0)));
    return remember(context->streams.back().get());
}

void order(CUstream stream) {
    requireNotCapturing(stream);
    CUcontext context = stream->context;
    sim::Machine& gpu = gpuOf(context);
    const auto after = [&](CUstream first) {
        if (gpu.idle(first->id)) return;
        const sim::MarkerId marker = gpu.createMarker();
        gpu.record(first->id, marker);
        gpu.wait(stream->id, marker);
    };
    if (stream == context->null.get()) {
        for (const auto& [thread, other] : context->perThread) after(other.get());
        for (const auto& other : context->streams)
            if (other->blocking) after(other.get());
    } else if (stream->blocking) {
        after(context->null.get());
    }
}

void enqueue(CUstream stream, double seconds, std::function<void()> action) {
    gpuOf(stream->context).enqueue(stream->id, cyclesOf(stream->context, seconds), std::move(action));
}

void enqueue(CUstream stream, double seconds, sim::Transfer transfer, std::function<void()> action) {
    transfer.duration = cyclesOf(stream->context, seconds);
    gpuOf(stream->context).enqueue(stream->id, transfer, std::move(action));
}

void enqueueOnEngine(CUstream stream, std::optional<sim::StreamId>& engine, double seconds, sim::Transfer transfer,
                     std::function<void()> action) {
    sim::Machine& gpu = gpuOf(stream->context);
    if (!engine) engine = gpu.createStream(stream->context->root->id);
    const sim::MarkerId ready = gpu.createMarker(), done = gpu.createMarker();
    gpu.record(stream->id, ready);
    gpu.wait(*engine, ready);
    transfer.duration = cyclesOf(stream->context, seconds);
    gpu.enqueue(*engine, transfer, std::move(action));
    gpu.record(*engine, done);
    gpu.wait(stream->id, done);
}

void poll(CUcontext context) {
    const Cycles wanted = cyclesOf(context, kPollSeconds);
    if (state().machine) {
        const sim::Machine& gpu = gpuOf(context);
        const Cycles end = gpu.now() + wanted;
        simulate(
            *context->device, [&] { return gpu.now() >= end; },
            [&](sim::Machine& running) { running.runFor(end - running.now()); });
    } else {
        simulate(
            *context->device, [] { return true; }, [&](sim::Machine& gpu) { gpu.runFor(wanted); });
    }
    checkLaunches(context);
}

namespace simulated {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    return cuStreamCreateWithPriority(stream, flags, 0);
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    return call([&] {
        requireOutput(stream);
        *stream = createStream(current(), flags, priority);
    });
}
CUresult cuStreamDestroy(CUstream stream) {
    return call([&] {
        requireInitialized();
        CUcontext context = known(stream)->context;
        require(stream != context->null.get(), CUDA_ERROR_INVALID_HANDLE, "a default stream cannot be destroyed");
        dropCapture(stream);
        finishStream(*context->device, stream->id);
        require(isKnown(stream), CUDA_ERROR_INVALID_HANDLE, "a stream that another thread has destroyed");
        context->root->spareStreams.push_back(stream->id);
        forget(stream);
        std::erase_if(context->streams, [&](const auto& owned) { return owned.get() == stream; });
    });
}
CUresult cuStreamQuery(CUstream stream) {
    return call([&] {
        CUcontext context = current();
        CUstream on = streamOf(context, stream);
        requireNotCapturing(on);
        if (!gpuOf(context).idle(on->id)) poll(context);
        checkLaunches(context);
        require(gpuOf(context).idle(on->id), CUDA_ERROR_NOT_READY, "the stream has work left");
    });
}
CUresult cuStreamSynchronize(CUstream stream) {
    return call([&] {
        CUstream on = streamOf(current(), stream);
        requireNotCapturing(on);
        requireSafe();
        waitFor(on);
    });
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    return call([&] {
        CUstream on = streamOf(current(), stream);
        require(flags <= 1, CUDA_ERROR_INVALID_VALUE, "unknown flags of a wait");
        require(known(event)->context->device == on->context->device, CUDA_ERROR_NOT_SUPPORTED,
                "streams of one simulated GPU cannot wait for another");
        if (captureWait(on, event, flags == 1) || !event->marker) return;
        order(on);
        gpuOf(on->context).wait(on->id, *event->marker);
    });
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned flags) {
    return call([&] {
        CUcontext context = current();
        require(callback && flags == 0, CUDA_ERROR_INVALID_VALUE, "a callback without a function, or with flags");
        CUstream on = streamOf(context, stream);
        order(on);
        enqueueHostFunction(on, [context, stream, callback, data] { callback(stream, errorOf(context), data); });
    });
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return call([&] {
        CUcontext context = current();
        require(function != nullptr, CUDA_ERROR_INVALID_VALUE, "no function");
        CUstream on = streamOf(context, stream);
        if (captureHostFunction(on, function, data)) return;
        order(on);
        enqueueHostFunction(on, [function, data] { function(data); });
    });
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
    return call([&] {
        requireOutput(flags);
        *flags = streamOf(currentContext(), stream)->blocking ? 0 : kNonBlocking;
    });
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
    return call([&] {
        requireOutput(priority);
        *priority = streamOf(currentContext(), stream)->priority;
    });
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
    return call([&] {
        requireOutput(context);
        *context = streamOf(currentContext(), stream)->context;
    });
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
    return call([&] {
        requireOutput(id);
        *id = streamOf(currentContext(), stream)->number;
    });
}
CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
    return call([&] {
        requireOutput(device);
        *device = streamOf(currentContext(), stream)->context->device->ordinal;
    });
}
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, std::size_t, unsigned) {
    return call([&] {
        CUcontext context = current();
        requireNotCapturing(streamOf(context, stream));
        require(locate(context, address).kind == MemoryKind::managed, CUDA_ERROR_INVALID_VALUE, "not managed memory");
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
