#include "sim/mem/row_policy.h"

namespace bulkhead::sim {
namespace {

class ClosedRows final : public RowPolicy {
  public:
    std::uint64_t closesAt(std::uint64_t lastColumn) const override { return lastColumn; }
};

}  // namespace

std::unique_ptr<RowPolicy> makeClosedRows(const arch::DeviceProfile::Dram&) {
    return std::make_unique<ClosedRows>();
}

}  // namespace bulkhead::sim
