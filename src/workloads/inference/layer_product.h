#pragma once

#include <cstdint>
#include <vector>

#include "workloads/reference.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {

/// Activations times the weights of a layer, C = A W', whatever kernel multiplies them.
class LayerProduct : public Instance {
  public:
    void check() override;
    std::size_t footprint() const override;

  protected:
    LayerProduct(gpu::Context&, Size, std::uint64_t seed);

    std::size_t rows_, columns_, depth_;  ///< A is rows x depth, W columns x depth
    gpu::Array<std::uint16_t> a_, w_;
    gpu::Array<float> c_;

  private:
    std::vector<std::uint16_t> hostA_, hostW_;
    Reference<std::vector<float>> reference_;
};

}  // namespace bulkhead::workloads
