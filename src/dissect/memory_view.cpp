#include "dissect/memory_view.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace bulkhead::dissect {
namespace {

constexpr Bytes kSmallestPage = 4_KiB, kLargestPage = 2_MiB;

/// The largest page of which all samples are whole.
Bytes findPageBytes(gpu::Context& context, std::uint64_t base, Bytes bytes) {
    Bytes page = kLargestPage;
    Random random(1);
    for (int i = 0; i < 256; ++i) {
        const std::uint64_t at = base + random.below(bytes / kLargestPage) * kLargestPage;
        while (page > kSmallestPage &&
               context.physicalAddress(at + page - kSmallestPage) != context.physicalAddress(at) + page - kSmallestPage)
            page /= 2;
    }
    return page;
}

}  // namespace

MemoryView::MemoryView(gpu::Gpu& gpu, Bytes most) {
    // Some is in use already, and some is needed for lists and results.
    const Bytes room = gpu.info().memoryBytes - gpu.info().memoryBytes / 16;
    const Bytes wanted = std::min(most, room), bytes = wanted / kLargestPage * kLargestPage;
    constexpr Bytes kLeast = 64 * kLargestPage;
    if (bytes < kLeast)
        throw Error("{}: {} MB of memory are too few to dissect: the minimum is {} MB", gpu.name(), wanted >> 20,
                    kLeast >> 20);
    buffer_ = gpu.context().allocate(bytes);
    base_ = buffer_.address();
    bytes_ = bytes;
    if (!gpu.capabilities().physicalAddresses) return;
    pageBytes_ = findPageBytes(gpu.context(), base(), bytes);
    pages_.reserve(bytes / pageBytes_);
    arch::PhysicalAddress all = 0;
    for (Bytes o = 0; o < bytes; o += pageBytes_) {
        pages_.push_back(gpu.context().physicalAddress(base() + o));
        all |= pages_.back();
    }
    addressBits_ = static_cast<unsigned>(std::bit_width(all));
    pageAt_.reserve(pages_.size());
    for (std::size_t i = 0; i < pages_.size(); ++i) pageAt_.emplace(pages_[i], i);
}

arch::PhysicalAddress MemoryView::physical(std::uint64_t address) const {
    const std::uint64_t offset = address - base();
    return pages_[offset / pageBytes_] + offset % pageBytes_;
}

std::optional<std::uint64_t> MemoryView::reach(arch::PhysicalAddress physical) const {
    const arch::PhysicalAddress within = physical & (pageBytes_ - 1);
    const auto page = pageAt_.find(physical - within);
    if (page == pageAt_.end()) return std::nullopt;
    return base() + page->second * pageBytes_ + within;
}

arch::PhysicalAddress MemoryView::random(Random& random, Bytes alignment) const {
    return physical(base() + random.below(bytes() / alignment) * alignment);
}

}  // namespace bulkhead::dissect
