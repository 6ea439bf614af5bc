#include "walls/page_pool.h"

#include <algorithm>

#include "base/error.h"
#include "gpu/real_driver.h"

namespace bulkhead::walls {
namespace {

constexpr int kOnDevice = 1, kPinned = 1, kReadWrite = 3;

void allow(const driver::DriverApi& api, driver::CUdevice device, driver::CUdeviceptr at, Bytes bytes) {
    driver::CUmemAccessDesc access = {};
    access.location = {kOnDevice, device};
    access.flags = kReadWrite;
    gpu::check(api, api.cuMemSetAccess(at, bytes, &access, 1), "cannot use a page");
}

}  // namespace

PagePool::PagePool(gpu::Gpu& gpu, Bytes reserved, Bytes alignment, const Blocks& blocks)
    : context_(gpu.context()), reserved_(std::max(reserved, blocks.most)), blockBytes_(blocks.each) {
    context_.makeCurrent();
    const driver::DriverApi& api = context_.api();
    gpu::check(api, api.cuCtxGetDevice(&device_), "cannot tell the current GPU");
    gpu::check(api, api.cuMemAddressReserve(&base_, reserved_, alignment, 0, 0),
               "cannot reserve addresses for memory walls");
}

PagePool::PagePool(gpu::Gpu& gpu, Bytes bytes, Bytes reserved, Bytes alignment)
    : PagePool(gpu, reserved, alignment, {kPageBytes, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes}) {
    driver::CUmemAllocationProp properties = {};
    properties.type = kPinned;
    properties.location = {kOnDevice, device_};
    for (Bytes taken = 0; taken < bytes; taken += kPageBytes) {
        Handle handle = 0;
        if (context_.api().cuMemCreate(&handle, kPageBytes, &properties, 0) != driver::CUDA_SUCCESS)
            throw Error("memory walls: {} of {} MB could be taken from the GPU", taken >> 20, bytes >> 20);
        handles_.push_back(handle);
    }
    map(0);
    clear();
}

PagePool::PagePool(gpu::Gpu& gpu, const Blocks& blocks) : PagePool(gpu, 0, blocks.each, blocks) {}

PagePool::~PagePool() {
    context_.makeCurrent();
    unmapAll();
    for (const Handle handle : handles_) context_.api().cuMemRelease(handle);
    if (base_) context_.api().cuMemAddressFree(base_, reserved_);
}

void PagePool::map(std::size_t first) {
    if (first == handles_.size()) return;
    const driver::DriverApi& api = context_.api();
    for (std::size_t i = first; i < handles_.size(); ++i) {
        gpu::check(api, api.cuMemMap(base_ + i * blockBytes_, blockBytes_, 0, handles_[i], 0), "cannot map a page");
        mapped_ = i + 1;
    }
    allow(api, device_, base_ + first * blockBytes_, (mapped_ - first) * blockBytes_);
}

void PagePool::unmapAll() {
    if (mapped_ > 0) context_.api().cuMemUnmap(base_, mapped_ * blockBytes_);
    mapped_ = 0;
}

void PagePool::append(const std::vector<Handle>& blocks) {
    context_.makeCurrent();
    const std::size_t first = handles_.size();
    handles_.insert(handles_.end(), blocks.begin(), blocks.end());
    if (bytes() > reserved_) throw Error("memory walls: {} MB are more than were reserved", bytes() >> 20);
    map(first);
}

void PagePool::arrange(const std::vector<std::size_t>& order) {
    context_.makeCurrent();
    unmapAll();
    std::vector<bool> kept(handles_.size(), false);
    std::vector<Handle> arranged;
    for (const std::size_t block : order) {
        kept[block] = true;
        arranged.push_back(handles_[block]);
    }
    for (std::size_t i = 0; i < handles_.size(); ++i)
        if (!kept[i]) context_.api().cuMemRelease(handles_[i]);
    handles_ = std::move(arranged);
    map(0);
}

void PagePool::clear() {
    context_.makeCurrent();
    const driver::DriverApi& api = context_.api();
    gpu::check(api, api.cuMemsetD8(base_, 0, bytes()), "cannot clear memory");
    gpu::check(api, api.cuStreamSynchronize(nullptr), "cannot clear memory");
}

PageView::PageView(gpu::Gpu& gpu, const PagePool& pool, const std::vector<std::optional<std::size_t>>& order,
                   Bytes reserved)
    : context_(gpu.context()), reserved_(reserved), blockBytes_(pool.blockBytes()) {
    context_.makeCurrent();
    const driver::DriverApi& api = context_.api();
    gpu::check(api, api.cuMemAddressReserve(&base_, reserved_, blockBytes_, 0, 0),
               "cannot reserve addresses for memory walls");
    for (std::size_t place = 0; place < order.size(); ++place) {
        if (!order[place]) continue;
        const driver::CUdeviceptr at = base_ + place * blockBytes_;
        gpu::check(api, api.cuMemMap(at, blockBytes_, 0, pool.handles_[*order[place]], 0), "cannot map a page");
        mapped_.push_back(at);
        allow(api, pool.device_, at, blockBytes_);
    }
}

PageView::~PageView() {
    context_.makeCurrent();
    for (const driver::CUdeviceptr at : mapped_) context_.api().cuMemUnmap(at, blockBytes_);
    if (base_) context_.api().cuMemAddressFree(base_, reserved_);
}

}  // namespace bulkhead::walls
