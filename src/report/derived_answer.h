#pragma once

#include <string>

#include "base/result.h"

namespace bulkhead::report {

/// For results that were stored without an answer: how far the numbers of what is drawn first go, or of the first
/// column with a unit, and in which rows. Empty where there is no such number.
std::string derivedAnswer(const Result&);

}  // namespace bulkhead::report
