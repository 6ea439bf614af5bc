#include "driver/state.h"

namespace bulkhead::driver {
namespace {

constexpr unsigned kBlockingSync = 1, kDisableTiming = 2, kInterprocess = 4;

CUevent timed(CUevent event) {
    require(!known(event)->captured.capture, CUDA_ERROR_CAPTURED_EVENT, "an event that was captured into a graph");
    require(event->timed, CUDA_ERROR_INVALID_HANDLE, "an event made without timing");
    require(event->marker.has_value(), CUDA_ERROR_INVALID_HANDLE, "an event that was never recorded");
    return event;
}

}  // namespace

namespace simulated {

CUresult cuEventCreate(CUevent* event, unsigned flags) {
    return call([&] {
        CUcontext context = current();
        requireOutput(event);
        require((flags & ~(kBlockingSync | kDisableTiming | kInterprocess)) == 0, CUDA_ERROR_INVALID_VALUE,
                "unknown flags of an event");
        require(!(flags & kInterprocess), CUDA_ERROR_NOT_SUPPORTED, "events are not shared between processes");
        auto made = std::make_unique<CUevent_st>();
        made->context = context;
        made->timed = !(flags & kDisableTiming);
        *event = remember(made.get());
        context->events.push_back(std::move(made));
    });
}
CUresult cuEventDestroy(CUevent event) {
    return call([&] {
        requireInitialized();
        CUcontext context = known(event)->context;
        forget(event);
        context->events.remove_if([&](const auto& owned) { return owned.get() == event; });
    });
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
    return cuEventRecordWithFlags(event, stream, 0);
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    return call([&] {
        require(flags <= 1, CUDA_ERROR_INVALID_VALUE, "unknown flags of a record");
        CUcontext context = current();
        CUstream on = streamOf(context, stream);
        require(known(event)->context->root == context->root, CUDA_ERROR_INVALID_HANDLE, "an event of another context");
        if (captureRecord(on, event, flags == 1)) return;
        order(on);
        event->captured = {};
        // A marker for each record: whoever waits for an earlier one is not held up by this.
        event->marker = gpuOf(context).createMarker();
        gpuOf(context).record(on->id, *event->marker);
    });
}
CUresult cuEventQuery(CUevent event) {
    return call([&] {
        CUcontext context = current();
        requireNotCaptured(known(event));
        if (!event->marker) return;
        sim::Machine& gpu = gpuOf(event->context);
        if (!gpu.recordedAt(*event->marker)) poll(event->context);
        checkLaunches(context);
        require(gpu.recordedAt(*event->marker).has_value(), CUDA_ERROR_NOT_READY, "the event has not happened yet");
    });
}
CUresult cuEventSynchronize(CUevent event) {
    return call([&] {
        CUcontext context = current();
        requireNotCaptured(known(event));
        if (const auto marker = event->marker) {
            const sim::Machine& gpu = gpuOf(event->context);
            simulate(
                *event->context->device, [&] { return gpu.recordedAt(*marker).has_value(); },
                [&](sim::Machine& running) { running.finishMarker(*marker); });
        }
        checkLaunches(context);
    });
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return call([&] {
        current();
        requireOutput(milliseconds);
        require(timed(start)->context->device == timed(end)->context->device, CUDA_ERROR_INVALID_HANDLE,
                "events of two GPUs");
        const sim::Machine& gpu = gpuOf(start->context);
        const auto from = gpu.recordedAt(*start->marker), to = gpu.recordedAt(*end->marker);
        require(from && to, CUDA_ERROR_NOT_READY, "an event that has not happened yet");
        const double seconds = *to >= *from ? gpu.seconds(*to - *from) : -gpu.seconds(*from - *to);
        *milliseconds = static_cast<float>(seconds * 1e3);
    });
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    return cuEventElapsedTime(milliseconds, start, end);
}

}  // namespace simulated
}  // namespace bulkhead::driver
