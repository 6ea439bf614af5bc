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

ColorSpace::ColorSpace(gpu::Gpu& gpu, ColoredHeap addresses, Bytes windowBytes)
    : heap(std::move(addresses)), context_(gpu.context()), windowBytes_(windowBytes) {
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
    : ColorSpace(gpu, ColoredHeap({{0, pool.bytes / 2}}, pool.used), windowOf(pool.bytes)),
      mask_(mask),
      color_(layOut(pool.base, mask, side)) {}

driver::CUdeviceptr SideSpace::realAddress(driver::CUdeviceptr address) const {
    return color_.address(address - window());
}

unsigned SideSpace::colorOf(driver::CUdeviceptr address) const {
    return dissect::parity((realAddress(address) - color_.base) & mask_) ? 1 : 0;
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

std::vector<Bytes> SliceSpace::bytesOfSlices(const dissect::ResidueHash& hash,
                                             const std::vector<dissect::PageLabel>& pages) {
    const Bytes unit = Bytes{1} << SliceLayout::unitShift(hash);
    std::vector<Bytes> sums(hash.slices(), 0);
    // Many pages have the same label.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<Bytes>> sumsOf;
    for (const dissect::PageLabel& page : pages) {
        std::vector<Bytes>& here = sumsOf[{page.groupFlips, page.flips, page.addend}];
        if (here.empty()) {
            here.resize(hash.slices(), 0);
            for (Bytes offset = 0; offset < PagePool::kPageBytes; offset += unit)
                here[hash.residue(offset, page) + hash.modulus * hash.group(offset, page)] += unit;
        }
        for (std::size_t slice = 0; slice < sums.size(); ++slice) sums[slice] += here[slice];
    }
    return sums;
}

namespace {

Bytes windowOf(const SliceLayout& layout) {
    return std::bit_ceil(roundedUp(layout.pieces().back().offset + layout.pieces().back().bytes, kWindowUnit));
}

constexpr unsigned kEntryShift = 2, kEntry = 1u << kEntryShift;  // of the table of offsets
static_assert(kEntry == sizeof(*SliceColor::offsets) && sizeof(SliceColor::Chunk) == 8 && sizeof(SpanSize) == 8);

/// Loads from a table, at a byte of it. Tables begin at a multiple of 4 GB, so that an address needs no addition.
std::string load(std::string_view what, std::string_view byte, const void* table) {
    const auto address = reinterpret_cast<std::uintptr_t>(table);
    return fmt::format(
        "mov.b32 %bulkhead_w4, {}; mov.b64 %bulkhead_v, {{{}, %bulkhead_w4}}; ld.global.nc.{}, [%bulkhead_v+{}]; ",
        address / kWindowUnit, byte, what, address % kWindowUnit);
}

/// Tables lie one after the other, each at a multiple of 128 B, as lines of L1 do.
template <class T>
Bytes tableBytes(const std::vector<T>& table) {
    return roundedUp(table.size() * sizeof(T), 128);
}

}  // namespace

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, const dissect::ResidueHash& hash,
                       const std::vector<dissect::PageLabel>& pages, const std::vector<unsigned>& slices)
    : SliceSpace(gpu, pool, SliceLayout(hash, pages, slices)) {}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, SliceLayout layout)
    : ColorSpace(gpu, ColoredHeap(layout.pieces(), pool.used), windowOf(layout)),
      layout_(std::move(layout)),
      pages_(layout_.pages(windowBytes(), pool.base, window())),
      tables_(gpu, tableBytes(layout_.offsets()) + tableBytes(layout_.list()) + tableBytes(pages_), 0, kWindowUnit),
      color_(layout_.color(windowBytes())),
      hostColor_(color_) {
    driver::CUdeviceptr at = tables_.base();
    const auto put = [&](const auto& table, auto& onDevice, auto& onHost) {
        if (table.empty()) return;
        gpu::check(context().api(), context().api().cuMemcpyHtoD(at, table.data(), table.size() * sizeof(table[0])),
                   "cannot write tables of slices");
        onHost = table.data();
        onDevice = reinterpret_cast<decltype(onHost + 0)>(at);
        at += tableBytes(table);
    };
    put(layout_.offsets(), color_.offsets, hostColor_.offsets);
    put(layout_.list(), color_.list, hostColor_.list);
    put(pages_, color_.pages, hostColor_.pages);
}

driver::CUdeviceptr SliceSpace::realAddress(driver::CUdeviceptr address) const {
    return hostColor_.address(address - window());
}

unsigned SliceSpace::colorOf(driver::CUdeviceptr address) const {
    return layout_.sliceOf(address - window());
}

ptx::AccessTranslation SliceSpace::translation() const {
    ptx::AccessTranslation t;
    t.base = window();
    t.bytes = windowBytes();
    t.declarations = ".reg .b32 %bulkhead_w<5>; .reg .b64 %bulkhead_v;";
    t.translate = [c = color_, wide = windowBytes() > kWindowUnit,
                   last = (windowBytes() >> color_.unitShift) * kEntry - 1](const auto& r) {
        // w0: the unit, in bytes of the table of offsets; w1: its chunk, then its turn.
        std::string text =
            wide ? fmt::format("shf.r.clamp.b32 %bulkhead_w0, {}, {}, {}; and.b32 %bulkhead_w0, %bulkhead_w0, {}; ",
                               r.low, r.high, c.unitShift - kEntryShift, last)
                 : fmt::format("shr.u32 %bulkhead_w0, {}, {}; ", r.low, c.unitShift - kEntryShift);
        text += fmt::format("shr.u32 %bulkhead_w1, %bulkhead_w0, {}; ", c.chunkShift + kEntryShift);
        if (c.list != nullptr) text += "mov.b32 %bulkhead_w2, %bulkhead_w1; ";
        if (c.served > 1) text += fmt::format("mul.hi.u32 %bulkhead_w1, %bulkhead_w1, {}; ", c.magic);
        if (c.magicShift > 32) text += fmt::format("shr.u32 %bulkhead_w1, %bulkhead_w1, {}; ", c.magicShift - 32);
        // w0: its place among the units of the row; w1: what of it is in a page.
        if (c.list == nullptr) {
            text += fmt::format("mad.lo.u32 %bulkhead_w0, %bulkhead_w1, {}, %bulkhead_w0; ",
                                (c.turnUnits - (c.served << c.chunkShift)) * kEntry);
        } else {
            text += fmt::format(
                "mad.lo.s32 %bulkhead_w2, %bulkhead_w1, -{}, %bulkhead_w2; shl.b32 %bulkhead_w2, %bulkhead_w2, 3; "
                "and.b32 %bulkhead_w0, %bulkhead_w0, {}; mad.lo.u32 %bulkhead_w0, %bulkhead_w1, {}, %bulkhead_w0; {}"
                "mad.lo.u32 %bulkhead_w0, %bulkhead_w2, {}, %bulkhead_w0; ",
                c.served, (kEntry << c.chunkShift) - 1, c.turnUnits * kEntry,
                load("v2.u32 {%bulkhead_w2, %bulkhead_w3}", "%bulkhead_w2", c.list), kEntry);
        }
        text += fmt::format("and.b32 %bulkhead_w1, %bulkhead_w0, {}; ", ((1u << c.pageShift) - 1) * kEntry);
        if (c.list != nullptr) text += fmt::format("mad.lo.u32 %bulkhead_w1, %bulkhead_w3, {}, %bulkhead_w1; ", kEntry);
        return text + load("u32 %bulkhead_w3", "%bulkhead_w1", c.offsets + c.firstOffset) +
               fmt::format("shr.u32 %bulkhead_w0, %bulkhead_w0, {}; and.b32 %bulkhead_w0, %bulkhead_w0, -8; ",
                           c.pageShift + kEntryShift - 3) +
               load("v2.u32 {%bulkhead_w1, %bulkhead_w2}", "%bulkhead_w0", c.pages) +
               fmt::format(
                   "xor.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w3; and.b32 %bulkhead_w3, {}, {}; "
                   "or.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w3; ",
                   r.low, (1u << c.unitShift) - 1) +
               result(r);
    };
    return t;
}

}  // namespace bulkhead::walls
