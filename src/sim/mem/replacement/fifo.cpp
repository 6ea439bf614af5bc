#include "sim/mem/replacement/stamped_replacement.h"

namespace bulkhead::sim {
namespace {

class Fifo final : public StampedReplacement {
  public:
    using StampedReplacement::StampedReplacement;
    void use(std::uint32_t, std::uint32_t) override {}
};

}  // namespace

std::unique_ptr<ReplacementPolicy> makeFifo(std::uint32_t sets, std::uint32_t ways) {
    return std::make_unique<Fifo>(sets, ways);
}

}  // namespace bulkhead::sim
