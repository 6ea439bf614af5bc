#include "walls/context_registry.h"

#include <algorithm>

namespace bulkhead::walls {

using driver::CUcontext;

ContextRegistry& ContextRegistry::instance() {
    static auto* const registry = new ContextRegistry;
    return *registry;
}

void ContextRegistry::add(std::shared_ptr<WalledContext> walled) {
    const std::lock_guard lock(mutex_);
    inner_ = &walled->inner();
    contexts_.push_back(std::move(walled));
}

std::shared_ptr<WalledContext> ContextRegistry::remove(CUcontext handle) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                    [&](const auto& walled) { return walled->handle() == handle; });
    if (found == contexts_.end()) return nullptr;
    std::shared_ptr<WalledContext> walled = std::move(*found);
    contexts_.erase(found);
    return walled;
}

std::shared_ptr<WalledContext> ContextRegistry::find(CUcontext handle) const {
    const std::lock_guard lock(mutex_);
    for (const auto& walled : contexts_)
        if (walled->handle() == handle) return walled;
    return nullptr;
}

std::shared_ptr<WalledContext> ContextRegistry::latest() const {
    const std::lock_guard lock(mutex_);
    return contexts_.empty() ? nullptr : contexts_.back();
}

std::shared_ptr<WalledContext> ContextRegistry::latestOn(driver::CUdevice device) const {
    const std::lock_guard lock(mutex_);
    for (auto walled = contexts_.rbegin(); walled != contexts_.rend(); ++walled)
        if ((*walled)->device() == device) return *walled;
    return nullptr;
}

const driver::DriverApi* ContextRegistry::inner() const {
    const std::lock_guard lock(mutex_);
    return inner_;
}

}  // namespace bulkhead::walls
