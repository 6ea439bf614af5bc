#include "sim/mem/row_policy.h"

namespace bulkhead::sim {

std::unique_ptr<RowPolicy> makeOpenRows(const arch::DeviceProfile::Dram&) {
    return nullptr;
}

}  // namespace bulkhead::sim
