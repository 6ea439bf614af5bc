#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "arch/device_profile.h"

namespace bulkhead::sim {

/// When a bank closes a row that no request waits for. While one waits, the row stays open for it.
class RowPolicy {
  public:
    virtual ~RowPolicy() = default;
    /// In memory cycles, given that of the last column command. The precharge itself may have to wait longer.
    virtual std::uint64_t closesAt(std::uint64_t lastColumn) const = 0;
};

/// A row of the table of row policies.
struct RowPolicyChoice {
    std::string_view name, meaning;
    std::unique_ptr<RowPolicy> (*make)(const arch::DeviceProfile::Dram&);
};

/// In the order of the profile's choices.
std::span<const RowPolicyChoice> rowPolicies();
std::unique_ptr<RowPolicy> makeRowPolicy(const arch::DeviceProfile::Dram&);

std::unique_ptr<RowPolicy> makeOpenRows(const arch::DeviceProfile::Dram&);  ///< null: there is nothing to do
std::unique_ptr<RowPolicy> makeClosedRows(const arch::DeviceProfile::Dram&);
std::unique_ptr<RowPolicy> makeRowTimeout(const arch::DeviceProfile::Dram&);

}  // namespace bulkhead::sim
