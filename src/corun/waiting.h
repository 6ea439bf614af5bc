#pragma once

#include <chrono>
#include <functional>

#include "gpu/gpu.h"

namespace bulkhead::corun {

/// A limit of the GPU's time: the wall clock's, or a simulated GPU's own.
class Deadline {
  public:
    Deadline(gpu::Context&, double seconds);
    bool passed() const;

  private:
    double now() const;
    const void* machine_;  ///< sim::Gpu of a simulated one
    double end_;
};

/// Waits for a stream's work; looks once where the limit is 0, which lets a simulated GPU go on a little. False if it
/// is not done when the time is over. `meanwhile` is called again and again. Throws Error if a kernel failed, and
/// Interrupted.
bool waitFor(gpu::Context&, gpu::Stream&, double limitSeconds, const std::function<void()>& meanwhile = {});

}  // namespace bulkhead::corun
