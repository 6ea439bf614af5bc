#include "walls/slice_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
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
    return layout.pieces().empty() ? 0 : layout.pieces().back().offset + layout.pieces().back().bytes;
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
    : SliceSpace(gpu, pool, SliceLayout(hash, pages, slices), nullptr) {}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, const SliceLayout& layout,
                       const std::vector<dissect::PageLabel>& blocks)
    : SliceSpace(gpu, pool, layout, &blocks) {}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, SliceLayout layout,
                       const std::vector<dissect::PageLabel>* labels)
    : ColorSpace(gpu, ColoredHeap(layout.pieces(), pool.used), windowOf(std::max(endOf(layout), layout.mostBytes()))),
      pool_(pool),
      layout_(std::move(layout)),
      labels_(labels),
      blocks_(layout_.addresses(pool.base, window())),
      tables_(gpu, tableBytes(layout_.offsets()) + tableBytes(layout_.list()) + tableBytes(blocks_), 0, kWindowUnit),
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
    put(blocks_, color_.blocks, hostColor_.blocks);
}

Bytes SliceSpace::bytes() const {
    return labels_ == nullptr ? heap.bytes() : layout_.mostBytes();
}

void SliceSpace::writeBlocks(driver::CUdeviceptr table, std::size_t first, std::size_t count) {
    context().makeCurrent();
    gpu::check(
        context().api(),
        context().api().cuMemcpyHtoD(table + first * sizeof(SpanSize), &blocks_[first], count * sizeof(SpanSize)),
        "cannot write tables of slices");
}

void SliceSpace::loaded(driver::CUmodule module) {
    driver::CUdeviceptr table = 0;
    std::size_t bytes = 0;
    context().makeCurrent();
    if (context().api().cuModuleGetGlobal(&table, &bytes, module, kBlocksTable) != driver::CUDA_SUCCESS) return;
    writeBlocks(table, 0, blocks_.size());
    modules_.emplace(module, table);
}

void SliceSpace::unloaded(driver::CUmodule module) {
    modules_.erase(module);
}

/// Gives blocks that the pool has got their places.
void SliceSpace::takeBlocks() {
    const std::size_t first = layout_.blocks();
    while (layout_.blocks() < labels_->size()) layout_.append((*labels_)[layout_.blocks()]);
    const std::size_t count = layout_.blocks() - first;
    if (count == 0) return;
    const std::vector<SpanSize> now = layout_.addresses(pool_.base, window());
    std::copy_n(now.begin() + static_cast<std::ptrdiff_t>(first), count,
                blocks_.begin() + static_cast<std::ptrdiff_t>(first));
    // Nobody has addresses there yet, whatever runs now.
    writeBlocks(reinterpret_cast<driver::CUdeviceptr>(color_.blocks), first, count);
    for (const auto& [module, table] : modules_) writeBlocks(table, first, count);
    const Bytes begin = layout_.bytesBefore(first);
    heap.add({begin, layout_.bytesBefore(layout_.blocks()) - begin});
}

std::optional<ColoredHeap::Range> SliceSpace::allocate(Bytes bytes) {
    auto range = heap.allocate(bytes);
    if (range || labels_ == nullptr) return range;
    pool_.grow(layout_.poolBytesFor(growthFor(bytes)));
    takeBlocks();
    return heap.allocate(bytes);
}

driver::CUdeviceptr SliceSpace::realAddress(driver::CUdeviceptr address) const {
    return hostColor_.address(address - window());
}

unsigned SliceSpace::colorOf(driver::CUdeviceptr address) const {
    return layout_.sliceOf(address - window());
}

namespace {

constexpr std::uint64_t kWindowUnit = ptx::AccessTranslation::kAlignment;
constexpr unsigned kEntryShift = 2, kEntry = 1u << kEntryShift;  // of the table of offsets
static_assert(kEntry == sizeof(*SliceColor::offsets) && sizeof(SliceColor::Chunk) == 8 && sizeof(SpanSize) == 8);

/// A table as device code reads it. Neighbours cannot disturb constants: SMs have a cache for them alone,
/// while what falls out of L1 comes from slices that are anybody's.
class DeviceTable {
  public:
    /// Goes to constant memory, declared in `constants`, if `left` bytes are enough; without values if it is written
    /// later.
    DeviceTable(const char* name, std::span<const std::uint32_t> words, const void* global, std::string& constants,
                Bytes& left, bool writtenLater = false)
        : name_(name), global_(reinterpret_cast<std::uintptr_t>(global)) {
        if (words.empty() || words.size_bytes() > left) return;
        constant_ = true;
        left -= words.size_bytes();
        constants += fmt::format(".const .align 8 .b32 {}[{}]", name, words.size());
        constants += writtenLater ? ";\n" : fmt::format(" = {{{}}};\n", fmt::join(words, ","));
    }
    /// `byte` is a register; so many bytes behind it.
    std::string load(std::string_view what, std::string_view byte, Bytes behind = 0) const {
        if (constant_)
            return fmt::format(
                "mov.u64 %bulkhead_t, {}; cvt.u64.u32 %bulkhead_v, {}; add.u64 %bulkhead_v, %bulkhead_v, %bulkhead_t; "
                "ld.const.{}, [%bulkhead_v+{}]; ",
                name_, byte, what, behind);
        // Tables begin at a multiple of 4 GB, so that an address needs no addition.
        return fmt::format(
            "mov.b32 %bulkhead_w4, {}; mov.b64 %bulkhead_v, {{{}, %bulkhead_w4}}; ld.global.nc.{}, [%bulkhead_v+{}]; ",
            global_ / kWindowUnit, byte, what, global_ % kWindowUnit + behind);
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
    t.declarations = ".reg .b32 %bulkhead_w<5>; .reg .b64 %bulkhead_v, %bulkhead_t;";
    const DeviceTable offsets("bulkhead_offsets", std::span(layout_.offsets()), color_.offsets, t.constants,
                              constantBytes);
    const DeviceTable list("bulkhead_list", wordsOf(std::span(layout_.list())), color_.list, t.constants,
                           constantBytes);
    const DeviceTable blocks(kBlocksTable, wordsOf(std::span(blocks_)), color_.blocks, t.constants, constantBytes,
                             true);
    t.translate = [=, c = color_, wide = windowBytes() > kWindowUnit,
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
        // w0: its place among the units of the row; w3: the bits that its kind inverts.
        if (c.list == nullptr) {
            text += fmt::format("mad.lo.u32 %bulkhead_w0, %bulkhead_w1, {}, %bulkhead_w0; mov.b32 %bulkhead_w3, {}; ",
                                (c.turnUnits - (c.served << c.chunkShift)) * kEntry, c.kind);
        } else {
            text += fmt::format(
                "mad.lo.s32 %bulkhead_w2, %bulkhead_w1, -{}, %bulkhead_w2; shl.b32 %bulkhead_w2, %bulkhead_w2, 3; "
                "and.b32 %bulkhead_w0, %bulkhead_w0, {}; mad.lo.u32 %bulkhead_w0, %bulkhead_w1, {}, %bulkhead_w0; {}"
                "mad.lo.u32 %bulkhead_w0, %bulkhead_w2, {}, %bulkhead_w0; ",
                c.served, (kEntry << c.chunkShift) - 1, c.turnUnits * kEntry,
                list.load("v2.u32 {%bulkhead_w2, %bulkhead_w3}", "%bulkhead_w2"), kEntry);
        }
        // w3: its offset in its block.
        for (unsigned part = 0; part < SliceColor::kParts; ++part) {
            const unsigned below = part * c.partShift, left = c.blockShift > below ? c.blockShift - below : 0;
            if (left == 0) continue;
            if (part > 0) text += fmt::format("shr.u32 %bulkhead_w1, %bulkhead_w0, {}; ", below);
            text += fmt::format("and.b32 %bulkhead_w1, {}, {}; ", part > 0 ? "%bulkhead_w1" : "%bulkhead_w0",
                                ((1u << std::min(c.partShift, left)) - 1) * kEntry) +
                    offsets.load("u32 %bulkhead_w2", "%bulkhead_w1", Bytes{part} << (c.partShift + kEntryShift)) +
                    "xor.b32 %bulkhead_w3, %bulkhead_w3, %bulkhead_w2; ";
        }
        return text +
               fmt::format(
                   "shr.u32 %bulkhead_w0, %bulkhead_w0, {}; min.u32 %bulkhead_w0, %bulkhead_w0, {}; "
                   "shl.b32 %bulkhead_w0, %bulkhead_w0, 3; ",
                   c.blockShift + kEntryShift, c.lastBlock) +
               blocks.load("v2.u32 {%bulkhead_w1, %bulkhead_w2}", "%bulkhead_w0") +
               fmt::format(
                   "xor.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w3; and.b32 %bulkhead_w3, {}, {}; "
                   "or.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w3; ",
                   r.low, (1u << c.unitShift) - 1) +
               r.moved("%bulkhead_w1", "%bulkhead_w2", "%bulkhead_v");
    };
    return t;
}

}  // namespace bulkhead::walls
