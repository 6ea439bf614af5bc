#include "walls/page_pool.h"

#include <algorithm>

#include "base/error.h"
#include "gpu/real_driver.h"

namespace bulkhead::walls {
namespace {

constexpr int kOnDevice = 1, kPinned = 1, kReadWrite = 3;

}  // namespace

PagePool::PagePool(gpu::Gpu& gpu, Bytes bytes, Bytes reserved, Bytes alignment)
    : context_(gpu.context()), reserved_(std::max(reserved, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes)) {
    context_.makeCurrent();
    const driver::DriverApi& api = context_.api();
    gpu::check(api, api.cuCtxGetDevice(&device_), "cannot tell the current GPU");
    gpu::check(api, api.cuMemAddressReserve(&base_, reserved_, alignment, 0, 0),
               "cannot reserve addresses for memory walls");
    driver::CUmemAllocationProp properties = {};
    properties.type = kPinned;
    properties.location = {kOnDevice, device_};
    for (Bytes taken = 0; taken < bytes; taken += kPageBytes) {
        driver::CUmemGenericAllocationHandle handle = 0;
        const driver::CUresult result = api.cuMemCreate(&handle, kPageBytes, &properties, 0);
        if (result != driver::CUDA_SUCCESS) {
            unmapAll();
            throw Error("memory walls: {} of {} MB could be taken from the GPU", taken >> 20, bytes >> 20);
        }
        handles_.push_back(handle);
    }
    mapAll();
    clear();
}

PagePool::~PagePool() {
    context_.makeCurrent();
    unmapAll();
    for (const auto handle : handles_) context_.api().cuMemRelease(handle);
    if (base_) context_.api().cuMemAddressFree(base_, reserved_);
}

void PagePool::mapAll() {
    const driver::DriverApi& api = context_.api();
    for (std::size_t i = 0; i < handles_.size(); ++i)
        gpu::check(api, api.cuMemMap(base_ + i * kPageBytes, kPageBytes, 0, handles_[i], 0), "cannot map a page");
    driver::CUmemAccessDesc access = {};
    access.location = {kOnDevice, device_};
    access.flags = kReadWrite;
    gpu::check(api, api.cuMemSetAccess(base_, bytes(), &access, 1), "cannot use a page");
    mapped_ = true;
}

void PagePool::unmapAll() {
    if (mapped_) context_.api().cuMemUnmap(base_, bytes());
    mapped_ = false;
}

void PagePool::arrange(const std::vector<std::size_t>& order) {
    context_.makeCurrent();
    unmapAll();
    std::vector<bool> kept(handles_.size(), false);
    std::vector<driver::CUmemGenericAllocationHandle> arranged;
    for (const std::size_t page : order) {
        kept[page] = true;
        arranged.push_back(handles_[page]);
    }
    for (std::size_t i = 0; i < handles_.size(); ++i)
        if (!kept[i]) context_.api().cuMemRelease(handles_[i]);
    handles_ = std::move(arranged);
    mapAll();
}

void PagePool::clear() {
    context_.makeCurrent();
    const driver::DriverApi& api = context_.api();
    gpu::check(api, api.cuMemsetD8(base_, 0, bytes()), "cannot clear memory");
    gpu::check(api, api.cuStreamSynchronize(nullptr), "cannot clear memory");
}

}  // namespace bulkhead::walls
