#pragma once

#include <string>
#include <vector>

#include "isolate/leases.h"

namespace bulkhead::isolate {

/// Ends the processes that are in a partition, and waits until they have left it. Under MPS a client that is killed in
/// the middle of a kernel takes all others with it, so its work is taken from the server first. Returns who was ended.
/// Throws Error: nobody of that name is inside, a process that cannot be seen or signalled, or one that stays.
std::vector<Holder> stopHolders(const LeaseBook&, const std::string& partition);

}  // namespace bulkhead::isolate
