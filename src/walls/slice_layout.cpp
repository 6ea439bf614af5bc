#include "walls/slice_layout.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "base/error.h"
#include "walls/color_space.h"
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

/// The same space, each vector with a lowest bit that no other has, in the order of these.
std::vector<Mask> byLowestBits(std::vector<Mask> vectors) {
    const auto lowest = [](Mask v) { return v & (~v + 1); };
    for (std::size_t i = 0; i < vectors.size(); ++i) {
        std::sort(vectors.begin() + static_cast<std::ptrdiff_t>(i), vectors.end(),
                  [&](Mask a, Mask b) { return lowest(a) < lowest(b); });
        for (std::size_t other = 0; other < vectors.size(); ++other)
            if (other != i && (vectors[other] & lowest(vectors[i])) != 0) vectors[other] ^= vectors[i];
    }
    return vectors;
}

/// Whether bits of a place from `pieceShift` on stand for a bit each, from 2^pieceBytes on, and for none but those
/// below that besides.
bool makesPieces(const std::vector<Mask>& ofBit, unsigned pieceShift, unsigned pieceBytes) {
    for (std::size_t bit = 0; bit < ofBit.size(); ++bit) {
        const Mask own = bit < pieceShift ? 0 : Mask{1} << (pieceBytes + bit - pieceShift);
        if ((ofBit[bit] ^ own) >> pieceBytes != 0) return false;
    }
    return true;
}

/// Bits from..to in as few parts as a table of 256 entries each allows.
std::vector<SliceColor::Part> partsOf(unsigned from, unsigned to) {
    constexpr unsigned kMost = 8;
    std::vector<SliceColor::Part> parts;
    for (unsigned count = (to - from + kMost - 1) / kMost; count > 0; --count) {
        const unsigned bits = (to - from + count - 1) / count;
        parts.push_back({from, bits});
        from += bits;
    }
    return parts;
}

}  // namespace

PageLabel invertedByEither(const PageLabel& a, const PageLabel& b) {
    return {a.groupFlips | b.groupFlips, a.flips | b.flips, 0};
}

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
    PageLabel any;
    for (const PageLabel& page : pages) any = invertedByEither(any, page);
    makeOffsets({{}}, any);
    std::vector<std::size_t> pagesOf(kinds(hash), 0);
    for (const PageLabel& page : pages) ++pagesOf[kindOf(hash, page)];
    const std::uint32_t start = bestStart(pagesOf, std::uint64_t{1} << indexBits_);
    serve(slices, hash, start);
    placePages(pages, start);
}

SliceLayout::SliceLayout(const ResidueHash& hash, const std::vector<PageLabel>& inBlock, const PageLabel& any,
                         const std::vector<unsigned>& slices, Bytes mostBytes)
    : hash_(hash),
      unitShift_(unitShift(hash)),
      blockShift_(static_cast<unsigned>(std::countr_zero(inBlock.size()))),
      mostBlocks_(mostBytes / (inBlock.size() * PagePool::kPageBytes)) {
    if (!std::has_single_bit(inBlock.size())) throw Error("blocks of {} pages", inBlock.size());
    findPatterns(hash);
    makeOffsets(inBlock, any);
    serve(slices, hash, 0);
}

unsigned SliceLayout::kindAt(std::size_t place) const {
    return static_cast<unsigned>((firstAddend_ + (place << (blockShift_ + indexBits_))) % kinds(hash_));
}

void SliceLayout::append(const PageLabel& label) {
    if (kindOf(hash_, label) != kindAt(places_.size()) || places_.size() == mostBlocks_)
        throw Error("a block of kind {} has no place in a row", kindOf(hash_, label));
    put(label, places_.size());
}

void SliceLayout::put(const PageLabel& label, std::size_t block) {
    const auto inversion = static_cast<std::uint32_t>(inverted(label) >> withinShift_);
    if ((inversion & ~inversionBits_) != 0) throw Error("a block that inverts more than any was known to");
    places_.emplace_back(block);
    inversions_.push_back(inversion);
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
    ofUnit_ = byLowestBits(known.orthogonal(bits).basis());
    chunkBits_ = static_cast<unsigned>(ofUnit_.size());
    // Parities need not touch what tells the units of a chunk apart.
    for (Mask& offset : ofParity_)
        for (const Mask unit : ofUnit_)
            if ((offset & unit & (~unit + 1)) != 0) offset ^= unit;
}

void SliceLayout::makeOffsets(const std::vector<PageLabel>& inBlock, const PageLabel& any) {
    std::vector<Mask> ofBit = ofUnit_;
    ofBit.insert(ofBit.end(), ofParity_.begin(), ofParity_.begin() + indexBits_);
    const auto ofPage = [&](std::size_t page) { return page * PagePool::kPageBytes ^ inverted(inBlock[page]); };
    for (std::size_t page = 1; page < inBlock.size(); page *= 2) ofBit.push_back(ofPage(page));
    for (std::size_t page = 0; page < inBlock.size(); ++page)
        if (inBlock[page].addend % kinds(hash_) != (page << indexBits_) % kinds(hash_) ||
            sumOf(ofBit, page << (chunkBits_ + indexBits_)) != ofPage(page))
            throw Error("pages of a block do not follow each other");
    ownBits_ = unitShift_;
    for (std::size_t bit = 0; bit < ofUnit_.size() && (ofBit[bit] >> ownBits_ & 1) != 0; ++bit)
        ofBit[bit] ^= Mask{1} << ownBits_++;
    makeParts(std::move(ofBit));
    for (std::uint64_t pattern = patternOf(any); pattern != 0; pattern &= pattern - 1)
        inversionBits_ |= static_cast<std::uint32_t>(ofParity_[std::countr_zero(pattern)] >> withinShift_);
}

/// Tables for what bits of a place stand for.
void SliceLayout::makeParts(std::vector<Mask> ofBit) {
    const auto bits = static_cast<unsigned>(ofBit.size()), spread = unitShift_ + kindBits();
    const auto entries = [](const std::vector<SliceColor::Part>& parts) {
        std::size_t sum = 0;
        for (const SliceColor::Part& part : parts) sum += std::size_t{1} << part.bits;
        return std::pair(parts.size(), sum);
    };
    for (unsigned shift = 0; shift <= bits; ++shift) {
        if (!makesPieces(ofBit, shift, shift + spread)) continue;
        std::vector<SliceColor::Part> parts = partsOf(0, shift);
        const auto upper = partsOf(shift, bits);
        parts.insert(parts.end(), upper.begin(), upper.end());
        if (!parts_.empty() && entries(parts) >= entries(parts_)) continue;
        parts_ = parts;
        pieceShift_ = shift;
    }
    if (parts_.empty()) parts_.push_back({0, 0});
    for (unsigned bit = pieceShift_; bit < bits; ++bit) ofBit[bit] ^= Mask{1} << (bit + spread);
    Mask used = 0;
    for (const Mask offset : ofBit) used |= offset;
    for (const Mask offset : ofParity_) used |= offset;
    withinShift_ = used == 0 ? 0 : static_cast<unsigned>(std::countr_zero(used));
    for (const SliceColor::Part& part : parts_)
        for (std::uint64_t i = 0; i < std::uint64_t{1} << part.bits; ++i)
            offsets_.push_back(static_cast<std::uint32_t>(sumOf(ofBit, i << part.shift) >> withinShift_));
}

void SliceLayout::serve(const std::vector<unsigned>& slices, const ResidueHash& hash, std::uint32_t start) {
    if (slices.empty()) throw Error("no memory of these slices: take more");
    const auto kindOffset = [&](std::uint64_t kind) {
        return static_cast<std::uint32_t>(sumOf(ofParity_, kind << indexBits_) >> withinShift_);
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
    if (!first) {
        for (const Served& s : served_) list_.push_back({s.index << chunkBits_, s.kind});
    } else {
        for (std::size_t i = 0; i < std::size_t{1} << parts_.front().bits; ++i) offsets_[i] ^= served_.front().kind;
    }
}

std::uint64_t SliceLayout::patternOf(const PageLabel& label) const {
    std::uint64_t pattern = label.flips & ((std::uint64_t{1} << indexBits_) - 1);
    for (std::size_t i = 0; i < kinds_.size(); ++i)
        pattern |= std::uint64_t{label.groupFlips >> kinds_[i] & 1} << (indexBits_ + i);
    return pattern;
}

/// Where in a page the parities are odd that its label inverts.
Bytes SliceLayout::inverted(const PageLabel& label) const {
    const Bytes offset = sumOf(ofParity_, patternOf(label));
    if (hash_.patternOf(offset) != label.flips || hash_.group(offset, {}) != label.groupFlips)
        throw Error("a page's slices contradict the map: it was made by another GPU or another driver");
    return offset;
}

void SliceLayout::placePages(const std::vector<PageLabel>& pages, std::uint32_t start) {
    std::vector<std::vector<std::size_t>> pagesOf(kinds(hash_));
    for (std::size_t page = pages.size(); page-- > 0;) pagesOf[kindOf(hash_, pages[page])].push_back(page);
    const auto leaveEmpty = [&] {
        places_.emplace_back();
        inversions_.push_back(0);
    };
    while (kindAt(places_.size()) != start % kinds(hash_)) leaveEmpty();
    for (std::size_t placed = 0; placed < pages.size();) {
        std::vector<std::size_t>& left = pagesOf[kindAt(places_.size())];
        if (left.empty()) {
            leaveEmpty();
            continue;
        }
        put(pages[left.back()], left.back());
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

SliceColor SliceLayout::color(Bytes windowBytes) const {
    SliceColor color;
    color.unitShift = unitShift_;
    color.ownBytes = (1u << ownBits_) - 1;
    color.chunkShift = chunkBits_;
    color.blockShift = blockShift_ + indexBits_ + chunkBits_;
    color.pieceShift = pieceShift_;
    color.pieceBytes = pieceShift_ + unitShift_ + kindBits();
    color.withinShift = withinShift_;
    color.parts = static_cast<unsigned>(parts_.size());
    if (parts_.size() > SliceColor::kParts) throw Error("units of {} bytes by slices", 1u << unitShift_);
    std::copy(parts_.begin(), parts_.end(), color.part);
    color.turnUnits = static_cast<unsigned>(served_.size()) << chunkBits_;
    color.turnPlaces = period_ << chunkBits_;
    const std::uint64_t units = windowBytes >> unitShift_, turns = units / color.turnUnits + 1;
    color.unitMask = static_cast<unsigned>(units - 1);
    color.lastBlock = static_cast<unsigned>(tableBlocks(windowBytes) - 1);
    if (!std::has_single_bit(units) || units >> 32 != 0 || turns * color.turnPlaces >> 32 != 0)
        throw Error("memory walls of {} bytes by slices", windowBytes);
    // A reciprocal that is too large by so little that no quotient changes.
    for (color.magicShift = color.turnUnits == 1 ? 31 : 32;; ++color.magicShift) {
        const std::uint64_t one = std::uint64_t{1} << color.magicShift;
        const std::uint64_t magic = (one + color.turnUnits - 1) / color.turnUnits;
        color.magic = static_cast<unsigned>(magic);
        if (magic >> 32 != 0) throw Error("memory walls of {} bytes by slices", windowBytes);
        if ((magic * color.turnUnits - one) * units < one) return color;
    }
}

Bytes SliceLayout::reachOf(Bytes windowBytes) const {
    const std::uint64_t turns = (windowBytes >> unitShift_) / (served_.size() << chunkBits_) + 1;
    const unsigned inBlock = blockShift_ + indexBits_ + chunkBits_;
    const std::uint64_t blocks = (turns * (std::uint64_t{period_} << chunkBits_) >> inBlock) + 1;
    return blocks * PagePool::kPageBytes << blockShift_;
}

Bytes SliceLayout::reachOfAny(const ResidueHash& hash, Bytes blockBytes, Bytes poolBytes) {
    Bytes most = 0;
    for (Bytes slices = 1; slices <= hash.slices(); ++slices) {
        const Bytes window = ColorSpace::windowOf(poolBytes / hash.slices() * slices + blockBytes);
        most = std::max(most, window / slices * hash.slices() + 2 * blockBytes);
    }
    return most;
}

/// That the table of what they invert has entries for. Where a window leads much further, offsets behind the row's end
/// share the last one: nothing is there.
std::size_t SliceLayout::tableBlocks(Bytes windowBytes) const {
    constexpr std::size_t kMost = 16384;
    const std::size_t all = reachOf(windowBytes) / (PagePool::kPageBytes << blockShift_);
    return all <= kMost ? all : mostBlocks_ + 1;
}

std::vector<std::uint32_t> SliceLayout::inversions(Bytes windowBytes) const {
    std::vector<std::uint32_t> all = inversions_;
    all.resize(tableBlocks(windowBytes), 0);
    return all;
}

bool SliceLayout::staysInPiece() const {
    std::uint64_t bits = inversionBits_;
    for (const std::uint32_t offset : offsets_) bits |= offset;
    for (const SliceColor::Chunk& chunk : list_) bits |= chunk.within;
    return bits << withinShift_ >> (pieceShift_ + unitShift_ + kindBits()) == 0;
}

}  // namespace bulkhead::walls
