#include "walls/walled_context.h"

#include <algorithm>

#include "ptx/persistent_blocks.h"
#include "walls.ptx.h"

namespace bulkhead::walls {

using driver::CUresult;

WalledContext::WalledContext(const driver::DriverApi& inner, Options options)
    : inner_(inner),
      real_(options.place ? options.place->context() : options.real),
      device_(options.device),
      walls_(std::move(options.walls)),
      coloring_(options.coloring),
      oversubscription_(options.oversubscription),
      ground_(std::move(options.ground)),
      place_(std::move(options.place)),
      space_(std::move(options.space)) {
    makeCurrent();
    constexpr auto kSms = static_cast<driver::CUdevice_attribute>(driver::DeviceAttribute::sms);
    check(inner_.cuDeviceGetAttribute(&allSms_, kSms, device_), "cannot count SMs");
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

WalledContext::~WalledContext() {
    close();
}

void WalledContext::makeCurrent() const {
    check(inner_.cuCtxSetCurrent(real_), "cannot use the context");
}

std::unique_lock<std::recursive_mutex> WalledContext::lock() {
    std::unique_lock held(mutex_);
    expectOpen();
    return held;
}

std::shared_lock<std::shared_mutex> WalledContext::stay() {
    std::shared_lock staying(open_);
    expectOpen();
    return staying;
}

void WalledContext::expectOpen() const {
    if (closed_) throw Failure{driver::CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context was destroyed"};
}

int WalledContext::sms() const {
    return hasComputeWall() ? static_cast<int>(insideCount_) : allSms_;
}

void WalledContext::check(CUresult result, const char* what) const {
    if (result != driver::CUDA_SUCCESS) throw Failure{result, what};
}

/// Its atomics would wait where others stream. Translated memory cannot hold it: it is not in one piece.
driver::CUdeviceptr WalledContext::allocateForQueue(std::size_t words) {
    if (!space_) return allocatePages(4 * words);
    driver::CUdeviceptr address = 0;
    check(inner_.cuMemAlloc(&address, 4 * words), "cannot make a queue of blocks");
    return address;
}

void WalledContext::makeQueue() {
    const std::vector<std::uint32_t> words(ptx::PersistentQueue::kWords, 0);
    queue_ = allocateForQueue(words.size());
    check(inner_.cuMemcpyHtoDAsync(queue_, words.data(), 4 * words.size(), default_), "cannot make a queue of blocks");
    waitFor(default_);
}

void WalledContext::reset() {
    const auto held = lock();
    makeCurrent();
    clear();
}

void WalledContext::clear() {
    gather();
    inner_.cuStreamSynchronize(default_);
    graphs_.clear();
    for (const auto& [address, allocation] : allocations_) release(allocation, address);
    allocations_.clear();
    mapped_.forget();
    used_ = 0;
    for (auto module = modules_.begin(); module != modules_.end();) {
        if (module->first == movers_) {
            ++module;
            continue;
        }
        for (const driver::CUfunction function : module->second.functions) functions_.erase(function);
        if (space_) space_->unloaded(module->first);
        inner_.cuModuleUnload(module->first);
        module = modules_.erase(module);
    }
    for (const auto& [stream, state] : streams_) inner_.cuStreamDestroy(stream);
    streams_.clear();
    lastLaunch_.reset();
}

void WalledContext::close() {
    if (closed_.exchange(true)) return;
    const std::lock_guard alone(open_);
    const std::lock_guard held(mutex_);
    if (inner_.cuCtxSetCurrent(real_) != driver::CUDA_SUCCESS) return;
    clear();
    if (space_) space_->promised -= walls_.memory;
    for (const auto& [module, content] : modules_) {
        if (space_) space_->unloaded(module);
        inner_.cuModuleUnload(module);
    }
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
