#include "placed_driver/place.h"

#include <fmt/format.h>

#include "base/environment.h"
#include "base/error.h"
#include "gpu/real_driver.h"

namespace bulkhead::placed {
namespace {

using namespace driver;

std::unique_ptr<isolate::Tenancy> join() {
    const std::string partition = environment("BULKHEAD_PARTITION");
    if (partition.empty())
        throw Error("this program was started inside a partition, and BULKHEAD_PARTITION is gone: no device");
    gpu::Gpu gpu = gpu::Gpu::open("cuda:0");  // the only one that is visible
    isolate::LeaseBook book(isolate::LeaseBook::defaultFolder(), isolate::identityOf(gpu));
    return isolate::Tenancy::join(std::move(gpu), book, partition, false);
}

}  // namespace

Place* Place::ofProcess() {
    // Kept until the process ends: static objects of programs may call the driver to the very end.
    static Place* const one = []() -> Place* {
        try {
            return new Place(join());
        } catch (const std::exception& e) {
            fmt::print(stderr, "bulkhead: {}\n", e.what());
            return nullptr;
        }
    }();
    return one;
}

Place::Place(std::unique_ptr<isolate::Tenancy> tenancy) : tenancy_(std::move(tenancy)), api_(tenancy_->gpu.api()) {
    tenancy_->gpu.context().makeCurrent();
    gpu::check(api_, api_.cuCtxGetCurrent(&primary_), "cannot tell the current context");
    gpu::check(api_, api_.cuCtxGetDevice(&device_), "cannot tell the current GPU");
    green_ = tenancy_->tenant->placeOfDriver();
    if (!green_) throw Error("the driver of {} places no blocks on chosen SMs", tenancy_->gpu.name());
    gpu::check(api_, api_.cuCtxGetDevResource(green_, &resource_, kDevResourceSm), "cannot tell the SMs of a place");
    expectMemoryLimit();
    api_.cuCtxSetCurrent(nullptr);  // as the program expects to find it
}

/// The driver keeps to a limit that it was told, where it is a client of MPS.
void Place::expectMemoryLimit() {
    std::size_t free = 0, total = 0;
    gpu::check(api_, api_.cuMemGetInfo(&free, &total), "cannot tell how much memory is free");
    if (free > memory())
        throw Error(
            "{} MB of its memory could be had without a memory wall, not the {} MB of partition {}: the driver keeps "
            "to "
            "a limit under MPS alone, so start NVIDIA's MPS daemon first",
            free >> 20, memory() >> 20, tenancy_->lease.share().partition.name);
}

CUresult Place::makeGreen(CUgreenCtx* green, CUcontext* context) const {
    constexpr unsigned kDefaultStream = 1;
    CUdevResource sms = resource_;
    CUdevResourceDesc description = nullptr;
    CUresult result = api_.cuDevResourceGenerateDesc(&description, &sms, 1);
    if (result == CUDA_SUCCESS) result = api_.cuGreenCtxCreate(green, description, device_, kDefaultStream);
    if (result == CUDA_SUCCESS) result = api_.cuCtxFromGreenCtx(context, *green);
    return result;
}

void Place::makePrimaryAnew() {
    CUgreenCtx green = nullptr;
    if (api_.cuDevicePrimaryCtxRetain(&primary_, device_) != CUDA_SUCCESS || makeGreen(&green, &green_) != CUDA_SUCCESS)
        green_ = nullptr;
    wasReset_ = false;
}

CUcontext Place::inward(CUcontext context) {
    const std::lock_guard lock(mutex_);
    if (context != nullptr && wasReset_ && !made_.contains(context)) {
        makePrimaryAnew();
        return green_;
    }
    return context == primary_ ? green_ : context;
}

CUcontext Place::outward(CUcontext context) const {
    const std::lock_guard lock(mutex_);
    return context == green_ ? primary_ : context;
}

CUresult Place::create(CUcontext* context) {
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(mutex_);
    CUgreenCtx green = nullptr;
    const CUresult result = makeGreen(&green, context);
    if (result != CUDA_SUCCESS) return result;
    made_[*context] = green;
    return api_.cuCtxPushCurrent(*context);
}

CUresult Place::destroy(CUcontext context) {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(context);
    if (found == made_.end()) return api_.cuCtxDestroy(context);
    CUcontext current = nullptr;
    if (api_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context) api_.cuCtxPopCurrent(&current);
    const CUresult result = api_.cuGreenCtxDestroy(found->second);
    made_.erase(found);
    return result;
}

CUresult Place::resetPrimary(CUdevice device) {
    const std::lock_guard lock(mutex_);
    const CUresult result = api_.cuDevicePrimaryCtxReset(device);
    wasReset_ = result == CUDA_SUCCESS;
    return result;
}

}  // namespace bulkhead::placed
