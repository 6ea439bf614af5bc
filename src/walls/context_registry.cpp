#include "walls/context_registry.h"

#include <algorithm>

namespace bulkhead::walls {

using driver::CUcontext;

ContextRegistry& ContextRegistry::instance() {
    static auto* const registry = new ContextRegistry;
    return *registry;
}

void ContextRegistry::add(std::shared_ptr<Tenant> tenant) {
    const std::lock_guard lock(mutex_);
    inner_ = &tenant->inner();
    contexts_.push_back(std::move(tenant));
}

std::shared_ptr<Tenant> ContextRegistry::remove(CUcontext handle) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                    [&](const auto& tenant) { return tenant->handle() == handle; });
    if (found == contexts_.end()) return nullptr;
    std::shared_ptr<Tenant> tenant = std::move(*found);
    contexts_.erase(found);
    return tenant;
}

std::shared_ptr<Tenant> ContextRegistry::find(CUcontext handle) const {
    const std::lock_guard lock(mutex_);
    for (const auto& tenant : contexts_)
        if (tenant->handle() == handle) return tenant;
    return nullptr;
}

std::shared_ptr<Tenant> ContextRegistry::latest() const {
    const std::lock_guard lock(mutex_);
    return contexts_.empty() ? nullptr : contexts_.back();
}

std::shared_ptr<Tenant> ContextRegistry::latestOn(driver::CUdevice device) const {
    const std::lock_guard lock(mutex_);
    for (auto tenant = contexts_.rbegin(); tenant != contexts_.rend(); ++tenant)
        if ((*tenant)->device() == device) return *tenant;
    return nullptr;
}

const driver::DriverApi* ContextRegistry::inner() const {
    const std::lock_guard lock(mutex_);
    return inner_;
}

}  // namespace bulkhead::walls
