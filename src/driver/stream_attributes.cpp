#include "driver/access_policy.h"
#include "driver/state.h"

// Attributes that launches of a stream have, unless they say otherwise themselves.

namespace bulkhead::driver {
namespace {

constexpr CUlaunchAttributeID kSynchronizationPolicy = 3, kPriority = 8, kMemorySyncDomainMap = 9,
                              kMemorySyncDomain = 10;

void requireStreamAttribute(CUlaunchAttributeID id) {
    require(id == kAccessPolicyWindow || id == kSynchronizationPolicy || id == kPriority ||
                id == kMemorySyncDomainMap || id == kMemorySyncDomain,
            CUDA_ERROR_INVALID_VALUE, "an attribute that streams do not have");
}

}  // namespace

namespace simulated {

CUresult cuStreamSetAttribute(CUstream stream, CUlaunchAttributeID id, const CUlaunchAttributeValue* value) {
    return call([&] {
        CUstream of = streamOf(current(), stream);
        require(value != nullptr, CUDA_ERROR_INVALID_VALUE, "no value");
        requireStreamAttribute(id);
        if (id == kAccessPolicyWindow) checkAccessPolicy(*of->context->device, value->accessPolicyWindow);
        if (id == kPriority) of->priority = value->priority;
        of->attributes[id] = *value;
    });
}
CUresult cuStreamGetAttribute(CUstream stream, CUlaunchAttributeID id, CUlaunchAttributeValue* value) {
    return call([&] {
        CUstream of = streamOf(current(), stream);
        requireOutput(value);
        requireStreamAttribute(id);
        const auto found = of->attributes.find(id);
        *value = found == of->attributes.end() ? CUlaunchAttributeValue{} : found->second;
        if (id == kPriority) value->priority = of->priority;
    });
}
CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
    return call([&] {
        CUcontext context = current();
        CUstream target = streamOf(context, to);
        CUstream source = streamOf(context, from);
        target->attributes = source->attributes;
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
