#pragma once

#include "base/error.h"
#include "gpu/gpu.h"

namespace bulkhead::corun {

/// A moment of a stream, the end of a run for instance, which can be asked for without waiting.
class Marker {
  public:
    Marker(gpu::Context& context, const gpu::Stream& stream) : context_(context) {
        context_.makeCurrent();
        constexpr unsigned kNoTiming = 2;
        if (context_.api().cuEventCreate(&event_, kNoTiming) != driver::CUDA_SUCCESS ||
            context_.api().cuEventRecord(event_, stream.handle()) != driver::CUDA_SUCCESS)
            throw Error("cannot mark a moment of a stream");
    }
    ~Marker() { context_.api().cuEventDestroy(event_); }
    Marker(const Marker&) = delete;
    Marker& operator=(const Marker&) = delete;

    bool passed() const {
        context_.makeCurrent();
        return context_.api().cuEventQuery(event_) != driver::CUDA_ERROR_NOT_READY;
    }

  private:
    gpu::Context& context_;
    driver::CUevent event_ = nullptr;
};

}  // namespace bulkhead::corun
