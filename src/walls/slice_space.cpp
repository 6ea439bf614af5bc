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

/// Of a row, with what it may grow by.
Bytes windowFor(const SliceLayout& layout) {
    const auto& pieces = layout.pieces();
    const Bytes end = pieces.empty() ? 0 : pieces.back().offset + pieces.back().bytes;
    return ColorSpace::windowOf(std::max(end, layout.mostBytes()));
}

/// Tables lie one after the other, each at a multiple of 128 B, as lines of L1 do.
template <class T>
Bytes tableBytes(const std::vector<T>& table) {
    constexpr Bytes kLine = 128;
    return (table.size() * sizeof(T) + kLine - 1) / kLine * kLine;
}

/// Bytes of an entry that can be so large.
unsigned entryBytes(std::uint32_t largest) {
    return largest >> 8 == 0 ? 1 : largest >> 16 == 0 ? 2 : 4;
}

/// A table in entries of so many bytes.
std::vector<std::uint8_t> inEntries(std::span<const std::uint32_t> table, unsigned each) {
    std::vector<std::uint8_t> packed;
    packed.reserve(table.size() * each);
    for (const std::uint32_t entry : table)
        for (unsigned byte = 0; byte < each; ++byte) packed.push_back(static_cast<std::uint8_t>(entry >> (8 * byte)));
    return packed;
}

}  // namespace

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, SliceLayout layout)
    : SliceSpace(gpu, pool, std::move(layout), nullptr, nullptr) {}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, SliceLayout layout,
                       const std::vector<dissect::PageLabel>& blocks)
    : SliceSpace(gpu, pool, std::move(layout), &blocks, nullptr) {}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const PagePool& pool, bool used, const SliceLayout& layout)
    : SliceSpace(gpu, {0, pool.bytes(), used}, layout, nullptr,
                 std::make_unique<PageView>(gpu, pool, layout.places(), layout.reachOf(windowFor(layout)))) {}

SliceSpace::SliceSpace(gpu::Gpu& gpu, const Pool& pool, SliceLayout layout,
                       const std::vector<dissect::PageLabel>* labels, std::unique_ptr<PageView> view)
    : ColorSpace(gpu, ColoredHeap(layout.pieces(), pool.used), windowFor(layout)),
      pool_(pool),
      layout_(std::move(layout)),
      labels_(labels),
      view_(std::move(view)),
      blocks_(layout_.inversions(windowBytes())),
      tables_(gpu, tableBytes(layout_.offsets()) + tableBytes(layout_.list()) + tableBytes(blocks_), 0, kWindowUnit),
      color_(layout_.color(windowBytes())),
      hostColor_(color_) {
    color_.base = hostColor_.base = view_ ? view_->base() : pool.base;
    driver::CUdeviceptr at = tables_.base();
    const auto put = [&](const auto& table, auto& onDevice, auto& onHost) {
        if (table.empty()) return;
        write(at, table.data(), table.size() * sizeof(table[0]));
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

void SliceSpace::write(driver::CUdeviceptr to, const void* from, Bytes bytes) {
    context().makeCurrent();
    gpu::check(context().api(), context().api().cuMemcpyHtoD(to, from, bytes), "cannot write tables of slices");
}

void SliceSpace::writeBlocks(driver::CUdeviceptr table, std::size_t first, std::size_t count) {
    write(table + first * sizeof blocks_[0], &blocks_[first], count * sizeof blocks_[0]);
}

/// The same as a module's constants have them.
void SliceSpace::writeBlocksOf(driver::CUdeviceptr constants, std::size_t first, std::size_t count) {
    const unsigned each = entryBytes(layout_.inversionBits());
    const std::vector<std::uint8_t> packed = inEntries(std::span(blocks_).subspan(first, count), each);
    write(constants + first * each, packed.data(), packed.size());
}

void SliceSpace::loaded(driver::CUmodule module) {
    driver::CUdeviceptr table = 0;
    std::size_t bytes = 0;
    context().makeCurrent();
    if (context().api().cuModuleGetGlobal(&table, &bytes, module, kBlocksTable) != driver::CUDA_SUCCESS) return;
    writeBlocksOf(table, 0, blocks_.size());
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
    const std::vector<std::uint32_t> now = layout_.inversions(windowBytes());
    std::copy_n(now.begin() + static_cast<std::ptrdiff_t>(first), count,
                blocks_.begin() + static_cast<std::ptrdiff_t>(first));
    // Nobody has addresses there yet, whatever runs now.
    writeBlocks(reinterpret_cast<driver::CUdeviceptr>(color_.blocks), first, count);
    for (const auto& [module, table] : modules_) writeBlocksOf(table, first, count);
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
constexpr unsigned kWord = sizeof(std::uint32_t);
static_assert(sizeof(SliceColor::Chunk) == 2 * kWord);

/// PTX that puts bits of a register into another, as the byte that entries of a table begin at. No mask: all that are
/// above.
std::string entryAt(std::string_view to, std::string_view from, unsigned shift, std::uint32_t mask, unsigned each) {
    const auto scale = static_cast<unsigned>(std::countr_zero(each));
    std::string text = fmt::format("mov.b32 {}, {}; ", to, from);
    if (shift > scale) text = fmt::format("shr.u32 {}, {}, {}; ", to, from, shift - scale);
    if (shift < scale) text = fmt::format("shl.b32 {}, {}, {}; ", to, from, scale - shift);
    if (mask != ~0u || scale > 0) text += fmt::format("and.b32 {0}, {0}, {1}; ", to, mask << scale);
    return text;
}

/// A table as device code reads it. Neighbours cannot disturb constants: SMs have a cache for them alone,
/// while what falls out of L1 comes from slices that are anybody's.
class DeviceTable {
  public:
    /// Goes to constant memory, declared in `constants`, in entries as small as `largest` allows, if `left` bytes are
    /// enough; without values if it is written later. Entries in global memory are words.
    DeviceTable(std::string name, std::span<const std::uint32_t> table, std::uint32_t largest, const void* global,
                std::string& constants, Bytes& left, bool writtenLater = false)
        : name_(std::move(name)), global_(reinterpret_cast<std::uintptr_t>(global)) {
        const unsigned each = entryBytes(largest);
        if (table.empty() || table.size() * each > left) return;
        constant_ = true;
        each_ = each;
        left -= table.size() * each;
        constants += fmt::format(".const .align 8 .b{} {}[{}]", 8 * each, name_, table.size());
        constants += writtenLater ? ";\n" : fmt::format(" = {{{}}};\n", fmt::join(table, ","));
    }
    /// Bytes of an entry.
    unsigned each() const { return each_; }
    /// `byte` is a register.
    std::string load(std::string_view to, std::string_view byte) const { return loadAs(8 * each_, to, byte); }
    std::string loadPair(std::string_view to, std::string_view byte) const { return loadAs(0, to, byte); }

  private:
    std::string loadAs(unsigned bits, std::string_view to, std::string_view byte) const {
        const std::string type = bits == 0 ? "v2.u32" : fmt::format("u{}", bits);
        if (constant_)
            return fmt::format(
                "mov.u64 %bulkhead_t, {}; cvt.u64.u32 %bulkhead_v, {}; add.u64 %bulkhead_v, %bulkhead_v, %bulkhead_t; "
                "ld.const.{} {}, [%bulkhead_v]; ",
                name_, byte, type, to);
        // Tables begin at a multiple of 4 GB, so that an address needs no addition.
        return fmt::format(
            "mov.b32 %bulkhead_w4, {}; mov.b64 %bulkhead_v, {{{}, %bulkhead_w4}}; ld.global.nc.{} {}, "
            "[%bulkhead_v+{}]; ",
            global_ / kWindowUnit, byte, type, to, global_ % kWindowUnit);
    }

    std::string name_;
    std::uintptr_t global_;
    bool constant_ = false;
    unsigned each_ = kWord;
};

std::uint32_t largestOf(std::span<const std::uint32_t> table) {
    return table.empty() ? 0 : *std::max_element(table.begin(), table.end());
}

}  // namespace

ptx::AccessTranslation SliceSpace::translation(Bytes constantBytes) const {
    ptx::AccessTranslation t;
    t.base = window();
    t.bytes = windowBytes();
    t.seesBase = window() % windowBytes() != 0;
    t.declarations = ".reg .b32 %bulkhead_w<5>; .reg .b64 %bulkhead_v, %bulkhead_t;";
    std::vector<DeviceTable> parts;
    std::span<const std::uint32_t> offsets = layout_.offsets();
    const unsigned* onDevice = color_.offsets;
    for (unsigned part = 0; part < color_.parts; ++part) {
        const std::size_t entries = std::size_t{1} << color_.part[part].bits;
        parts.emplace_back(fmt::format("bulkhead_part{}", part), offsets.first(entries),
                           largestOf(offsets.first(entries)), onDevice, t.constants, constantBytes);
        offsets = offsets.subspan(entries);
        onDevice += entries;
    }
    std::vector<std::uint32_t> words;
    for (const SliceColor::Chunk& chunk : layout_.list()) words.insert(words.end(), {chunk.place, chunk.within});
    const DeviceTable list("bulkhead_list", words, ~0u, color_.list, t.constants, constantBytes);
    const DeviceTable blocks(kBlocksTable, blocks_, layout_.inversionBits(), color_.blocks, t.constants, constantBytes,
                             true);
    const bool farther =
        layout_.reachOf(windowBytes()) >> (color_.blockShift - color_.pieceShift + color_.pieceBytes) > blocks_.size();
    t.translate = [=, c = color_, inPiece = layout_.staysInPiece()](const auto& r) {
        // w0: the unit; w1: its turn.
        std::string text =
            fmt::format("shf.r.clamp.b32 %bulkhead_w0, {}, {}, {}; and.b32 %bulkhead_w0, %bulkhead_w0, {}; ", r.low,
                        r.high, c.unitShift, c.unitMask);
        text += c.turnUnits > 1 ? fmt::format("mul.hi.u32 %bulkhead_w1, %bulkhead_w0, {}; ", c.magic)
                                : "mov.b32 %bulkhead_w1, %bulkhead_w0; ";
        if (c.magicShift > 32) text += fmt::format("shr.u32 %bulkhead_w1, %bulkhead_w1, {}; ", c.magicShift - 32);
        // w0: its place; w3: what is inverted.
        if (c.list == nullptr) {
            text +=
                fmt::format("mad.lo.u32 %bulkhead_w0, %bulkhead_w1, {}, %bulkhead_w0; ", c.turnPlaces - c.turnUnits);
        } else {
            text += fmt::format("mad.lo.s32 %bulkhead_w0, %bulkhead_w1, -{}, %bulkhead_w0; ", c.turnUnits) +
                    entryAt("%bulkhead_w2", "%bulkhead_w0", c.chunkShift, ~0u, 2 * kWord) +
                    fmt::format(
                        "and.b32 %bulkhead_w0, %bulkhead_w0, {}; mad.lo.u32 %bulkhead_w0, %bulkhead_w1, {}, "
                        "%bulkhead_w0; {}add.u32 %bulkhead_w0, %bulkhead_w0, %bulkhead_w2; ",
                        (1u << c.chunkShift) - 1, c.turnPlaces,
                        list.loadPair("{%bulkhead_w2, %bulkhead_w3}", "%bulkhead_w2"));
        }
        if (farther) {
            text += fmt::format("shr.u32 %bulkhead_w1, %bulkhead_w0, {}; min.u32 %bulkhead_w1, %bulkhead_w1, {}; ",
                                c.blockShift, c.lastBlock);
            text += entryAt("%bulkhead_w1", "%bulkhead_w1", 0, ~0u, blocks.each());
        } else {
            text += entryAt("%bulkhead_w1", "%bulkhead_w0", c.blockShift, ~0u, blocks.each());
        }
        text += blocks.load(c.list == nullptr ? "%bulkhead_w3" : "%bulkhead_w2", "%bulkhead_w1");
        if (c.list != nullptr) text += "xor.b32 %bulkhead_w3, %bulkhead_w3, %bulkhead_w2; ";
        for (unsigned part = 0; part < c.parts; ++part)
            text += entryAt("%bulkhead_w1", "%bulkhead_w0", c.part[part].shift, (1u << c.part[part].bits) - 1,
                            parts[part].each()) +
                    parts[part].load("%bulkhead_w2", "%bulkhead_w1") +
                    "xor.b32 %bulkhead_w3, %bulkhead_w3, %bulkhead_w2; ";
        text += fmt::format(
            "shr.u32 %bulkhead_w0, %bulkhead_w0, {}; mov.u64 %bulkhead_t, {}; "
            "mad.wide.u32 %bulkhead_v, %bulkhead_w0, {}, %bulkhead_t; mov.b64 {{%bulkhead_w1, %bulkhead_w2}}, "
            "%bulkhead_v; ",
            c.pieceShift, c.base, 1u << c.pieceBytes);
        text += inPiece ? fmt::format("mad.lo.u32 %bulkhead_w1, %bulkhead_w3, {}, %bulkhead_w1; ", 1u << c.withinShift)
                        : fmt::format(
                              "shl.b32 %bulkhead_w3, %bulkhead_w3, {}; xor.b32 %bulkhead_w1, %bulkhead_w1, "
                              "%bulkhead_w3; ",
                              c.withinShift);
        return text +
               fmt::format("and.b32 %bulkhead_w3, {}, {}; or.b32 %bulkhead_w1, %bulkhead_w1, %bulkhead_w3; ", r.low,
                           c.ownBytes) +
               r.moved("%bulkhead_w1", "%bulkhead_w2", "%bulkhead_v");
    };
    return t;
}

}  // namespace bulkhead::walls
