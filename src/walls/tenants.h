#pragma once

#include <memory>
#include <string>

#include "walls/tenant.h"

namespace bulkhead::walls {

/// Makes a tenant's handle a context of the walled driver, until it is destroyed.
void admit(std::shared_ptr<Tenant>);
/// What went wrong in this thread's last call of the walled driver, in words; empty if the driver behind has more to
/// say.
std::string lastError();

}  // namespace bulkhead::walls
