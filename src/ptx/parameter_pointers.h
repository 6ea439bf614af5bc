#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// Eight bytes of a kernel's parameter.
struct ParameterSlot {
    std::string parameter;
    std::int64_t offset = 0;
    auto operator<=>(const ParameterSlot&) const = default;
};

/// For each register of a kernel, the parameters of which it is the pointer to global memory, moved by any distance:
/// one, or several where different ways lead to it. Empty where it is anything else, or may be.
std::vector<std::set<ParameterSlot>> parameterPointers(const Function& kernel);

}  // namespace bulkhead::ptx
