#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "far_driver/far_driver.h"

namespace bulkhead::gpu {

/// A simulated GPU that this process has for others, which open it by Gpu::openKept().
struct LentGpu {
    std::string name;
    std::vector<std::string> settings;
    bool concurrent = true;  ///< their contexts run side by side, as under MPS; or else they take turns
    bool anybody = false;    ///< processes of any user may have it
};

/// Who has what of it.
struct LentUse {
    std::size_t processes = 0;
    Bytes bytes = 0, freeBytes = 0;
};

/// Lends it until `ended` says so, until it is told to end, or until the place is gone. `about`: what those are told
/// who ask. Throws Error.
void lend(const LentGpu&, const far_driver::Place&, const std::function<std::string(const LentUse&)>& about,
          const std::function<bool()>& ended);

}  // namespace bulkhead::gpu
