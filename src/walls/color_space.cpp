#include "walls/color_space.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <tuple>

#include "base/error.h"
#include "gpu/real_driver.h"

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

namespace {

/// A power of two, so that the upper half of an offset can be kept within it by a mask.
Bytes windowOf(Bytes poolBytes) {
    return std::bit_ceil(roundedUp(poolBytes / 2, kWindowUnit));
}

}  // namespace

Bytes SideSpace::reservedBytes(Bytes poolBytes) {
    return 2 * windowOf(poolBytes);
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

/// The real address is in %bulkhead_w1 and %bulkhead_w2.
std::string result(const ptx::AccessTranslation::Registers& r) {
    if (r.inside.empty()) return fmt::format("mov.b64 {}, {{%bulkhead_w1, %bulkhead_w2}};", r.address);
    return fmt::format("mov.b64 %bulkhead_v, {{%bulkhead_w1, %bulkhead_w2}}; selp.b64 {0}, %bulkhead_v, {0}, {1};",
                       r.address, r.inside);
}

}  // namespace

SideSpace::SideSpace(gpu::Gpu& gpu, const Pool& pool, dissect::Mask mask, unsigned side)
    : ColorSpace(gpu, pool, pool.bytes / 2, windowOf(pool.bytes)), mask_(mask), color_(layOut(pool.base, mask, side)) {}

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
        return text + result(r);
    };
    return t;
}

unsigned SliceSpace::unitShift(const dissect::ResidueHash& hash) {
    dissect::Mask used = 0;
    for (const dissect::Mask group : hash.groups) used |= group;
    for (const dissect::WeightedParity& p : hash.parities) used |= p.mask;
    used &= PagePool::kPageBytes - 1;
    if (used == 0) throw Error("the map's slices do not depend on the offset in a page: there is nothing to color");
    return static_cast<unsigned>(std::countr_zero(used));
}

namespace {

/// Calls `visit(unit, slice)` for each unit of pages with these labels, in their order.
template <class Visit>
void forEachUnit(const dissect::ResidueHash& hash, const std::vector<dissect::PageLabel>& pages, const Visit& visit) {
    const unsigned shift = SliceSpace::unitShift(hash);
    // Many pages have the same label.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<unsigned>> slicesOf;
    std::uint32_t unit = 0;
    for (const dissect::PageLabel& page : pages) {
        std::vector<unsigned>& slices = slicesOf[{page.groupFlips, page.flips, page.addend}];
        if (slices.empty())
            for (Bytes offset = 0; offset < PagePool::kPageBytes; offset += Bytes{1} << shift)
                slices.push_back(hash.residue(offset, page) + hash.modulus * hash.group(offset, page));
        for (const unsigned slice : slices) visit(unit++, slice);
    }
}

}  // namespace

SliceSpace::Served SliceSpace::servedBy(const std::vector<unsigned>& slices, const dissect::ResidueHash& hash,
                                        const std::vector<dissect::PageLabel>& pages) {
    std::vector<bool> wanted(hash.slices(), false);
    for (const unsigned slice : slices) wanted.at(slice) = true;
    Served served;
    served.unitShift = unitShift(hash);
    forEachUnit(hash, pages, [&](std::uint32_t unit, unsigned slice) {
        if (!wanted[slice]) return;
        served.units.push_back(unit);
        served.slices.push_back(static_cast<std::uint16_t>(slice));
    });
    if (served.units.empty()) throw Error("no memory of these slices: take more");
    return served;
}

std::vector<Bytes> SliceSpace::bytesOfSlices(const dissect::ResidueHash& hash,
                                             const std::vector<dissect::PageLabel>& pages) {
    const Bytes bytes = Bytes{1} << unitShift(hash);
    std::vector<Bytes> sums(hash.slices(), 0);
    forEachUnit(hash, pages, [&](std::uint32_t, unsigned slice) { sums[slice] += bytes; });
    return sums;
}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, const dissect::ResidueHash& hash,
                       const std::vector<dissect::PageLabel>& pages, const std::vector<unsigned>& slices)
    : SliceSpace(gpu, pool, servedBy(slices, hash, pages)) {}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, Served served)
    : ColorSpace(gpu, pool, served.bytes(), roundedUp(served.bytes(), kWindowUnit)),
      served_(std::move(served)),
      table_(gpu, roundedUp(tableBytes(), PagePool::kPageBytes), roundedUp(tableBytes(), PagePool::kPageBytes),
             kWindowUnit) {
    if (tableBytes() >= kWindowUnit) throw Error("memory walls of {} bytes by slices", bytes());
    std::vector<std::uint32_t> entries = served_.units;
    entries.resize(tableBytes() / sizeof(std::uint32_t), served_.units.back());
    gpu::check(context().api(), context().api().cuMemcpyHtoD(table_.base(), entries.data(), tableBytes()),
               "cannot write a table of units");
}

Bytes SliceSpace::tableBytes() const {
    return std::bit_ceil(served_.units.size()) * sizeof(std::uint32_t);
}

TableColor SliceSpace::color() const {
    return {pool(), reinterpret_cast<const unsigned*>(table_.base()), served_.unitShift};
}

Bytes SliceSpace::realOffset(Bytes offset) const {
    TableColor here = color();
    here.units = served_.units.data();
    return here.address(offset) - pool();
}

unsigned SliceSpace::colorOf(driver::CUdeviceptr address) const {
    return served_.slices[(address - window()) >> served_.unitShift];
}

ptx::AccessTranslation SliceSpace::translation() const {
    ptx::AccessTranslation t;
    t.base = window();
    t.bytes = windowBytes();
    t.declarations = ".reg .b32 %bulkhead_w<3>; .reg .b64 %bulkhead_v;";
    t.translate = [=, shift = served_.unitShift, table = table_.base(), last = tableBytes() - sizeof(std::uint32_t),
                   wide = windowBytes() > kWindowUnit, real = pool()](const ptx::AccessTranslation::Registers& r) {
        const unsigned toEntry = shift - 2;  // entries have 4 bytes
        const std::string entry =
            wide ? fmt::format("shf.r.clamp.b32 %bulkhead_w0, {}, {}, {}; ", r.low, r.high, toEntry)
                 : fmt::format("shr.u32 %bulkhead_w0, {}, {}; ", r.low, toEntry);
        return entry +
               fmt::format(
                   "and.b32 %bulkhead_w0, %bulkhead_w0, {1}; mov.u32 %bulkhead_w1, {2}; "
                   "mov.b64 %bulkhead_v, {{%bulkhead_w0, %bulkhead_w1}}; ld.global.nc.u32 %bulkhead_w0, [%bulkhead_v]; "
                   "mad.wide.u32 %bulkhead_v, %bulkhead_w0, {3}, {4}; "
                   "mov.b64 {{%bulkhead_w1, %bulkhead_w2}}, %bulkhead_v; "
                   "and.b32 %bulkhead_w0, {0}, {5}; or.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w0; ",
                   r.low, last, table >> 32, 1u << shift, real, (1u << shift) - 1) +
               result(r);
    };
    return t;
}

}  // namespace bulkhead::walls
