#include "isolate/block_store.h"

#include <algorithm>

#include "base/error.h"
#include "gpu/real_driver.h"

namespace bulkhead::isolate {
namespace {

constexpr int kOnDevice = 1, kPinned = 1, kFileDescriptor = 1;

}  // namespace

BlockStore::BlockStore(const driver::DriverApi& api, driver::CUdevice device) : api_(api), device_(device) {}

BlockStore::~BlockStore() {
    releaseAll();
}

bool BlockStore::create(Bytes bytes, driver::CUmemGenericAllocationHandle& handle) const {
    driver::CUmemAllocationProp properties = {};
    properties.type = kPinned;
    properties.requestedHandleTypes = kFileDescriptor;
    properties.location = {kOnDevice, device_};
    const driver::CUresult result = api_.cuMemCreate(&handle, bytes, &properties, 0);
    if (result != driver::CUDA_SUCCESS && result != driver::CUDA_ERROR_OUT_OF_MEMORY)
        gpu::check(api_, result, "cannot take memory that processes can share");
    return result == driver::CUDA_SUCCESS;
}

void BlockStore::releaseAll() {
    for (const Block& block : blocks_) api_.cuMemRelease(block.handle);
    for (const auto page : left_) api_.cuMemRelease(page);
    blocks_.clear();
    left_.clear();
    missing_ = 0;
    settled_ = false;
}

void BlockStore::make(unsigned pagesPerBlock, unsigned skip, Bytes bytes) {
    if (inUse()) throw Error("memory of tenants that are inside cannot be taken anew");
    releaseAll();
    driver::CUmemGenericAllocationHandle handle = 0;
    while (left_.size() < skip && create(dissect::kPageBytes, handle)) left_.push_back(handle);
    blockBytes_ = pagesPerBlock * dissect::kPageBytes;
    while ((blocks_.size() + 1) * blockBytes_ <= bytes && create(blockBytes_, handle)) blocks_.push_back({handle});
}

void BlockStore::settle(const std::string& kinds) {
    if (kinds.size() != blocks_.size()) throw Error("{} kinds for {} blocks of memory", kinds.size(), blocks_.size());
    if (inUse()) throw Error("memory of tenants that are inside has its kinds already");
    std::vector<Block> kept;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if (kinds[i] == '0' || kinds[i] == '1') {
            blocks_[i].kind = kinds[i] == '1' ? 1 : 0;
            kept.push_back(blocks_[i]);
        } else {
            api_.cuMemRelease(blocks_[i].handle);
        }
    }
    blocks_ = std::move(kept);
    settled_ = true;
}

Bytes BlockStore::bytes() const {
    std::array<std::size_t, kUnknown + 1> ofKind = {};
    for (const Block& block : blocks_) ++ofKind.at(block.kind);
    return (ofKind[1] == 0 ? ofKind[0] : 2 * std::min(ofKind[0], ofKind[1])) * blockBytes_;
}

bool BlockStore::inUse() const {
    return std::any_of(blocks_.begin(), blocks_.end(),
                       [](const Block& block) { return block.owner != decltype(block.owner){}; });
}

std::vector<std::size_t> BlockStore::take(std::uint64_t owner, unsigned color, unsigned kind, std::size_t count) {
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < blocks_.size() && taken.size() < count; ++i) {
        if (blocks_[i].kind != kind || blocks_[i].owner.at(color) != 0) continue;
        blocks_[i].owner.at(color) = owner;
        taken.push_back(i);
    }
    return taken;
}

Bytes BlockStore::bytesOf(std::uint64_t owner) const {
    Bytes sum = 0;
    for (const Block& block : blocks_)
        sum += static_cast<Bytes>(std::count(block.owner.begin(), block.owner.end(), owner)) * blockBytes_ / kColors;
    return sum;
}

void BlockStore::giveBack(std::uint64_t owner) {
    for (Block& block : blocks_) std::replace(block.owner.begin(), block.owner.end(), owner, std::uint64_t{0});
}

Bytes BlockStore::release(Bytes bytes) {
    Bytes given = 0;
    const auto give = [&](bool known) {
        // From the end, where nobody has begun yet.
        for (std::size_t i = blocks_.size(); i-- > 0 && given + blockBytes_ <= bytes;) {
            const Block& block = blocks_[i];
            if ((block.kind != kUnknown) != known || block.owner != decltype(block.owner){}) continue;
            api_.cuMemRelease(block.handle);
            blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
            given += blockBytes_;
        }
    };
    give(false);
    give(true);
    return given;
}

void BlockStore::takeMissing() {
    driver::CUmemGenericAllocationHandle handle = 0;
    for (; missing_ > 0 && create(blockBytes_, handle); --missing_) blocks_.push_back({handle, kUnknown});
}

std::vector<std::size_t> BlockStore::unknown() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
        if (blocks_[i].kind == kUnknown) found.push_back(i);
    return found;
}

void BlockStore::nameKinds(const std::string& kinds) {
    const std::vector<std::size_t> blocks = unknown();
    if (kinds.size() != blocks.size()) throw Error("{} kinds for {} blocks of memory", kinds.size(), blocks.size());
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (kinds[i] == '0' || kinds[i] == '1') blocks_[blocks[i]].kind = kinds[i] == '1' ? 1 : 0;
}

int BlockStore::share(std::size_t block) const {
    int file = -1;
    gpu::check(api_, api_.cuMemExportToShareableHandle(&file, blocks_.at(block).handle, kFileDescriptor, 0),
               "cannot share memory between processes");
    return file;
}

}  // namespace bulkhead::isolate
