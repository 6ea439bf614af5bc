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

SideSpace::SideSpace(gpu::Gpu& gpu, const Pool& pool, dissect::Mask mask, unsigned side)
    : ColorSpace(gpu, pool, pool.bytes / 2, roundedUp(pool.bytes / 2, kWindowUnit)),
      chunkBytes_(mask & (~mask + 1)),
      mask_(mask),
      parity_((mask & (mask - 1)) >> 1),
      side_(side) {
    if (parity_ >> 32 != 0) throw Error("sides that depend on address bits above 32 cannot be walled");
}

SideColor SideSpace::color() const {
    return {pool(), static_cast<unsigned>(parity_), static_cast<unsigned>(std::countr_zero(chunkBytes_)), side_};
}

Bytes SideSpace::realOffset(Bytes offset) const {
    return color().address(offset) - pool();
}

unsigned SideSpace::colorOf(driver::CUdeviceptr address) const {
    return dissect::parity(realOffset(address - window()) & mask_) ? 1 : 0;
}

ptx::AccessTranslation SideSpace::translation() const {
    ptx::AccessTranslation t;
    t.base = window();
    t.bytes = windowBytes();
    t.declarations = ".reg .b32 %bulkhead_w<3>; .reg .b64 %bulkhead_v<2>;";
    // The window begins at a multiple of 2^32, and the pool at one of a page: the parity's bit fits into the distance
    // between them.
    const Bytes distance = pool() - window();
    const auto low = static_cast<std::uint32_t>(distance) ^ (side_ != 0 ? chunkBytes_ : 0);
    t.translate = [shift = std::countr_zero(chunkBytes_), parity = parity_, chunk = chunkBytes_, low,
                   high = static_cast<std::uint32_t>(distance >> 32)](const ptx::AccessTranslation::Registers& r) {
        return fmt::format(
            "and.b32 %bulkhead_w0, {2}, {4}; popc.b32 %bulkhead_w0, %bulkhead_w0; shl.b32 %bulkhead_w0, %bulkhead_w0, "
            "{5}; "
            "and.b32 %bulkhead_w0, %bulkhead_w0, {6}; xor.b32 %bulkhead_w0, %bulkhead_w0, {7}; "
            "and.b32 %bulkhead_w1, {2}, {8}; mov.b64 %bulkhead_v0, {{%bulkhead_w1, {3}}}; mov.u32 %bulkhead_w2, {9}; "
            "mov.b64 %bulkhead_v1, {{%bulkhead_w0, %bulkhead_w2}}; add.u64 %bulkhead_v0, %bulkhead_v0, %bulkhead_v1; "
            "@{1} add.u64 {0}, {0}, %bulkhead_v0;",
            r.address, r.inside, r.low, r.high, parity, shift, chunk, low, static_cast<std::uint32_t>(~(chunk - 1)),
            high);
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
