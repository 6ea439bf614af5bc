#include "walls/color_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "gpu/real_driver.h"

namespace bulkhead::walls {
ColorSpace::ColorSpace(gpu::Gpu& gpu, ColoredHeap addresses, Bytes windowBytes)
    : heap(std::move(addresses)), context_(gpu.context()), windowBytes_(windowBytes) {
    context_.makeCurrent();
    // From a multiple of its size on, the base has no bits in common with offsets, and need not be taken away.
    const driver::DriverApi& api = context_.api();
    if (api.cuMemAddressReserve(&window_, windowBytes_, windowBytes_, 0, 0) != driver::CUDA_SUCCESS)
        gpu::check(api, api.cuMemAddressReserve(&window_, windowBytes_, kWindowUnit, 0, 0),
                   "cannot reserve addresses for memory walls");
    if (window_ % kWindowUnit != 0) throw Error("the driver does not align addresses to 4 GB, as memory walls need");
}

ColorSpace::~ColorSpace() {
    context_.makeCurrent();
    if (window_) context_.api().cuMemAddressFree(window_, windowBytes_);
}

Bytes ColorSpace::windowOf(Bytes bytes) {
    return std::bit_ceil((bytes + kWindowUnit - 1) / kWindowUnit) * kWindowUnit;
}

Bytes ColorSpace::growthFor(Bytes allocation) const {
    constexpr Bytes kStep = 256_MiB;  // at least, where there is so much
    return std::max(allocation - std::min(allocation, heap.freeAtEnd()), std::min(kStep, bytes() - heap.bytes()));
}

Bytes SideSpace::reservedBytes(Bytes poolBytes) {
    return 2 * windowOf(poolBytes / 2);
}

namespace {

SideColor layOut(driver::CUdeviceptr pool, dissect::Mask mask, unsigned side) {
    // Real bit m is bit m - 1 in the window; the lowest bit of the mask follows from the others.
    const dissect::Mask bits = (mask & (mask - 1)) >> 1;
    if (bits == 0 || bits >> 32 != 0) throw Error("sides told apart by mask 0x{:x} cannot be walled", mask);
    return {pool, static_cast<unsigned>(std::countr_zero(mask)), side, static_cast<unsigned>(bits)};
}

}  // namespace

SideSpace::SideSpace(gpu::Gpu& gpu, const Pool& pool, dissect::Mask mask, unsigned side)
    : ColorSpace(gpu,
                 ColoredHeap(std::vector<ColoredHeap::Piece>(pool.bytes > 0 ? 1 : 0, {0, pool.bytes / 2}), pool.used),
                 windowOf(std::max(pool.bytes, pool.most) / 2)),
      pool_(pool),
      mask_(mask),
      color_(layOut(pool.base, mask, side)) {}

Bytes SideSpace::bytes() const {
    return std::max(pool_.bytes, pool_.most) / 2;
}

std::optional<ColoredHeap::Range> SideSpace::allocate(Bytes bytes) {
    auto range = heap.allocate(bytes);
    if (range || !pool_.grow) return range;
    const Bytes now = pool_.grow(2 * growthFor(bytes));
    heap.add({pool_.bytes / 2, (now - pool_.bytes) / 2});
    pool_.bytes = now;
    return heap.allocate(bytes);
}

driver::CUdeviceptr SideSpace::realAddress(driver::CUdeviceptr address) const {
    return color_.address(address - window());
}

unsigned SideSpace::colorOf(driver::CUdeviceptr address) const {
    return parity((realAddress(address) - color_.base) & mask_) ? 1 : 0;
}

ptx::AccessTranslation SideSpace::translation(Bytes) const {
    ptx::AccessTranslation t;
    t.base = window();
    t.bytes = windowBytes();
    t.seesBase = false;
    t.declarations = ".reg .b32 %bulkhead_w<3>; .reg .b64 %bulkhead_v;";
    t.translate = [c = color_, from = window()](const ptx::AccessTranslation::Registers& r) {
        // Twice the address, but for what is in the chunk, is twice the offset and twice the window. All 64 bits are
        // kept: no address outside of the window leads to where one of it does.
        const std::uint64_t chunk = std::uint64_t{1} << c.chunkShift;
        const std::uint64_t more = c.base - 2 * from + c.side * chunk;
        return fmt::format(
                   "and.b64 %bulkhead_v, {0}, {1}; add.u64 %bulkhead_v, %bulkhead_v, {0}; "
                   "add.u64 %bulkhead_v, %bulkhead_v, {2}; mov.b64 {{%bulkhead_w1, %bulkhead_w2}}, %bulkhead_v; "
                   "and.b32 %bulkhead_w0, {3}, {4}; popc.b32 %bulkhead_w0, %bulkhead_w0; "
                   "shl.b32 %bulkhead_w0, %bulkhead_w0, {5}; and.b32 %bulkhead_w0, %bulkhead_w0, {6}; "
                   "xor.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w0; ",
                   r.address, static_cast<std::int64_t>(~(chunk - 1)), static_cast<std::int64_t>(more), r.low, c.mask,
                   c.chunkShift, chunk) +
               r.moved("%bulkhead_w1", "%bulkhead_w2", "%bulkhead_v");
    };
    return t;
}

}  // namespace bulkhead::walls
