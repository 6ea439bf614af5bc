#pragma once

#include <string>
#include <vector>

#include "corun/device_layout.h"
#include "gpu/gpu.h"

namespace bulkhead::corun {

/// Where the blocks of a kernel go.
struct Layout {
    unsigned blocks = 1;
    unsigned warps = 1;         ///< of a block
    std::vector<unsigned> sms;  ///< that may be used; empty: any
};

/// Throws Error for a size of memory that cannot be handled here.
void expectBytes(Bytes);

/// A kernel whose blocks claim places on chosen SMs (kernels/stress_device.h) and log where and when they
/// ran.
class PlacedKernel {
  public:
    /// `SMs`: of the whole GPU.
    PlacedKernel(gpu::Context&, unsigned sms, gpu::Kernel, Layout);

    const Layout& layout() const { return layout_; }
    /// Launches with these arguments, then the places and the logs, then the last one.
    template <class... Arguments, class Last>
    void launch(const gpu::Stream& stream, std::tuple<Arguments...> arguments, const Last& last) {
        reset();
        std::apply(
            [&](const auto&... first) {
                kernel_.launch(stream, {grid_}, {layout_.warps * 32}, 0, first..., places_, logs_, last);
            },
            arguments);
    }
    /// Whether every block has its place by now.
    bool placed() const;
    /// Of the blocks that had a place.
    std::vector<BlockLog> logs() const;

  private:
    void reset();

    gpu::Kernel kernel_;
    Layout layout_;
    unsigned sms_, grid_, perSm_;
    gpu::Array<std::uint32_t> places_;
    gpu::Array<BlockLog> logs_;
};

/// The SMs of some blocks, each once, in order.
std::vector<unsigned> smsOf(const std::vector<BlockLog>&);
bool disjoint(const std::vector<unsigned>&, const std::vector<unsigned>&);

}  // namespace bulkhead::corun
