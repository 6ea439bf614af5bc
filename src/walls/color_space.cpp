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

/// The layout in which a parity of real offset bits is one bit of an offset in the window.
AnySideColor layOut(driver::CUdeviceptr pool, dissect::Mask mask, unsigned side) {
    AnySideColor color;
    color.base = pool;
    color.chunkShift = static_cast<unsigned>(std::countr_zero(mask));
    color.chunkMask = (1u << color.chunkShift) - 1;
    color.pairMask = 2 * color.chunkMask + 1;
    color.otherChunk = side << color.chunkShift;
    // Real bit m is bit m - 1 in the window; the lowest bit of the mask follows from the others.
    const dissect::Mask bits = (mask & (mask - 1)) >> 1;
    if (bits == 0 || bits >> 32 != 0) throw Error("sides told apart by mask 0x{:x} cannot be walled", mask);
    color.first = static_cast<unsigned>(std::countr_zero(bits)) - color.chunkShift;
    for (dissect::Mask rest = bits; std::popcount(rest) > 1; rest &= rest - 1) {
        const auto here = static_cast<unsigned>(std::countr_zero(rest));
        const unsigned distance = static_cast<unsigned>(std::countr_zero(rest & (rest - 1))) - here;
        int term = 0;
        while (term < AnySideColor::kTerms && color.changed[term] != 0 && color.distance[term] != distance) ++term;
        if (term == AnySideColor::kTerms) throw Error("sides told apart by mask 0x{:x} cannot be walled", mask);
        color.distance[term] = distance;
        color.changed[term] |= 1u << here;
    }
    return color;
}

/// Puts bits of another register into one. Assemblers make one instruction of it, and old PTX has no lop3.
std::string withBits(std::string_view into, std::string_view from, std::uint32_t mask) {
    return fmt::format(
        "xor.b32 %bulkhead_w3, {0}, {1}; and.b32 %bulkhead_w3, %bulkhead_w3, {2}; xor.b32 {0}, {0}, %bulkhead_w3; ",
        into, from, mask);
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
    t.seesBase = window() % windowBytes() != 0;
    t.declarations = ".reg .b32 %bulkhead_w<4>; .reg .b64 %bulkhead_v;";
    t.translate = [color = color_, units = windowBytes() / kWindowUnit](const ptx::AccessTranslation::Registers& r) {
        // w1: the offset with its chunk as a Gray code.
        std::string text;
        std::string_view code = r.low;
        for (int term = 0; term < AnySideColor::kTerms; ++term) {
            if (color.changed[term] == 0) continue;
            text += fmt::format(
                "shr.u32 %bulkhead_w2, {}, {}; and.b32 %bulkhead_w2, %bulkhead_w2, {}; "
                "xor.b32 %bulkhead_w1, {}, %bulkhead_w2; ",
                r.low, color.distance[term], color.changed[term], code);
            code = "%bulkhead_w1";
        }
        if (units > 1) {
            text += fmt::format(
                "and.b32 %bulkhead_w3, {}, {}; mov.b64 %bulkhead_v, {{{}, %bulkhead_w3}}; "
                "shl.b64 %bulkhead_v, %bulkhead_v, 1; add.u64 %bulkhead_v, %bulkhead_v, {}; ",
                r.high, units - 1, code, color.base);
        } else {
            text += fmt::format("mad.wide.u32 %bulkhead_v, {}, 2, {}; ", code, color.base);
        }
        text += "mov.b64 {%bulkhead_w1, %bulkhead_w2}, %bulkhead_v; ";
        // The bits below a pair of chunks are the offset's own.
        std::string_view within = r.low;
        if (color.first != 0) {
            text += fmt::format("shr.u32 %bulkhead_w0, {}, {}; ", r.low, color.first) +
                    withBits("%bulkhead_w0", r.low, color.chunkMask);
            within = "%bulkhead_w0";
        }
        text += withBits("%bulkhead_w1", within, color.pairMask);
        if (color.otherChunk != 0) text += fmt::format("xor.b32 %bulkhead_w1, %bulkhead_w1, {}; ", color.otherChunk);
        return text + r.moved("%bulkhead_w1", "%bulkhead_w2", "%bulkhead_v");
    };
    return t;
}

}  // namespace bulkhead::walls
