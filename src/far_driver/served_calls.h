#pragma once

#include <array>

#include "far_driver/calls.h"

namespace bulkhead::far_driver {

/// Carries out a request of the process that this thread calls for: reads its parameters and writes what it answers.
using ServedCall = CUresult (*)(Message& request, Message& reply);

/// By number; null where nobody has described a call.
const std::array<ServedCall, kRequests>& servedCalls();

}  // namespace bulkhead::far_driver
