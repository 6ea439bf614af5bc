#pragma once

#include "program.h"

namespace bulkhead::differential {

/// Program `index` of a seed: the same on every host. Its outcome is defined by PTX alone: no division by zero, no
/// value that nobody wrote, no races, no lane asked that does not take part.
Program generate(std::uint64_t seed, std::uint64_t index);

}  // namespace bulkhead::differential
