#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "walls/walled_context.h"

namespace bulkhead::walls {

/// The contexts of the walled driver: which handle means which tenant. A tenant that one thread destroys lives until
/// the calls that others have begun in it are over.
class ContextRegistry {
  public:
    static ContextRegistry& instance();  ///< never destroyed: programs may call the driver to the very end

    /// Makes a tenant's handle a context, until it is removed.
    void add(std::shared_ptr<WalledContext>);
    std::shared_ptr<WalledContext> remove(driver::CUcontext);

    /// Null where there is none.
    std::shared_ptr<WalledContext> find(driver::CUcontext) const;
    std::shared_ptr<WalledContext> latest() const;
    std::shared_ptr<WalledContext> latestOn(driver::CUdevice) const;
    /// The driver behind the latest that was added, also when it has gone; null before the first.
    const driver::DriverApi* inner() const;

  private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<WalledContext>> contexts_;
    const driver::DriverApi* inner_ = nullptr;
};

/// What went wrong in this thread's last call of the walled driver, in words; empty if the driver behind has more to
/// say.
std::string lastError();

}  // namespace bulkhead::walls
