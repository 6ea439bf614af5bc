#pragma once

#include <vector>

#include "driver/simulator_api.h"
#include "gpu/gpu.h"
#include "sim/gpu.h"

namespace bulkhead::corun {

/// The launches of a context since a moment, on a simulated GPU.
class LaunchWatch {
  public:
    LaunchWatch(gpu::Gpu& gpu, gpu::Context& context) : machine_(gpu.simulator()), context_(context) {
        if (machine_) before_ = launches().size();
    }
    std::vector<sim::LaunchId> since() {
        const std::vector<sim::LaunchId> ids = launches();
        return {ids.begin() + static_cast<std::ptrdiff_t>(before_), ids.end()};
    }

  private:
    std::vector<sim::LaunchId> launches() {
        context_.makeCurrent();
        std::vector<sim::LaunchId> ids;
        driver::simulator().launches(&ids);
        return ids;
    }
    sim::Gpu* machine_;
    gpu::Context& context_;
    std::size_t before_ = 0;
};

}  // namespace bulkhead::corun
