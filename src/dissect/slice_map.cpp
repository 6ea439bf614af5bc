#include "dissect/slice_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.h"

namespace bulkhead::dissect {
namespace {

constexpr unsigned kFirstWindow = 18;  // 512 KB are enough for blocks of up to 128 KB
constexpr std::size_t kPageSamples = 6;
constexpr std::size_t kBatch = 256;  // offsets labelled before guesses are made anew

/// Guesses slices from those of addresses that differ in one bit: a difference sends a slice to few others, and which
/// is learnt from the labels so far.
class Guesses {
  public:
    Guesses(const std::vector<Labelled>& labels, Mask bits) : bits_(bits) {
        for (const Labelled& l : labels) sliceAt_[l.address] = l.slice;
        for (const Labelled& l : labels)
            for (Mask rest = bits; rest != 0; rest &= rest - 1) {
                const Mask bit = rest & (~rest + 1);
                const auto other = sliceAt_.find(l.address ^ bit);
                if (other != sliceAt_.end()) ++seen_[{bit, other->second}][l.slice];
            }
    }

    /// The likeliest slices first.
    std::vector<std::uint32_t> of(std::uint64_t offset) const {
        std::map<std::uint32_t, double> votes;
        for (Mask rest = bits_; rest != 0; rest &= rest - 1) {
            const Mask bit = rest & (~rest + 1);
            const auto other = sliceAt_.find(offset ^ bit);
            if (other == sliceAt_.end()) continue;
            const auto targets = seen_.find({bit, other->second});
            if (targets == seen_.end()) continue;
            double all = 0;
            for (const auto& [slice, count] : targets->second) all += count;
            for (const auto& [slice, count] : targets->second) votes[slice] += count / all;
        }
        std::vector<std::pair<double, std::uint32_t>> ranked;
        for (const auto& [slice, vote] : votes) ranked.emplace_back(-vote, slice);
        std::sort(ranked.begin(), ranked.end());
        std::vector<std::uint32_t> list;
        for (std::size_t i = 0; i < std::min<std::size_t>(8, ranked.size()); ++i) list.push_back(ranked[i].second);
        return list;
    }

  private:
    Mask bits_;
    std::unordered_map<std::uint64_t, std::uint32_t> sliceAt_;
    std::map<std::pair<Mask, std::uint32_t>, std::map<std::uint32_t, int>> seen_;  ///< [bit, from][to]
};

}  // namespace

SliceMapOptions SliceMapOptions::forGpu(gpu::Gpu& gpu) {
    SliceMapOptions options;
    if (gpu.simulator() == nullptr) return options;
    options.sides = {3, 24};
    // A slice takes a reduction a cycle, and so does the port of a multiprocessor if one lane makes it.
    const auto members = std::min<std::uint32_t>(12, static_cast<std::uint32_t>(gpu.info().multiprocessors));
    options.contention = {members, 128, std::max<std::uint32_t>(8, 96 / members), 1};
    options.heldOut = 200;
    return options;
}

SliceMapper::SliceMapper(Probe& probe, const MemoryView& memory, const SliceMapOptions& options, Listener& listener)
    : probe_(probe), memory_(memory), options_(options), listener_(listener), random_(options.seed) {
    base_ = (memory.base() + kPageBytes - 1) / kPageBytes * kPageBytes;
    home_ = pageAddress(0);
}

std::optional<std::uint64_t> SliceMapper::reach(std::uint64_t address) const {
    return physical() ? memory_.reach(address) : std::optional(base_ + address);
}

std::uint64_t SliceMapper::pageAddress(std::size_t page) const {
    const std::uint64_t offset = page * kPageBytes;
    return physical() ? memory_.physical(base_ + offset) / kPageBytes * kPageBytes : offset;
}

std::optional<Target> SliceMapper::target(std::uint64_t page, std::uint64_t offset, bool flipsSide) const {
    const auto at = reach(page | offset);
    if (!at) return std::nullopt;
    const bool odd = parity(offset & sideMask_.mask) != flipsSide;
    return Target{*at, static_cast<std::uint8_t>(sides_ && odd ? 1 : 0)};
}

bool SliceMapper::findSideMask() {
    listener_.step("which L2 side each multiprocessor and each address is on");
    const auto at = reach(home_);
    if (!at) throw Error("the first page of the allocation cannot be reached");
    sides_ = findSides(probe_, *at, 4096, options_.sides);
    if (!sides_) {
        listener_.found({"L2 sides", std::int64_t{1}, "", 1, "atomics take the same time to all addresses"});
        return true;
    }
    listener_.found({"L2 sides", std::int64_t{2}, "", sides_->leastCorrelation,
                     fmt::format("atomics take {:.0f} or {:.0f} cycles; {} and {} multiprocessors", sides_->nearCycles,
                                 sides_->farCycles, sides_->count(0), sides_->count(1))});
    const auto count = static_cast<std::uint32_t>(kPageBytes >> options_.lineShift);
    const std::vector<std::uint8_t> side =
        sidesOf(probe_, *sides_, *at, Bytes{1} << options_.lineShift, count, options_.sides.repeats);
    std::vector<Labelled> labels;
    for (std::uint64_t i = 0; i < count; ++i) labels.push_back({i << options_.lineShift, side[i]});
    const auto fit = fitSide(labels, bitRange(options_.lineShift, kPageShift));
    if (!fit) {
        listener_.found({"side mask", {}, "", 0, "no parity of offset bits gives the sides of a page"});
        return false;
    }
    sideMask_ = *fit;
    listener_.found({"side mask", fmt::format("{:#x}", fit->mask), "", fit->agreement,
                     fmt::format("agrees with {:.2f} % of {} lines of a page", 100 * fit->agreement, count)});
    return true;
}

bool SliceMapper::pageFlipsSide(std::uint64_t page) {
    if (!sides_) return false;
    constexpr std::uint32_t kChunks = 16;
    const std::uint64_t stride = kPageBytes / kChunks;
    const std::vector<std::uint8_t> side =
        sidesOf(probe_, *sides_, *reach(page), stride, kChunks, options_.sides.repeats);
    unsigned odd = 0;
    for (std::uint32_t i = 0; i < kChunks; ++i) odd += side[i] != (parity(i * stride & sideMask_.mask) ? 1 : 0) ? 1 : 0;
    return 2 * odd > kChunks;
}

bool SliceMapper::calibrate() {
    labeller_ = std::make_unique<SliceLabeller>(probe_, sides_ ? &*sides_ : nullptr, options_.contention);
    std::vector<Target> targets;
    for (int i = 0; i < 400; ++i) {
        const std::uint64_t offset = random_.below(kPageBytes >> options_.lineShift) << options_.lineShift;
        if (const auto t = target(home_, offset, sideMask_.inverted)) targets.push_back(*t);
    }
    std::string evidence;
    const bool clear = !targets.empty() && labeller_->calibrate(targets, options_.seed, evidence);
    listener_.found({"contention in a slice",
                     clear ? Value(labeller_->sameCycles() / labeller_->differentCycles()) : Value(), "x",
                     clear ? 1.0 : 0.0, evidence});
    return clear;
}

/// Single offset bits that never change the slice.
Mask SliceMapper::unusedBits() {
    constexpr int kPairs = 12;
    Mask unused = 0;
    for (unsigned b = options_.lineShift; b < kPageShift; ++b) {
        const Mask bit = Mask{1} << b;
        if ((sideMask_.mask & bit) != 0) continue;
        std::vector<std::pair<Target, Target>> pairs;
        for (int i = 0; i < kPairs; ++i) {
            const std::uint64_t offset = random_.below(kPageBytes >> options_.lineShift) << options_.lineShift;
            const auto a = target(home_, offset, sideMask_.inverted),
                       c = target(home_, offset ^ bit, sideMask_.inverted);
            if (a && c) pairs.emplace_back(*a, *c);
        }
        const std::vector<bool> same = labeller_->sameSlice(pairs);
        if (10 * std::count(same.begin(), same.end(), true) > 8 * static_cast<long>(pairs.size())) unused |= bit;
    }
    return unused;
}

std::vector<Labelled> SliceMapper::labelOffsets(std::uint64_t page, const std::vector<std::uint64_t>& offsets,
                                                bool flipsSide,
                                                const std::vector<std::vector<std::uint32_t>>& guesses) {
    std::vector<Target> targets;
    std::vector<std::uint64_t> known;
    std::vector<std::vector<std::uint32_t>> hints;
    for (std::size_t i = 0; i < offsets.size(); ++i)
        if (const auto t = target(page, offsets[i], flipsSide)) {
            targets.push_back(*t);
            known.push_back(offsets[i]);
            hints.push_back(i < guesses.size() ? guesses[i] : std::vector<std::uint32_t>());
        }
    const std::vector<std::uint32_t> slices = labeller_->label(targets, hints);
    std::vector<Labelled> labels;
    for (std::size_t i = 0; i < known.size(); ++i) labels.push_back({known[i], slices[i]});
    return labels;
}

void SliceMapper::labelWindow(const std::vector<std::uint64_t>& offsets, Mask bits) {
    for (std::size_t first = 0; first < offsets.size(); first += kBatch) {
        const auto from = offsets.begin() + static_cast<std::ptrdiff_t>(first);
        const std::vector<std::uint64_t> some(
            from, from + static_cast<std::ptrdiff_t>(std::min(kBatch, offsets.size() - first)));
        const Guesses guesses(labels_, bits);
        std::vector<std::vector<std::uint32_t>> hints;
        for (std::uint64_t offset : some) hints.push_back(guesses.of(offset));
        const std::vector<Labelled> more = labelOffsets(home_, some, sideMask_.inverted, hints);
        labels_.insert(labels_.end(), more.begin(), more.end());
        listener_.progress(static_cast<double>(first + some.size()) / static_cast<double>(offsets.size()));
    }
}

/// Labels all of a window, and widens it until a form fits.
bool SliceMapper::fitWindow(Mask unused) {
    std::string why;
    for (unsigned top = kFirstWindow; top <= kPageShift; ++top) {
        const Mask bits = bitRange(options_.lineShift, top) & ~unused;
        std::vector<std::uint64_t> offsets;
        const Mask fresh = top == kFirstWindow ? 0 : Mask{1} << (top - 1);
        // All sums of the window's bits; those below its new bit are labelled already.
        for (Mask sum = bits;; sum = (sum - 1) & bits) {
            if (fresh == 0 || (sum & fresh) != 0) offsets.push_back(sum);
            if (sum == 0) break;
        }
        if ((fresh & unused) != 0) continue;
        labelWindow(offsets, bits);
        if (const auto fit = fitResidueHash(labels_, bits, sideMask_.mask & bits, why)) {
            hash_ = *fit;
            return true;
        }
    }
    listener_.found({"form of the slice hash", {}, "", 0, why});
    return false;
}

std::optional<PageLabel> SliceMapper::labelPage(std::uint64_t page, Mask offsetBits) {
    const bool flips = pageFlipsSide(page & ~(kPageBytes - 1)) != parity(page & (kPageBytes - 1) & sideMask_.mask);
    std::vector<Labelled> known;
    for (int round = 0; round < 4; ++round) {
        std::vector<std::uint64_t> offsets;
        for (std::size_t i = 0; i < kPageSamples; ++i) offsets.push_back(random_.next() & offsetBits);
        for (Labelled& l : labelOffsets(page, offsets, flips))
            if (l.slice < hash_.groupOf.size()) known.push_back(l);
        if (const auto label = fitPage(hash_, known)) return label;
    }
    return std::nullopt;
}

/// Beyond the window: the offset's upper bits, and the page's, where its address is known.
bool SliceMapper::extend() {
    const unsigned from = static_cast<unsigned>(std::bit_width(hash_.window));
    const unsigned to = physical() ? memory_.addressBits() : kPageShift;
    const Mask window = hash_.window;
    std::vector<KnownPage> pages = {{home_, hash_.page}};
    for (unsigned b = from; b < to; ++b) {
        const Mask bit = Mask{1} << b;
        if (!reach(home_ ^ bit)) {
            listener_.found(
                {"slice hash", {}, "", 0, fmt::format("no page differs from another in address bit {} alone", b)});
            return false;
        }
        const auto label = labelPage(home_ ^ bit, window);
        if (!label) {
            listener_.found(
                {"slice hash", {}, "", 0, fmt::format("what address bit {} does is no label of a page", b)});
            return false;
        }
        pages.push_back({home_ ^ bit, *label});
        listener_.progress(static_cast<double>(b - from) / static_cast<double>(to - from));
    }
    if (physical()) return extendToPages(hash_, pages);
    // The page's own label is left where it is: only offset bits are added here.
    for (KnownPage& page : pages) page.address -= home_;
    return extendToPages(hash_, pages);
}

bool SliceMapper::find() {
    if (!findSideMask()) return false;
    listener_.step("which addresses share a slice");
    if (!calibrate()) return false;
    if (!fitWindow(unusedBits())) return false;
    listener_.step("what the remaining address bits do");
    if (!extend()) return false;
    const auto digits = residueDigits(hash_, physical() ? std::nullopt : std::optional(kPageShift));
    if (!digits) {
        listener_.found({"form of the slice hash", {}, "", 0, "the weights are not those of an index"});
        return false;
    }
    digits_ = *digits;
    listener_.found(
        {"L2 slices", static_cast<std::int64_t>(hash_.slices()), "", hash_.agreement,
         fmt::format("{} labels, {} contention tests; an index of {} parities modulo {}, {} parities for groups",
                     labels_.size(), labeller_->tests(), hash_.parities.size(), hash_.modulus, hash_.groups.size())});
    return true;
}

bool SliceMapper::adopt(const ResidueHash& known) {
    if (!findSideMask()) return false;
    hash_ = known;
    hash_.page = {};
    const Mask side = hash_.groups.empty() ? 0 : hash_.groups[0] & (kPageBytes - 1);
    if (sides_ && sideMask_.mask != side)
        throw Error("the map's side mask is {:#x}, this GPU's is {:#x}", side, sideMask_.mask);
    if (sides_ && sideMask_.inverted) hash_.page.groupFlips = 1;
    listener_.step("which addresses share a slice");
    if (!calibrate()) return false;
    const auto digits = residueDigits(hash_, physical() ? std::nullopt : std::optional(kPageShift));
    if (!digits) throw Error("the map's slice hash is no index");
    digits_ = *digits;
    nameSlices();
    return true;
}

/// One address of the home page for each slice, in the order of slice numbers.
void SliceMapper::nameSlices() {
    std::vector<std::optional<Target>> found(hash_.slices());
    hash_.groupOf.clear();
    hash_.residueOf.clear();
    for (std::uint64_t offset = 0; offset < kPageBytes; offset += Bytes{1} << options_.lineShift) {
        const std::uint32_t slice = hash_.residue(offset, hash_.page) + hash_.modulus * hash_.group(offset, hash_.page);
        if (!found[slice]) found[slice] = target(home_, offset, sideMask_.inverted);
    }
    std::vector<Target> list;
    for (std::uint32_t slice = 0; slice < found.size(); ++slice) {
        if (!found[slice]) throw Error("slice {} of the map has no address in a page", slice);
        list.push_back(*found[slice]);
        hash_.groupOf.push_back(slice / hash_.modulus);
        hash_.residueOf.push_back(slice % hash_.modulus);
    }
    labeller_->setRepresentatives(std::move(list));
}

std::vector<std::optional<PageLabel>> SliceMapper::labelPages(std::size_t count) {
    std::vector<std::optional<PageLabel>> labels;
    const Mask offsets = bitRange(options_.lineShift, kPageShift);
    for (std::size_t p = 0; p < count; ++p) {
        labels.push_back(p == 0 ? std::optional(hash_.page) : labelPage(pageAddress(p), offsets));
        listener_.progress(static_cast<double>(p) / static_cast<double>(count));
    }
    return labels;
}

SliceMapper::Accuracy SliceMapper::verify(const std::vector<std::optional<PageLabel>>& pages, std::size_t addresses) {
    std::vector<std::uint32_t> memberOf(hash_.slices(), ~std::uint32_t{0});
    for (std::uint32_t s = 0; s < hash_.groupOf.size(); ++s)
        memberOf[hash_.residueOf[s] + hash_.modulus * hash_.groupOf[s]] = s;
    std::vector<std::pair<Target, Target>> pairs;
    std::size_t sideRight = 0;
    Accuracy accuracy;
    accuracy.pages = pages.size();
    for (std::size_t i = 0; i < addresses; ++i) {
        const std::size_t page = random_.below(pages.size());
        const std::uint64_t offset = random_.below(kPageBytes >> options_.lineShift) << options_.lineShift;
        const std::uint64_t at = *reach(pageAddress(page) | offset);
        ++accuracy.addresses;
        if (!pages[page]) continue;
        std::uint8_t side = 0;
        if (sides_) side = sidesOf(probe_, *sides_, at, 4, 1, options_.sides.repeats).front();
        const std::uint32_t group = hash_.group(offset, *pages[page]);
        if (sides_ && (group & 1) != side) continue;
        ++sideRight;
        const std::uint32_t slice = memberOf[hash_.residue(offset, *pages[page]) + hash_.modulus * group];
        if (slice != ~std::uint32_t{0}) pairs.push_back({{at, side}, labeller_->representatives()[slice]});
    }
    const std::vector<bool> same = labeller_->sameSlice(pairs, 3);
    const auto n = static_cast<double>(std::max<std::size_t>(1, accuracy.addresses));
    accuracy.side = static_cast<double>(sideRight) / n;
    accuracy.slice = static_cast<double>(std::count(same.begin(), same.end(), true)) / n;
    return accuracy;
}

SliceMapper::Accuracy SliceMapper::verifyPhysical(std::size_t addresses) {
    Accuracy accuracy;
    std::vector<std::uint32_t> memberOf(hash_.slices(), ~std::uint32_t{0});
    for (std::uint32_t s = 0; s < hash_.groupOf.size(); ++s)
        memberOf[hash_.residueOf[s] + hash_.modulus * hash_.groupOf[s]] = s;
    std::vector<std::pair<Target, Target>> pairs;
    for (std::size_t i = 0; i < addresses; ++i) {
        const arch::PhysicalAddress at = memory_.random(random_, Bytes{1} << options_.lineShift);
        const std::uint32_t slice = memberOf[hash_.residue(at, {}) + hash_.modulus * hash_.group(at, {})];
        ++accuracy.addresses;
        if (slice == ~std::uint32_t{0}) continue;
        const Target& member = labeller_->representatives()[slice];
        pairs.push_back({{*memory_.reach(at), member.side}, member});
    }
    const std::vector<bool> same = labeller_->sameSlice(pairs, 3);
    accuracy.slice = static_cast<double>(std::count(same.begin(), same.end(), true)) / static_cast<double>(addresses);
    accuracy.side = accuracy.slice;
    return accuracy;
}

}  // namespace bulkhead::dissect
