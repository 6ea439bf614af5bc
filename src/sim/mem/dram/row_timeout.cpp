#include "sim/mem/row_policy.h"

namespace bulkhead::sim {
namespace {

class RowTimeout final : public RowPolicy {
  public:
    explicit RowTimeout(std::int64_t cycles) : cycles_(static_cast<std::uint64_t>(cycles)) {}
    std::uint64_t closesAt(std::uint64_t lastColumn) const override { return lastColumn + cycles_; }

  private:
    std::uint64_t cycles_;
};

}  // namespace

std::unique_ptr<RowPolicy> makeRowTimeout(const arch::DeviceProfile::Dram& dram) {
    return std::make_unique<RowTimeout>(dram.rowTimeout);
}

}  // namespace bulkhead::sim
