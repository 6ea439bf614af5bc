#pragma once

#include <string>
#include <vector>

#include "gpu/gpu.h"

namespace bulkhead::gpu {

/// Times every launch of a context by events before and behind it, where the GPU itself counts nothing. A kernel that
/// only waits comes before them, so that the host has given all three when the first one's turn comes. What the events
/// take, one or two microseconds on hardware, is part of each time.
class LaunchTimer {
  public:
    struct Launch {
        std::string kernel;
        Dim3 grid, block;
        double seconds = 0;
    };

    /// From now on, until it goes.
    explicit LaunchTimer(Context);
    ~LaunchTimer();
    LaunchTimer(const LaunchTimer&) = delete;
    LaunchTimer& operator=(const LaunchTimer&) = delete;

    /// All so far, in order, once they have ended. Throws Error if one has failed.
    std::vector<Launch> launches();

  private:
    friend class Kernel;
    void before(const std::string& kernel, Dim3 grid, Dim3 block, const Stream&);
    void behind(const Stream&);

    struct Pending {
        Launch launch;
        Event begin, end;
    };
    Context context_;
    Kernel hold_;
    bool holding_ = false;  ///< while the kernel that waits is launched itself
    std::vector<Pending> pending_;
};

}  // namespace bulkhead::gpu
