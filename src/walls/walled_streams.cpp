// Streams of a tenant, in a context that it shares with others: its default stream is one of its own, and waiting for
// everything means everything of this tenant. All of them are ones that the real default stream does not know of, so
// what CUDA promises of a default stream is kept here: work given to it waits for what streams that block were given
// before, and theirs waits for what it was given.

#include "walls/walled_context.h"

namespace bulkhead::walls {

using driver::CUstream;

namespace {

constexpr unsigned kNonBlocking = 1;  ///< CU_STREAM_NON_BLOCKING

}  // namespace

bool isDefaultStream(CUstream stream) {
    return stream == nullptr || stream == driver::kLegacyStream || stream == driver::kPerThreadStream;
}

bool WalledContext::Stream::blocks() const {
    return (flags & kNonBlocking) == 0;
}

/// What the later stream is given from now on waits for what the earlier one was given.
void WalledContext::wait(CUstream later, CUstream earlier) {
    check(inner_.cuEventRecord(order_, earlier), "cannot order streams");
    check(inner_.cuStreamWaitEvent(later, order_, 0), "cannot order streams");
}

CUstream WalledContext::enter(CUstream handle) {
    if (isDefaultStream(handle)) {
        for (auto& [stream, state] : streams_) {
            if (state.blocks() && graphs_.isCaptured(stream))
                throw Failure{driver::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                              "the default stream waits for one that captures"};
            if (!state.blocks() || state.seenByDefault == state.work) continue;
            wait(default_, stream);
            state.seenByDefault = state.work;
        }
        ++defaultWork_;
        return default_;
    }
    const auto found = streams_.find(handle);
    if (found == streams_.end()) throw Failure{driver::CUDA_ERROR_INVALID_HANDLE, "no such stream inside the walls"};
    if (graphs_.isCaptured(handle)) return handle;
    Stream& state = found->second;
    if (state.blocks() && state.defaultSeen != defaultWork_) {
        wait(handle, default_);
        state.defaultSeen = defaultWork_;
    }
    ++state.work;
    return handle;
}

CUstream WalledContext::makeStream(int priority) const {
    CUstream stream = nullptr;
    check(place_ ? place_->createStream(&stream, priority)
                 : inner_.cuStreamCreateWithPriority(&stream, kNonBlocking, priority),
          "cannot make a stream");
    return stream;
}

CUstream WalledContext::createStream(unsigned flags, int priority) {
    if ((flags & ~kNonBlocking) != 0) throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "unknown flags of a stream"};
    CUstream stream = makeStream(priority);
    streams_[stream].flags = flags;
    return stream;
}

void WalledContext::destroyStream(CUstream handle) {
    const auto found = streams_.find(handle);
    if (found == streams_.end()) throw Failure{driver::CUDA_ERROR_INVALID_HANDLE, "no such stream inside the walls"};
    graphs_.leave(handle);
    // Others still have to wait for what it holds.
    if (lastLaunch_ == handle || found->second.seenByDefault != found->second.work) wait(default_, handle);
    if (lastLaunch_ == handle) lastLaunch_ = default_;
    streams_.erase(found);
    check(inner_.cuStreamDestroy(handle), "cannot destroy a stream");
}

unsigned WalledContext::flagsOf(CUstream handle) const {
    if (isDefaultStream(handle)) return 0;
    const auto found = streams_.find(handle);
    if (found == streams_.end()) throw Failure{driver::CUDA_ERROR_INVALID_HANDLE, "no such stream inside the walls"};
    return found->second.flags;
}

/// Makes the default stream wait for all the others.
void WalledContext::gather() {
    for (auto& [stream, state] : streams_) {
        if (graphs_.isCaptured(stream)) continue;
        if (state.seenByDefault != state.work) wait(default_, stream);
        state.seenByDefault = state.work;
    }
}

void WalledContext::waitFor(CUstream real) const {
    check(inner_.cuStreamSynchronize(real), "");
}

void WalledContext::synchronize(CUstream handle) {
    CUstream real = nullptr;
    {
        const auto held = lock();
        real = enter(handle);
    }
    waitFor(real);
}

void WalledContext::synchronize() {
    CUstream real = nullptr;
    {
        const auto held = lock();
        if (graphs_.areCapturing())
            throw Failure{driver::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "nothing waits for a stream that captures"};
        gather();
        real = default_;
    }
    waitFor(real);
}

}  // namespace bulkhead::walls
