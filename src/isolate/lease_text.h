#pragma once

#include <string>
#include <string_view>

#include "isolate/leases.h"

namespace bulkhead::isolate {

/// What a lease says of its holder. The user is not in it: the file's owner is.
std::string leaseText(const Holder&);

/// Anybody may have written it. Throws Error if it is no lease.
Holder readLease(std::string_view text);

}  // namespace bulkhead::isolate
