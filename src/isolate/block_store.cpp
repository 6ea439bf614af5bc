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

void BlockStore::make(unsigned pagesPerBlock, walls::PagesLeftOut out, Bytes bytes) {
    if (inUse()) throw Error("memory of tenants that are inside cannot be taken anew");
    releaseAll();
    driver::CUmemGenericAllocationHandle handle = 0;
    blockBytes_ = pagesPerBlock * dissect::kPageBytes;
    while ((blocks_.size() + 1) * blockBytes_ <= bytes) {
        if (blocks_.size() == out.after) leaveOut(out);
        if (!create(blockBytes_, handle)) break;
        blocks_.push_back({handle, {}, {}});
    }
}

void BlockStore::leaveOut(walls::PagesLeftOut out) {
    driver::CUmemGenericAllocationHandle handle = 0;
    if (out.together && out.pages != 0) {
        if (create(blockBytes_ + out.pages * dissect::kPageBytes, handle)) left_.push_back(handle);
        return;
    }
    while (left_.size() < out.pages && create(dissect::kPageBytes, handle)) left_.push_back(handle);
}

bool BlockStore::Block::isFree() const {
    return std::all_of(owner.begin(), owner.end(), [](std::uint64_t somebody) { return somebody == 0; });
}

void BlockStore::label(std::size_t first, const Labels& labels) {
    if (settled_ || first > blocks_.size() || labels.size() > blocks_.size() - first)
        throw Error("{} labels for blocks from {} on, of {}", labels.size(), first, blocks_.size());
    for (std::size_t i = 0; i < labels.size(); ++i) blocks_[first + i].label = labels[i];
}

void BlockStore::settle(Division division, bool keepUnknown) {
    if (settled_) throw Error("memory has its kinds already");
    std::erase_if(blocks_, [&](const Block& block) {
        if (block.label || keepUnknown) return false;
        api_.cuMemRelease(block.handle);
        return true;
    });
    division_ = std::move(division);
    settled_ = true;
}

Bytes BlockStore::bytes() const {
    std::vector<std::size_t> ofKind(division_.kinds, 0);
    for (const Block& block : blocks_)
        if (block.label) ++ofKind.at(division_.kindOf(*block.label));
    return ofKind.size() * *std::min_element(ofKind.begin(), ofKind.end()) * blockBytes_;
}

bool BlockStore::inUse() const {
    return std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return !block.isFree(); });
}

std::vector<std::size_t> BlockStore::take(std::uint64_t owner, const std::vector<unsigned>& colors,
                                          std::vector<std::size_t> ofKind, std::size_t most) {
    std::vector<std::size_t> taken;
    ofKind.resize(division_.kinds, 0);
    for (std::size_t i = 0; i < blocks_.size() && taken.size() < most; ++i) {
        Block& block = blocks_[i];
        if (!block.label) continue;
        std::size_t& wanted = ofKind.at(division_.kindOf(*block.label));
        const auto isTaken = [&](unsigned color) { return !block.owner.empty() && block.owner.at(color) != 0; };
        if (wanted == 0 || std::any_of(colors.begin(), colors.end(), isTaken)) continue;
        --wanted;
        block.owner.resize(division_.colors, 0);
        for (const unsigned color : colors) block.owner.at(color) = owner;
        taken.push_back(i);
    }
    return taken;
}

std::size_t BlockStore::blocksOf(std::uint64_t owner) const {
    return static_cast<std::size_t>(std::count_if(blocks_.begin(), blocks_.end(), [&](const Block& block) {
        return std::find(block.owner.begin(), block.owner.end(), owner) != block.owner.end();
    }));
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
            if (block.label.has_value() != known || !block.isFree()) continue;
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
    for (; missing_ > 0 && create(blockBytes_, handle); --missing_) blocks_.push_back({handle, {}, {}});
}

std::vector<std::size_t> BlockStore::unknown() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
        if (!blocks_[i].label) found.push_back(i);
    return found;
}

void BlockStore::labelUnknown(const Labels& labels) {
    const std::vector<std::size_t> blocks = unknown();
    if (labels.size() != blocks.size()) throw Error("{} labels for {} blocks of memory", labels.size(), blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks_[blocks[i]].label = labels[i];
}

int BlockStore::share(std::size_t block) const {
    int file = -1;
    gpu::check(api_, api_.cuMemExportToShareableHandle(&file, blocks_.at(block).handle, kFileDescriptor, 0),
               "cannot share memory between processes");
    return file;
}

}  // namespace bulkhead::isolate
