#pragma once

#include <functional>

#include "program.h"

namespace bulkhead::differential {

/// Drops instructions for as long as the program stays defined and `differs`.
Program shrink(Program, const std::function<bool(const Program&)>& differs);

}  // namespace bulkhead::differential
