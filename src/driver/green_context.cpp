// Green contexts: a share of the SMs in the primary context's address space. A CUdevResource carries its SMs as a bit
// each in the bytes that the interface leaves to the driver.

#include <algorithm>
#include <cstring>

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

constexpr unsigned kCreateDefaultStream = 1;
constexpr unsigned kIgnoreCoscheduling = 1;          ///< CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING
constexpr std::uint32_t kSignature = 0x42'4b'48'44;  ///< tells a resource of this driver's from bytes left unset

/// How many SMs a share has at least, and in what multiples they are given out, as the driver API documents it by
/// compute capability.
struct Granularity {
    unsigned least, multiple;
};
Granularity granularityOf(const Device& device, bool withoutClusters = false) {
    const int major = device.gpu->profile().compute.major;
    if (major >= 9) return withoutClusters ? Granularity{2, 2} : Granularity{8, 8};
    if (major == 8) return {4, 2};
    if (major == 7) return {2, 2};
    return {1, 1};
}

struct Internal {
    std::uint32_t signature;
    std::int32_t device;
    std::uint8_t sms[84];
};
static_assert(sizeof(Internal) <= sizeof(CUdevResource::internal));
constexpr std::size_t kMostSms = sizeof(Internal::sms) * 8;

CUdevResource resourceOf(const Device& device, const std::vector<bool>& sms) {
    require(sms.size() <= kMostSms, CUDA_ERROR_NOT_SUPPORTED, "a GPU with too many SMs for green contexts");
    CUdevResource resource = {};
    resource.type = kDevResourceSm;
    Internal internal = {kSignature, device.ordinal, {}};
    for (std::size_t i = 0; i < sms.size(); ++i)
        if (sms[i]) internal.sms[i / 8] = static_cast<std::uint8_t>(internal.sms[i / 8] | 1u << (i % 8));
    std::memcpy(resource.internal, &internal, sizeof internal);
    const Granularity granularity = granularityOf(device);
    resource.sm = {static_cast<unsigned>(std::count(sms.begin(), sms.end(), true)), granularity.least,
                   granularity.multiple};
    return resource;
}

std::vector<bool> allSms(const Device& device) {
    return std::vector<bool>(static_cast<std::size_t>(device.gpu->profile().sm.count), true);
}

Device& deviceOf(const CUdevResource& resource, std::vector<bool>& sms) {
    require(resource.type == kDevResourceSm, CUDA_ERROR_INVALID_RESOURCE_TYPE, "only SMs can be divided");
    Internal internal;
    std::memcpy(&internal, resource.internal, sizeof internal);
    require(internal.signature == kSignature, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
            "a resource that the driver did not make");
    Device& device = deviceAt(internal.device);
    sms.assign(static_cast<std::size_t>(device.gpu->profile().sm.count), false);
    for (std::size_t i = 0; i < sms.size(); ++i) sms[i] = internal.sms[i / 8] >> (i % 8) & 1;
    return device;
}

std::vector<bool> smsOf(CUcontext context) {
    return context->sms.empty() ? allSms(*context->device) : context->sms;
}

void giveResource(CUcontext context, CUdevResource* resource, CUdevResourceType type) {
    requireOutput(resource);
    require(type == kDevResourceSm, CUDA_ERROR_INVALID_RESOURCE_TYPE, "only SMs can be asked for");
    *resource = resourceOf(*context->device, smsOf(context));
}

CUcontext contextOf(CUgreenCtx green) {
    requireInitialized();
    return liveContext(known(green)->context.get());
}

/// Every stream of a context: the event happens when all have come as far as they were told by now.
void recordAll(CUcontext context, CUevent event) {
    sim::Machine& gpu = gpuOf(context);
    const sim::StreamId gather = gpu.createStream(context->root->id);
    const auto join = [&](const CUstream_st& stream) {
        if (gpu.idle(stream.id)) return;
        const sim::MarkerId marker = gpu.createMarker();
        gpu.record(stream.id, marker);
        gpu.wait(gather, marker);
    };
    join(*context->null);
    for (const auto& [thread, stream] : context->perThread) join(*stream);
    for (const auto& stream : context->streams) join(*stream);
    event->marker = gpu.createMarker();
    gpu.record(gather, *event->marker);
}

void waitAll(CUcontext context, CUevent event) {
    if (!event->marker) return;
    sim::Machine& gpu = gpuOf(context);
    gpu.wait(context->null->id, *event->marker);
    for (const auto& [thread, stream] : context->perThread) gpu.wait(stream->id, *event->marker);
    for (const auto& stream : context->streams) gpu.wait(stream->id, *event->marker);
}

CUevent eventOf(CUcontext context, CUevent event) {
    require(known(event)->context->device == context->device, CUDA_ERROR_INVALID_HANDLE, "an event of another GPU");
    return event;
}

}  // namespace

namespace simulated {

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
    return call([&] {
        requireOutput(resource);
        require(type == kDevResourceSm, CUDA_ERROR_INVALID_RESOURCE_TYPE, "only SMs can be asked for");
        *resource = resourceOf(deviceAt(device), allSms(deviceAt(device)));
    });
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned flags, unsigned minimum) {
    return call([&] {
        requireOutput(groups, input);
        std::vector<bool> left;
        const Device& device = deviceOf(*input, left);
        const auto total = static_cast<unsigned>(std::count(left.begin(), left.end(), true));
        const auto [least, multiple] = granularityOf(device, (flags & kIgnoreCoscheduling) != 0);
        require(minimum <= total, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "more SMs than there are");
        const unsigned each = std::max(least, (minimum + multiple - 1) / multiple * multiple);
        require(each <= total, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "more SMs than there are");
        const unsigned possible = total / each;
        // Without a place for the groups, the call only says how many there could be.
        *groups = result ? std::min(*groups, possible) : possible;
        for (unsigned g = 0; result && g < *groups; ++g) {
            std::vector<bool> part(left.size(), false);
            unsigned taken = 0;
            for (std::size_t i = 0; i < left.size() && taken < each; ++i) {
                if (!left[i]) continue;
                part[i] = true;
                left[i] = false;
                ++taken;
            }
            result[g] = resourceOf(device, part);
        }
        if (remaining) *remaining = resourceOf(device, left);
    });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources, unsigned count) {
    return call([&] {
        requireOutput(description, resources);
        require(count > 0, CUDA_ERROR_INVALID_VALUE, "no resources");
        auto made = std::make_unique<CUdevResourceDesc_st>();
        for (unsigned i = 0; i < count; ++i) {
            std::vector<bool> sms;
            deviceOf(resources[i], sms);
            if (made->sms.empty()) made->sms.assign(sms.size(), false);
            require(made->sms.size() == sms.size(), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                    "resources of two devices");
            for (std::size_t s = 0; s < sms.size(); ++s) made->sms[s] = made->sms[s] || sms[s];
        }
        require(std::count(made->sms.begin(), made->sms.end(), true) > 0, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                "a resource without SMs");
        *description = made.get();
        state().resources[*description] = std::move(made);
    });
}

CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc description, CUdevice device, unsigned flags) {
    return call([&] {
        requireOutput(green);
        Device& on = deviceAt(device);
        require(flags == kCreateDefaultStream, CUDA_ERROR_INVALID_VALUE,
                "green contexts are made with CU_GREEN_CTX_DEFAULT_STREAM");
        const auto found = state().resources.find(description);
        require(found != state().resources.end(), CUDA_ERROR_INVALID_VALUE, "no such description of resources");
        require(found->second->sms.size() == static_cast<std::size_t>(on.gpu->profile().sm.count),
                CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "a description for another device");
        auto made = std::make_unique<CUgreenCtx_st>();
        made->context = newContext(on, sim::Sharing::timeSliced, primaryContext(on));
        made->context->sms = found->second->sms;
        made->context->green = made.get();
        remember(made->context.get());
        *green = remember(made.get());
        state().greens.push_back(std::move(made));
    });
}
CUresult cuGreenCtxDestroy(CUgreenCtx green) {
    return call([&] {
        requireInitialized();
        CUcontext context = known(green)->context.get();
        if (!context->destroyed) destroyContext(context);
        forget(green);
    });
}
CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
    return call([&] {
        requireOutput(context);
        *context = contextOf(green);
    });
}
CUresult cuCtxGetDevResource(CUcontext green, CUdevResource* resource, CUdevResourceType type) {
    return call([&] { giveResource(contextOrCurrent(green), resource, type); });
}
CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource* resource, CUdevResourceType type) {
    return call([&] { giveResource(contextOf(green), resource, type); });
}
CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event) {
    return call([&] {
        CUcontext context = contextOf(green);
        recordAll(context, eventOf(context, event));
    });
}
CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event) {
    return call([&] {
        CUcontext context = contextOf(green);
        waitAll(context, eventOf(context, event));
    });
}
CUresult cuCtxRecordEvent(CUcontext green, CUevent event) {
    return call([&] {
        CUcontext context = liveContext(green);
        recordAll(context, eventOf(context, event));
    });
}
CUresult cuCtxWaitEvent(CUcontext green, CUevent event) {
    return call([&] {
        CUcontext context = liveContext(green);
        waitAll(context, eventOf(context, event));
    });
}
CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx green, unsigned flags, int priority) {
    return call([&] {
        requireOutput(stream);
        require(flags == 1, CUDA_ERROR_INVALID_VALUE, "streams of green contexts are non-blocking");
        *stream = createStream(contextOf(green), flags, priority);
    });
}
CUresult cuGreenCtxGetId(CUgreenCtx green, unsigned long long* id) {
    return call([&] {
        requireOutput(id);
        *id = contextOf(green)->number;
    });
}
CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx* green) {
    return call([&] {
        requireOutput(green);
        *green = streamOf(currentContext(), stream)->context->green;
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
