#include "walls/color_space.h"

#include <fmt/format.h>

#include <bit>

#include "base/error.h"
#include "gpu/real_driver.h"
#include "walls/page_pool.h"

namespace bulkhead::walls {
namespace {

Bytes roundedUp(Bytes bytes, Bytes unit) {
    return (bytes + unit - 1) / unit * unit;
}

constexpr Bytes kWindowUnit = ptx::AccessTranslation::kAlignment;

}  // namespace

ColorSpace::ColorSpace(gpu::Gpu& gpu, const Pool& pool, Bytes bytes, Bytes windowBytes)
    : heap(bytes, pool.used), context_(gpu.context()), pool_(pool), bytes_(bytes), windowBytes_(windowBytes) {
    context_.makeCurrent();
    gpu::check(context_.api(),
               context_.api().cuMemAddressReserve(&window_, roundedUp(windowBytes_, kWindowUnit), kWindowUnit, 0, 0),
               "cannot reserve addresses for memory walls");
    if (window_ % kWindowUnit != 0) throw Error("the driver does not align addresses to 4 GB, as memory walls need");
}

ColorSpace::~ColorSpace() {
    context_.makeCurrent();
    if (window_) context_.api().cuMemAddressFree(window_, roundedUp(windowBytes_, kWindowUnit));
}

Bytes SideSpace::reservedBytes(Bytes poolBytes) {
    return 2 * roundedUp(poolBytes / 2, kWindowUnit);
}

namespace {

/// The layout in which a parity of real offset bits is one bit of an offset in the window.
SideColor layOut(driver::CUdeviceptr pool, dissect::Mask mask, unsigned side) {
    SideColor color;
    color.base = pool;
    color.chunkShift = static_cast<unsigned>(std::countr_zero(mask));
    color.side = side;
    // Real bit m is bit m - 1 in the window; the lowest bit of the mask follows from the others.
    const dissect::Mask bits = (mask & (mask - 1)) >> 1;
    if (bits == 0 || bits >> 32 != 0) throw Error("sides told apart by mask 0x{:x} cannot be walled", mask);
    color.first = static_cast<unsigned>(std::countr_zero(bits)) - color.chunkShift;
    for (dissect::Mask rest = bits; std::popcount(rest) > 1; rest &= rest - 1) {
        const auto here = static_cast<unsigned>(std::countr_zero(rest));
        const unsigned distance = static_cast<unsigned>(std::countr_zero(rest & (rest - 1))) - here;
        int term = 0;
        while (term < SideColor::kTerms && color.changed[term] != 0 && color.distance[term] != distance) ++term;
        if (term == SideColor::kTerms) throw Error("sides told apart by mask 0x{:x} cannot be walled", mask);
        color.distance[term] = distance;
        color.changed[term] |= 1u << here;
    }
    return color;
}

}  // namespace

SideSpace::SideSpace(gpu::Gpu& gpu, const Pool& pool, dissect::Mask mask, unsigned side)
    : ColorSpace(gpu, pool, pool.bytes / 2, roundedUp(pool.bytes / 2, kWindowUnit)),
      mask_(mask),
      color_(layOut(pool.base, mask, side)) {}

Bytes SideSpace::realOffset(Bytes offset) const {
    return color_.address(offset) - pool();
}

unsigned SideSpace::colorOf(driver::CUdeviceptr address) const {
    return dissect::parity(realOffset(address - window()) & mask_) ? 1 : 0;
}

ptx::AccessTranslation SideSpace::translation() const {
    ptx::AccessTranslation t;
    t.base = window();
    t.bytes = windowBytes();
    t.declarations = ".reg .b32 %bulkhead_w<4>; .reg .b64 %bulkhead_v<2>;";
    t.translate = [color = color_](const ptx::AccessTranslation::Registers& r) {
        const std::uint32_t chunk = 1u << color.chunkShift;
        std::string text = fmt::format("and.b32 %bulkhead_w0, {}, {}; mov.b32 %bulkhead_w1, %bulkhead_w0; ", r.low,
                                       static_cast<std::uint32_t>(~(chunk - 1)));
        for (int term = 0; term < SideColor::kTerms; ++term)
            if (color.changed[term] != 0)
                text += fmt::format(
                    "shr.u32 %bulkhead_w2, %bulkhead_w0, {}; and.b32 %bulkhead_w2, %bulkhead_w2, {}; "
                    "xor.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w2; ",
                    color.distance[term], color.changed[term]);
        if (color.first == 0) {
            text += fmt::format("and.b32 %bulkhead_w2, {}, {}; ", r.low, 2 * chunk - 1);
        } else {
            text += fmt::format(
                "and.b32 %bulkhead_w2, {0}, {1}; shr.u32 %bulkhead_w3, {0}, {2}; and.b32 %bulkhead_w3, %bulkhead_w3, "
                "{3}; "
                "or.b32 %bulkhead_w2, %bulkhead_w2, %bulkhead_w3; ",
                r.low, chunk - 1, color.first, chunk);
        }
        // The pool begins at a multiple of a page: its address takes the bits of the chunk in.
        return text +
               fmt::format(
                   "xor.b32 %bulkhead_w2, %bulkhead_w2, {2}; mov.u32 %bulkhead_w3, {3}; "
                   "mov.b64 %bulkhead_v0, {{%bulkhead_w1, {4}}}; mov.b64 %bulkhead_v1, {{%bulkhead_w2, %bulkhead_w3}}; "
                   "shl.b64 %bulkhead_v0, %bulkhead_v0, 1; @{1} add.u64 {0}, %bulkhead_v0, %bulkhead_v1;",
                   r.address, r.inside, static_cast<std::uint32_t>(color.base) ^ (color.side * chunk),
                   static_cast<std::uint32_t>(color.base >> 32), r.high);
    };
    return t;
}

SliceSpace::Chunks SliceSpace::Chunks::of(const dissect::ResidueHash& hash) {
    dissect::Mask used = 0;
    for (const dissect::Mask group : hash.groups) used |= group;
    for (const dissect::WeightedParity& p : hash.parities) used |= p.mask;
    used &= PagePool::kPageBytes - 1;
    if (used == 0) throw Error("the map's slices do not depend on the offset in a page: there is nothing to color");
    Chunks chunks;
    chunks.unitShift = static_cast<unsigned>(std::countr_zero(used));
    chunks.spread = static_cast<unsigned>(std::countr_zero(used >> (chunks.unitShift + 1) | Bytes{1} << 63));
    if (used >> (chunks.unitShift + 1) == 0) chunks.spread = 0;
    return chunks;
}

SliceSpace::Served SliceSpace::servedBy(const std::vector<unsigned>& slices, const dissect::ResidueHash& hash,
                                        const std::vector<dissect::PageLabel>& pages) {
    const Chunks chunks = Chunks::of(hash);
    std::vector<bool> wanted(hash.slices(), false);
    for (const unsigned slice : slices) wanted.at(slice) = true;
    const Bytes unit = Bytes{1} << chunks.unitShift;
    const Bytes within = ((Bytes{1} << chunks.spread) - 1) << (chunks.unitShift + 1);  // units of one chunk
    Served served;
    for (std::size_t page = 0; page < pages.size(); ++page)
        for (Bytes offset = 0; offset < PagePool::kPageBytes; offset += unit) {
            if ((offset & within) != 0) continue;
            const unsigned slice = hash.residue(offset, pages[page]) + hash.modulus * hash.group(offset, pages[page]);
            if (!wanted[slice]) continue;
            served.units.push_back(
                static_cast<std::uint32_t>((page * PagePool::kPageBytes + offset) >> chunks.unitShift));
            served.slices.push_back(static_cast<std::uint16_t>(slice));
        }
    return served;
}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, const dissect::ResidueHash& hash,
                       const std::vector<dissect::PageLabel>& pages, const std::vector<unsigned>& slices)
    : SliceSpace(gpu, pool, Chunks::of(hash), servedBy(slices, hash, pages)) {}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, Chunks chunks, Served served)
    : ColorSpace(gpu, pool, served.units.size() * chunks.bytes(), served.units.size() * chunks.bytes()),
      chunks_(chunks),
      served_(std::move(served)),
      table_(context().array(served_.units)) {}

TableColor SliceSpace::color() const {
    return {pool(), reinterpret_cast<const unsigned*>(table_.address()), chunks_.unitShift, chunks_.spread};
}

Bytes SliceSpace::realOffset(Bytes offset) const {
    TableColor here = color();
    here.units = served_.units.data();
    return here.address(offset) - pool();
}

unsigned SliceSpace::colorOf(driver::CUdeviceptr address) const {
    return served_.slices[(address - window()) / chunks_.bytes()];
}

ptx::AccessTranslation SliceSpace::translation() const {
    ptx::AccessTranslation t;
    t.base = window();
    t.bytes = bytes();
    t.declarations = ".reg .b32 %bulkhead_w<3>; .reg .b64 %bulkhead_v<2>;";
    const Bytes chunk = chunks_.bytes(), unit = Bytes{1} << chunks_.unitShift;
    t.translate = [chunk, unit, table = table_.address(), real = pool()](const ptx::AccessTranslation::Registers& r) {
        return fmt::format(
            "shf.r.clamp.b32 %bulkhead_w0, {2}, {3}, {4}; mul.wide.u32 %bulkhead_v0, %bulkhead_w0, 4; "
            "add.u64 %bulkhead_v0, %bulkhead_v0, {5}; @{1} ld.global.nc.u32 %bulkhead_w0, [%bulkhead_v0]; "
            "and.b32 %bulkhead_w1, {2}, {6}; and.b32 %bulkhead_w2, {2}, {7}; add.u32 %bulkhead_w1, %bulkhead_w1, "
            "%bulkhead_w2; "
            "cvt.u64.u32 %bulkhead_v0, %bulkhead_w1; mul.wide.u32 %bulkhead_v1, %bulkhead_w0, {8}; "
            "add.u64 %bulkhead_v1, %bulkhead_v1, {9}; @{1} add.u64 {0}, %bulkhead_v0, %bulkhead_v1;",
            r.address, r.inside, r.low, r.high, std::countr_zero(chunk), table, chunk - 1, chunk - unit, unit, real);
    };
    return t;
}

}  // namespace bulkhead::walls
