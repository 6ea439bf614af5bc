#include "walls/tenant.h"

#include <algorithm>

#include "driver/simulator_api.h"
#include "ptx/persistent_blocks.h"
#include "walls.ptx.h"

namespace bulkhead::walls {

using driver::CUresult;

Tenant::Tenant(const driver::DriverApi& inner, driver::CUcontext real, driver::CUdevice device, const Walls& walls,
               Coloring coloring, double rows, std::shared_ptr<GreenPlace> place, std::shared_ptr<ColorSpace> space,
               std::shared_ptr<void> ground)
    : inner_(inner),
      real_(place ? place->context() : real),
      device_(device),
      walls_(walls),
      coloring_(coloring),
      rows_(rows),
      ground_(std::move(ground)),
      place_(std::move(place)),
      space_(std::move(space)) {
    makeCurrent();
    constexpr auto kMultiprocessors = static_cast<driver::CUdevice_attribute>(driver::DeviceAttribute::multiprocessors);
    check(inner_.cuDeviceGetAttribute(&allMultiprocessors_, kMultiprocessors, device_), "cannot count multiprocessors");
    insideCount_ = static_cast<unsigned>(std::count(walls_.sms.begin(), walls_.sms.end(), true));
    constexpr unsigned kNoTiming = 2;
    default_ = makeStream(0);
    check(inner_.cuEventCreate(&order_, kNoTiming), "cannot make an event");
    if (hasPersistentBlocks()) makeQueue();
    if (space_) {
        space_->promised += walls_.memory;
        movers_ = load(kWallsPtx);
        makeStaging();
    }
}

Tenant::~Tenant() {
    close();
}

void Tenant::makeCurrent() const {
    check(inner_.cuCtxSetCurrent(real_), "cannot use the context");
}

std::unique_lock<std::recursive_mutex> Tenant::lock() {
    std::unique_lock held(mutex_);
    expectOpen();
    return held;
}

std::shared_lock<std::shared_mutex> Tenant::stay() {
    std::shared_lock staying(open_);
    expectOpen();
    return staying;
}

void Tenant::expectOpen() const {
    if (closed_) throw Failure{driver::CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context was destroyed"};
}

int Tenant::multiprocessors() const {
    return hasComputeWall() ? static_cast<int>(insideCount_) : allMultiprocessors_;
}

void Tenant::check(CUresult result, const char* what) const {
    if (result != driver::CUDA_SUCCESS) throw Failure{result, what};
}

/// Its atomics would wait where others stream. Translated memory cannot hold it: it is not in one piece.
driver::CUdeviceptr Tenant::allocateForQueue(std::size_t words) {
    if (!space_) return allocatePages(4 * words);
    driver::CUdeviceptr address = 0;
    check(inner_.cuMemAlloc(&address, 4 * words), "cannot make a queue of blocks");
    return address;
}

void Tenant::makeQueue() {
    const std::vector<std::uint32_t> words(ptx::PersistentQueue::kWords, 0);
    queue_ = allocateForQueue(words.size());
    check(inner_.cuMemcpyHtoDAsync(queue_, words.data(), 4 * words.size(), default_), "cannot make a queue of blocks");
    waitFor(default_);
}

void Tenant::reset() {
    const auto held = lock();
    makeCurrent();
    clear();
}

void Tenant::clear() {
    gather();
    inner_.cuStreamSynchronize(default_);
    for (const auto& [address, allocation] : allocations_) release(allocation, address);
    allocations_.clear();
    used_ = 0;
    for (auto module = modules_.begin(); module != modules_.end();) {
        if (module->first == movers_) {
            ++module;
            continue;
        }
        for (const driver::CUfunction function : module->second.functions) functions_.erase(function);
        inner_.cuModuleUnload(module->first);
        module = modules_.erase(module);
    }
    for (const auto& [stream, state] : streams_) inner_.cuStreamDestroy(stream);
    streams_.clear();
    lastLaunch_.reset();
}

void Tenant::close() {
    if (closed_.exchange(true)) return;
    const std::lock_guard alone(open_);
    const std::lock_guard held(mutex_);
    if (inner_.cuCtxSetCurrent(real_) != driver::CUDA_SUCCESS) return;
    clear();
    if (space_) space_->promised -= walls_.memory;
    for (const auto& [module, content] : modules_) inner_.cuModuleUnload(module);
    modules_.clear();
    functions_.clear();
    if (queue_) inner_.cuMemFree(queue_);
    if (slots_) inner_.cuMemFree(slots_);
    if (staging_) inner_.cuMemPoolDestroy(staging_);
    inner_.cuEventDestroy(order_);
    inner_.cuStreamDestroy(default_);
    default_ = nullptr;
    place_.reset();
}

}  // namespace bulkhead::walls
