#include "walls/slice_layout.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "base/error.h"
#include "walls/page_pool.h"

namespace bulkhead::walls {
namespace {

using dissect::Mask;
using dissect::PageLabel;
using dissect::ResidueHash;

constexpr Mask kInPage = PagePool::kPageBytes - 1;
constexpr unsigned kPageShift = std::countr_zero(PagePool::kPageBytes);

/// Whether the slice in its group is an index modulo a number, of which the parities are the bits.
bool isIndex(const ResidueHash& hash) {
    std::uint32_t weight = 1 % hash.modulus;
    for (const dissect::WeightedParity& p : hash.parities) {
        if (!hash.table.empty() || p.weight != weight) return false;
        weight = 2 * weight % hash.modulus;
    }
    return hash.table.empty();
}

/// The sum of those vectors that the bits choose.
Mask sumOf(const std::vector<Mask>& vectors, std::uint64_t bits) {
    Mask sum = 0;
    for (; bits != 0; bits &= bits - 1) sum ^= vectors[static_cast<std::size_t>(std::countr_zero(bits))];
    return sum;
}

/// The residue from which `wanted` goes on without a gap, round and round.
std::optional<std::uint32_t> startOfRun(const std::vector<bool>& wanted) {
    std::optional<std::uint32_t> start;
    for (std::size_t r = 0; r < wanted.size(); ++r) {
        if (!wanted[r] || wanted[(r + wanted.size() - 1) % wanted.size()]) continue;
        if (start) return std::nullopt;
        start = static_cast<std::uint32_t>(r);
    }
    return start;
}

/// With so many pages of each addend, and `step` from each place to the next: the addend to begin with so that the most
/// places follow before a page is missing.
std::uint32_t bestStart(const std::vector<std::size_t>& pagesOf, std::uint64_t step) {
    const std::size_t n = pagesOf.size();
    std::size_t best = 0, longest = 0;
    for (std::size_t start = 0; start < n; ++start) {
        std::size_t run = std::numeric_limits<std::size_t>::max();
        for (std::size_t j = 0; j < n; ++j) run = std::min(run, j + n * pagesOf[(start + j * step) % n]);
        if (run > longest) std::tie(best, longest) = std::tuple(start, run);
    }
    return static_cast<std::uint32_t>(best);
}

}  // namespace

unsigned SliceLayout::unitShift(const ResidueHash& hash) {
    Mask used = 0;
    for (const Mask group : hash.groups) used |= group;
    for (const dissect::WeightedParity& p : hash.parities) used |= p.mask;
    used &= kInPage;
    if (used == 0) throw Error("the map's slices do not depend on the offset in a page: there is nothing to color");
    return static_cast<unsigned>(std::countr_zero(used));
}

unsigned SliceLayout::kinds(const ResidueHash& hash) {
    return isIndex(hash) ? hash.modulus : 1;
}

unsigned SliceLayout::kindOf(const ResidueHash& hash, const PageLabel& label) {
    return label.addend % kinds(hash);
}

SliceLayout::SliceLayout(const ResidueHash& hash, const std::vector<PageLabel>& pages,
                         const std::vector<unsigned>& slices)
    : hash_(hash), unitShift_(unitShift(hash)) {
    if (pages.empty()) throw Error("no memory of these slices: take more");
    findPatterns(hash);
    makeOffsets({{}});
    std::vector<std::size_t> pagesOf(kinds(hash), 0);
    for (const PageLabel& page : pages) ++pagesOf[kindOf(hash, page)];
    const std::uint32_t start = bestStart(pagesOf, std::uint64_t{1} << indexBits_);
    serve(slices, hash, start);
    placePages(pages, start);
}

SliceLayout::SliceLayout(const ResidueHash& hash, const std::vector<PageLabel>& inBlock,
                         const std::vector<unsigned>& slices, Bytes mostBytes)
    : hash_(hash),
      unitShift_(unitShift(hash)),
      blockShift_(static_cast<unsigned>(std::countr_zero(inBlock.size()))),
      mostBlocks_(mostBytes / (inBlock.size() * PagePool::kPageBytes)) {
    if (!std::has_single_bit(inBlock.size())) throw Error("blocks of {} pages", inBlock.size());
    findPatterns(hash);
    makeOffsets(inBlock);
    serve(slices, hash, 0);
}

unsigned SliceLayout::kindAt(std::size_t place) const {
    return static_cast<unsigned>((firstAddend_ + (place << (blockShift_ + indexBits_))) % kinds(hash_));
}

void SliceLayout::append(const PageLabel& label) {
    if (kindOf(hash_, label) != kindAt(places_.size()) || places_.size() == mostBlocks_)
        throw Error("a block of kind {} has no place in a row", kindOf(hash_, label));
    places_.emplace_back((places_.size() * PagePool::kPageBytes << blockShift_) ^ inverted(label));
}

Bytes SliceLayout::poolBytesFor(Bytes more) const {
    const Bytes end = std::min(bytesBefore(blocks()) + more, mostBytes());
    std::size_t block = blocks();
    while (bytesBefore(block) < end) ++block;
    return (block - blocks()) * PagePool::kPageBytes << blockShift_;
}

void SliceLayout::findPatterns(const ResidueHash& hash) {
    if (hash.table.empty() && !isIndex(hash))
        throw Error("the map's slices are not an index modulo {}: memory walls are not possible", hash.modulus);
    std::vector<Mask> functions;
    dissect::Subspace known;
    const auto add = [&](Mask mask) {
        if (!known.add(mask & kInPage)) return false;
        functions.push_back(mask & kInPage);
        return true;
    };
    for (const dissect::WeightedParity& p : hash.parities)
        if (!add(p.mask))
            throw Error("parities of the map's slices depend on each other: memory walls are not possible");
    indexBits_ = static_cast<unsigned>(functions.size());
    for (std::size_t g = 0; g < hash.groups.size(); ++g) {
        if (add(hash.groups[g])) {
            kinds_.push_back(g);
        } else if (isIndex(hash)) {
            throw Error("parities of the map's slices depend on each other: memory walls are not possible");
        }
    }
    const Mask bits = dissect::bitRange(unitShift_, kPageShift);
    ofParity_ = dissect::dualFunctions(functions, {}, bits);
    ofUnit_ = known.orthogonal(bits).basis();
    chunkBits_ = static_cast<unsigned>(ofUnit_.size());
}

void SliceLayout::makeOffsets(const std::vector<PageLabel>& inBlock) {
    std::vector<Mask> ofBit = ofUnit_;
    ofBit.insert(ofBit.end(), ofParity_.begin(), ofParity_.begin() + indexBits_);
    const auto ofPage = [&](std::size_t page) { return page * PagePool::kPageBytes ^ inverted(inBlock[page]); };
    for (std::size_t page = 1; page < inBlock.size(); page *= 2) ofBit.push_back(ofPage(page));
    for (std::size_t page = 0; page < inBlock.size(); ++page)
        if (inBlock[page].addend % kinds(hash_) != (page << indexBits_) % kinds(hash_) ||
            sumOf(ofBit, page << (chunkBits_ + indexBits_)) != ofPage(page))
            throw Error("pages of a block do not follow each other");
    partShift_ = (static_cast<unsigned>(ofBit.size()) + SliceColor::kParts - 1) / SliceColor::kParts;
    ofBit.resize(std::size_t{partShift_} * SliceColor::kParts, 0);
    for (unsigned part = 0; part < SliceColor::kParts; ++part)
        for (std::uint64_t i = 0; i < std::uint64_t{1} << partShift_; ++i)
            offsets_.push_back(static_cast<std::uint32_t>(sumOf(ofBit, i << (part * partShift_))));
}

void SliceLayout::serve(const std::vector<unsigned>& slices, const ResidueHash& hash, std::uint32_t start) {
    if (slices.empty()) throw Error("no memory of these slices: take more");
    const auto kindOffset = [&](std::uint64_t kind) {
        return static_cast<std::uint32_t>(sumOf(ofParity_, kind << indexBits_));
    };
    std::vector<bool> wanted(hash.slices(), false);
    for (const unsigned slice : slices) wanted.at(slice) = true;
    if (isIndex(hash)) {
        period_ = hash.modulus;
        // Slices of one group that follow each other can be the first ones of a turn.
        const std::ptrdiff_t first = slices.front() / period_ * period_;
        const auto begin = wanted.begin() + first, end = begin + period_;
        const bool oneGroup = std::count(begin, end, true) == std::count(wanted.begin(), wanted.end(), true);
        const auto run = oneGroup ? startOfRun(std::vector<bool>(begin, end)) : std::nullopt;
        firstAddend_ = run.value_or(start);
        for (unsigned slice = 0; slice < wanted.size(); ++slice)
            if (wanted[slice])
                served_.push_back({(slice + period_ - firstAddend_) % period_, kindOffset(slice / period_), slice});
    } else {
        period_ = std::uint32_t{1} << indexBits_;
        for (std::uint32_t pattern = 0; pattern >> ofParity_.size() == 0; ++pattern) {
            const Bytes offset = sumOf(ofParity_, pattern);
            const unsigned slice = hash.residue(offset, {}) + hash.modulus * hash.group(offset, {});
            if (wanted[slice]) served_.push_back({pattern % period_, kindOffset(pattern / period_), slice});
        }
    }
    if (served_.empty()) throw Error("no memory of these slices: take more");
    std::sort(served_.begin(), served_.end(),
              [](const Served& a, const Served& b) { return std::tie(a.index, a.kind) < std::tie(b.index, b.kind); });
    bool first = true;
    for (std::size_t i = 0; i < served_.size(); ++i)
        first = first && served_[i].index == i && served_[i].kind == served_[0].kind;
    if (first) return;
    for (const Served& s : served_) list_.push_back({s.index << chunkBits_, s.kind});
}

/// Where in a page the parities are odd that its label inverts.
Bytes SliceLayout::inverted(const PageLabel& label) const {
    std::uint64_t pattern = label.flips;
    for (std::size_t i = 0; i < kinds_.size(); ++i)
        pattern |= std::uint64_t{label.groupFlips >> kinds_[i] & 1} << (indexBits_ + i);
    const Bytes offset = sumOf(ofParity_, pattern);
    if (hash_.patternOf(offset) != label.flips || hash_.group(offset, {}) != label.groupFlips)
        throw Error("a page's slices contradict the map: it was made by another GPU or another driver");
    return offset;
}

void SliceLayout::placePages(const std::vector<PageLabel>& pages, std::uint32_t start) {
    std::vector<std::vector<std::size_t>> pagesOf(kinds(hash_));
    for (std::size_t page = pages.size(); page-- > 0;) pagesOf[kindOf(hash_, pages[page])].push_back(page);
    while (kindAt(places_.size()) != start % kinds(hash_)) places_.emplace_back();
    for (std::size_t placed = 0; placed < pages.size();) {
        std::vector<std::size_t>& left = pagesOf[kindAt(places_.size())];
        places_.emplace_back();
        if (left.empty()) continue;
        places_.back() = left.back() * PagePool::kPageBytes + inverted(pages[left.back()]);
        left.pop_back();
        ++placed;
    }
    mostBlocks_ = places_.size();
    for (std::size_t place = 0; place < places_.size(); ++place) {
        if (!places_[place]) continue;
        const Bytes begin = bytesBefore(place), end = bytesBefore(place + 1);
        if (!pieces_.empty() && pieces_.back().offset + pieces_.back().bytes == begin) {
            pieces_.back().bytes += end - begin;
        } else if (end > begin) {
            pieces_.push_back({begin, end - begin});
        }
    }
}

/// Of the row, before a place.
std::uint64_t SliceLayout::chunksBefore(std::uint64_t place) const {
    const std::uint64_t index = place << (blockShift_ + indexBits_);
    const auto inTurn = std::partition_point(served_.begin(), served_.end(),
                                             [&](const Served& s) { return s.index < index % period_; });
    return index / period_ * served_.size() + static_cast<std::uint64_t>(inTurn - served_.begin());
}

SliceColor SliceLayout::color(Bytes rowBytes) const {
    SliceColor color;
    color.unitShift = unitShift_;
    color.chunkShift = chunkBits_;
    color.blockShift = blockShift_ + indexBits_ + chunkBits_;
    color.partShift = partShift_;
    if (list_.empty()) color.kind = served_.front().kind;
    color.served = static_cast<unsigned>(served_.size());
    color.turnUnits = period_ << chunkBits_;
    color.lastBlock = static_cast<unsigned>(mostBlocks_);
    const std::uint64_t chunks = rowBytes >> chunkShift(), turns = chunks / color.served + 1;
    // Device code counts places in bytes of a table of words.
    if (chunks >> 31 != 0 || turns * color.turnUnits >> 30 != 0)
        throw Error("memory walls of {} bytes by slices", rowBytes);
    // A reciprocal that is too large by so little that no quotient changes.
    for (color.magicShift = color.served == 1 ? 31 : 32;; ++color.magicShift) {
        const std::uint64_t one = std::uint64_t{1} << color.magicShift, magic = (one + color.served - 1) / color.served;
        color.magic = static_cast<unsigned>(magic);
        if ((magic * color.served - one) * chunks < one) return color;
    }
}

std::vector<SpanSize> SliceLayout::addresses(SpanSize pool, SpanSize nowhere) const {
    std::vector<SpanSize> addresses;
    for (const std::optional<Bytes>& place : places_) addresses.push_back(place ? pool + *place : nowhere);
    addresses.resize(mostBlocks_ + 1, nowhere);
    return addresses;
}

}  // namespace bulkhead::walls
