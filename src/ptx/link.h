#pragma once

#include <vector>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// One module of several that were compiled apart: what one of them declares as .extern is what another defines. Names
/// that are not .visible stay each module's own. Throws Error for a name that two modules define.
Module link(std::vector<Module>);

}  // namespace bulkhead::ptx
