#include "sim/mem/row_policy.h"

#include <algorithm>
#include <array>

namespace bulkhead::sim {
namespace {

constexpr std::array kRowPolicies = {
    RowPolicyChoice{"open", "a row stays open until another one is needed", makeOpenRows},
    RowPolicyChoice{"closed", "a row is closed as soon as nothing waits for it", makeClosedRows},
    RowPolicyChoice{"timeout", "a row is closed when it was not used for dram.rowTimeout", makeRowTimeout},
};
static_assert(std::ranges::equal(kRowPolicies, arch::DeviceProfile::kRowPolicyNames, {}, &RowPolicyChoice::name));

}  // namespace

std::span<const RowPolicyChoice> rowPolicies() {
    return kRowPolicies;
}

std::unique_ptr<RowPolicy> makeRowPolicy(const arch::DeviceProfile::Dram& dram) {
    return kRowPolicies[static_cast<std::size_t>(dram.rowPolicy)].make(dram);
}

}  // namespace bulkhead::sim
