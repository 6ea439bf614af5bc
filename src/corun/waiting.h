#pragma once

#include <functional>

#include "gpu/gpu.h"

namespace bulkhead::corun {

/// A limit of the clock that a context's work is limited by.
class Deadline {
  public:
    Deadline(const gpu::Context& context, double seconds) : context_(context), end_(context.now() + seconds) {}
    bool passed() const { return context_.now() >= end_; }

  private:
    gpu::Context context_;
    double end_;
};

/// Waits for a stream's work; looks once where the limit is 0, which lets a GPU go on a little that does not run by
/// itself. False if it is not done when the time is over. `meanwhile` is called again and again. Throws Error if a
/// kernel failed, and Interrupted.
bool waitFor(gpu::Context&, gpu::Stream&, double limitSeconds, const std::function<void()>& meanwhile = {});

}  // namespace bulkhead::corun
