// Streams of a tenant, in a context that it shares with others: its default stream is one of its own, and waiting for
// everything means everything of this tenant.

#include "walls/tenant.h"

namespace bulkhead::walls {

using driver::CUstream;

CUstream Tenant::real(CUstream stream) const {
    const bool isDefault = stream == nullptr || stream == driver::kLegacyStream || stream == driver::kPerThreadStream;
    return isDefault ? default_ : stream;
}

CUstream Tenant::makeStream(unsigned flags, int priority) const {
    CUstream stream = nullptr;
    check(
        place_ ? place_->createStream(&stream, priority) : inner_.cuStreamCreateWithPriority(&stream, flags, priority),
        "cannot make a stream");
    return stream;
}

CUstream Tenant::createStream(unsigned flags, int priority) {
    CUstream stream = makeStream(flags, priority);
    streams_.insert(stream);
    return stream;
}

void Tenant::destroyStream(CUstream stream) {
    if (streams_.erase(stream) == 0)
        throw Failure{driver::CUDA_ERROR_INVALID_HANDLE, "no such stream inside the walls"};
    if (lastLaunch_ == stream) {
        // Others still have to wait for what it holds.
        check(inner_.cuEventRecord(order_, stream), "cannot order launches");
        check(inner_.cuStreamWaitEvent(default_, order_, 0), "cannot order launches");
        lastLaunch_ = default_;
    }
    check(inner_.cuStreamDestroy(stream), "cannot destroy a stream");
}

void Tenant::synchronize(CUstream stream) {
    if (const driver::CUresult result = inner_.cuStreamSynchronize(stream); result != driver::CUDA_SUCCESS)
        throw Failure{result, ""};
}

void Tenant::synchronize() {
    synchronize(default_);
    for (const CUstream stream : streams_) synchronize(stream);
}

}  // namespace bulkhead::walls
