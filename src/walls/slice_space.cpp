#include "walls/slice_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <span>
#include <tuple>

#include "gpu/real_driver.h"

namespace bulkhead::walls {

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

Bytes endOf(const SliceLayout& layout) {
    return layout.pieces().back().offset + layout.pieces().back().bytes;
}

/// Tables lie one after the other, each at a multiple of 128 B, as lines of L1 do.
template <class T>
Bytes tableBytes(const std::vector<T>& table) {
    constexpr Bytes kLine = 128;
    return (table.size() * sizeof(T) + kLine - 1) / kLine * kLine;
}

}  // namespace

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, const dissect::ResidueHash& hash,
                       const std::vector<dissect::PageLabel>& pages, const std::vector<unsigned>& slices)
    : SliceSpace(gpu, pool, SliceLayout(hash, pages, slices)) {}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, SliceLayout layout)
    : ColorSpace(gpu, ColoredHeap(layout.pieces(), pool.used), windowOf(endOf(layout))),
      layout_(std::move(layout)),
      pages_(layout_.pages(pool.base, window())),
      tables_(gpu, tableBytes(layout_.offsets()) + tableBytes(layout_.list()) + tableBytes(pages_), 0, kWindowUnit),
      color_(layout_.color()),
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

namespace {

constexpr std::uint64_t kWindowUnit = ptx::AccessTranslation::kAlignment;
constexpr unsigned kWidest = 16;  ///< bytes of an access

/// A table as device code reads it: constant memory is nearer than L1, where what is there waits behind what is not.
class DeviceTable {
  public:
    /// Goes to constant memory, declared in `constants`, if `left` bytes are enough.
    DeviceTable(const char* name, std::span<const std::uint32_t> words, const void* global, std::string& constants,
                Bytes& left)
        : name_(name), global_(reinterpret_cast<std::uintptr_t>(global)) {
        if (words.empty() || words.size_bytes() > left) return;
        constant_ = true;
        left -= words.size_bytes();
        constants += fmt::format(".const .align 8 .b32 {}[{}] = {{{}}};\n", name, words.size(), fmt::join(words, ","));
    }
    /// Loads the entry whose number is in a register, which does not stay; entries have 2^shift bytes.
    std::string load(std::string_view what, std::string_view entry, unsigned shift) const {
        const std::string byte = fmt::format("shl.b32 {0}, {0}, {1}; ", entry, shift);
        if (constant_)
            return byte + fmt::format(
                              "mov.u64 %bulkhead_t, {}; cvt.u64.u32 %bulkhead_v, {}; "
                              "add.u64 %bulkhead_v, %bulkhead_v, %bulkhead_t; ld.const.{}, [%bulkhead_v]; ",
                              name_, entry, what);
        // Tables begin at a multiple of 4 GB, so that an address needs no addition.
        return byte + fmt::format(
                          "mov.b32 %bulkhead_w5, {}; mov.b64 %bulkhead_v, {{{}, %bulkhead_w5}}; "
                          "ld.global.nc.{}, [%bulkhead_v+{}]; ",
                          global_ / kWindowUnit, entry, what, global_ % kWindowUnit);
    }

  private:
    const char* name_;
    std::uintptr_t global_;
    bool constant_ = false;
};

template <class T>
std::span<const std::uint32_t> wordsOf(std::span<const T> table) {
    return {reinterpret_cast<const std::uint32_t*>(table.data()), table.size_bytes() / sizeof(std::uint32_t)};
}

}  // namespace

ptx::AccessTranslation SliceSpace::translation(Bytes constantBytes) const {
    ptx::AccessTranslation t;
    t.base = window();
    t.bytes = windowBytes();
    t.declarations = ".reg .b32 %bulkhead_w<6>; .reg .b64 %bulkhead_v, %bulkhead_t;";
    const DeviceTable pages("bulkhead_pages", wordsOf(std::span(pages_)), color_.pages, t.constants, constantBytes);
    const DeviceTable list("bulkhead_list", wordsOf(std::span(layout_.list())), color_.list, t.constants,
                           constantBytes);
    if (std::getenv("BULKHEAD_PATTERNS") == nullptr) constantBytes = 0;
    const std::span offsets(layout_.offsets());
    const DeviceTable patterns(
        "bulkhead_offsets",
        layout_.list().empty() ? offsets.subspan(color_.firstOffset, std::size_t{1} << color_.pageShift) : offsets,
        color_.offsets + color_.firstOffset, t.constants, constantBytes);
    // Whether the row, with the chunks of others, has less than 4 GB.
    const bool small =
        windowBytes() == kWindowUnit && pages_.size() << (color_.pageShift + color_.unitShift) <= kWindowUnit;
    t.translate = [=, c = color_](const auto& r) {
        // w0: the offset, or its unit in a large row; w1: its chunk, then its turn.
        const unsigned fine = small ? c.unitShift : 0;
        std::string text =
            small ? fmt::format("min.u32 %bulkhead_w0, {}, {}; ", r.low,
                                (Bytes{c.lastUnit} << c.unitShift) + (1u << c.unitShift) - kWidest)
                  : fmt::format("shf.r.clamp.b32 %bulkhead_w0, {}, {}, {}; min.u32 %bulkhead_w0, %bulkhead_w0, {}; ",
                                r.low, r.high, c.unitShift, c.lastUnit);
        text += fmt::format("shr.u32 %bulkhead_w1, %bulkhead_w0, {}; ", c.chunkShift + fine);
        if (c.list != nullptr) text += "mov.b32 %bulkhead_w2, %bulkhead_w1; ";
        if (c.served > 1) text += fmt::format("mul.hi.u32 %bulkhead_w1, %bulkhead_w1, {}; ", c.magic);
        if (c.magicShift > 32) text += fmt::format("shr.u32 %bulkhead_w1, %bulkhead_w1, {}; ", c.magicShift - 32);
        // w0: its place in the row, with the chunks of others; w3: where the offsets of its kind begin.
        if (c.list == nullptr) {
            text += fmt::format("mad.lo.u32 %bulkhead_w0, %bulkhead_w1, {}, %bulkhead_w0; ",
                                (c.turnUnits - (c.served << c.chunkShift)) << fine);
        } else {
            text += fmt::format("mad.lo.s32 %bulkhead_w2, %bulkhead_w1, -{}, %bulkhead_w2; ", c.served) +
                    list.load("v2.u32 {%bulkhead_w2, %bulkhead_w3}", "%bulkhead_w2", 3) +
                    fmt::format(
                        "and.b32 %bulkhead_w0, %bulkhead_w0, {}; mad.lo.u32 %bulkhead_w0, %bulkhead_w1, {}, "
                        "%bulkhead_w0; mad.lo.u32 %bulkhead_w0, %bulkhead_w2, {}, %bulkhead_w0; ",
                        (1u << (c.chunkShift + fine)) - 1, c.turnUnits << fine, 1u << fine);
        }
        // w1: its page; w2: its unit in the page. Multiplying leaves more to other units of a multiprocessor than
        // masks.
        text += fmt::format("shr.u32 %bulkhead_w1, %bulkhead_w0, {}; ", c.pageShift + fine);
        if (small) {
            text += fmt::format("shr.u32 %bulkhead_w2, %bulkhead_w0, {}; ", c.unitShift);
        } else {
            text += fmt::format(
                "mov.b32 %bulkhead_w2, %bulkhead_w0; and.b32 %bulkhead_w4, {}, {}; "
                "mad.lo.u32 %bulkhead_w0, %bulkhead_w0, {}, %bulkhead_w4; ",
                r.low, (1u << c.unitShift) - 1, 1u << c.unitShift);
        }
        text += fmt::format("mad.lo.s32 %bulkhead_w2, %bulkhead_w1, -{}, %bulkhead_w2; ", 1u << c.pageShift);
        if (c.list != nullptr) text += "add.u32 %bulkhead_w2, %bulkhead_w2, %bulkhead_w3; ";
        return text + patterns.load("u32 %bulkhead_w3", "%bulkhead_w2", 2) +
               pages.load("v2.u32 {%bulkhead_w1, %bulkhead_w2}", "%bulkhead_w1", 3) +
               "xor.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w3; xor.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w0; " +
               r.moved("%bulkhead_w1", "%bulkhead_w2", "%bulkhead_v");
    };
    return t;
}

}  // namespace bulkhead::walls
