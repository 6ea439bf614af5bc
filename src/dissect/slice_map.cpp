#include "dissect/slice_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/error.h"

namespace bulkhead::dissect {
namespace {

constexpr unsigned kFirstWindow = 18;  // 256 KB are enough for blocks of up to 64 KB
constexpr std::size_t kPageSamples = 5;
constexpr std::size_t kFirstBatch = 32, kLargestBatch = 256;  // offsets labelled before guesses are made anew

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
        for (std::size_t i = 0; i < std::min<std::size_t>(6, ranked.size()); ++i) list.push_back(ranked[i].second);
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
    options.sideSamples = 24;
    // A slice takes a reduction a cycle, and so does the port of a multiprocessor if one lane makes it. 8 warps, so
    // that each block presses all addresses of a test equally. Simulated clocks agree, and the lead is longer than any
    // L2 needs to tell all multiprocessors.
    const auto members = std::min<std::uint32_t>(8, static_cast<std::uint32_t>(gpu.info().multiprocessors));
    options.contention = {members, 256, std::max<std::uint32_t>(2, 16 / members), 1, 800};
    options.heldOut = 200;
    return options;
}

SliceMapper::SliceMapper(Probe& probe, const MemoryView& memory, const SliceMapOptions& options, Listener& listener)
    : probe_(probe), memory_(memory), options_(options), listener_(listener), random_(options.seed) {
    base_ = (memory.base() + kPageBytes - 1) / kPageBytes * kPageBytes;
    home_ = pageAddress(0);
    // What each address bit does is learnt from pages that differ from the home page in it alone.
    const auto surrounded = [&](std::uint64_t page) {
        for (unsigned b = kPageShift; b < memory.addressBits(); ++b)
            if (!reach(page ^ Mask{1} << b)) return false;
        return true;
    };
    const std::size_t pages = physical() ? memory.bytes() / kPageBytes - 1 : 0;
    for (std::size_t p = 0; p < pages && !surrounded(home_); ++p) home_ = pageAddress(p);
}

std::optional<std::uint64_t> SliceMapper::reach(std::uint64_t address) const {
    return physical() ? memory_.reach(address) : std::optional(base_ + address);
}

std::uint64_t SliceMapper::pageAddress(std::size_t page) const {
    const std::uint64_t offset = page * kPageBytes;
    return physical() ? memory_.physical(base_ + offset) / kPageBytes * kPageBytes : offset;
}

std::optional<Target> SliceMapper::target(const Place& place) const {
    const auto at = reach(place.page ^ place.offset);
    if (!at) return std::nullopt;
    const bool odd = parity(place.offset & sideMask_.mask) != place.flipsSide;
    return Target{*at, static_cast<std::uint8_t>(sides_ && odd ? 1 : 0)};
}

bool SliceMapper::findSideMask() {
    listener_.step("which L2 side each multiprocessor and each address is on");
    std::vector<std::uint64_t> some;
    while (some.size() < options_.sides.chunks)
        if (const auto at = reach(home_ ^ randomLine())) some.push_back(*at);
    sides_ = findSides(probe_, some, options_.sides.repeats);
    if (!sides_) {
        listener_.found({"L2 sides", std::int64_t{1}, "", 1, "atomics take the same time to all addresses"});
        return true;
    }
    listener_.found({"L2 sides", std::int64_t{2}, "", sides_->leastCorrelation,
                     fmt::format("atomics take {:.0f} or {:.0f} cycles; {} and {} multiprocessors", sides_->nearCycles,
                                 sides_->farCycles, sides_->count(0), sides_->count(1))});
    // Random lines, and for each those that differ from it in one bit.
    std::vector<std::uint64_t> offsets, lines;
    for (std::size_t i = 0; i < options_.sideSamples; ++i) {
        const std::uint64_t offset = randomLine();
        offsets.push_back(offset);
        for (unsigned b = options_.lineShift; b < kPageShift; ++b) offsets.push_back(offset ^ Mask{1} << b);
    }
    std::erase_if(offsets, [&](std::uint64_t offset) { return !reach(home_ ^ offset); });
    for (std::uint64_t offset : offsets) lines.push_back(*reach(home_ ^ offset));
    const std::vector<std::uint8_t> side = sidesOf(probe_, *sides_, lines, options_.sides.repeats);
    std::vector<Labelled> labels;
    for (std::size_t i = 0; i < lines.size(); ++i) labels.push_back({offsets[i], side[i]});
    const auto fit = fitSide(labels, bitRange(options_.lineShift, kPageShift));
    if (!fit) {
        listener_.found({"side mask", {}, "", 0, "no parity of offset bits gives the sides of a page"});
        return false;
    }
    sideMask_ = *fit;
    listener_.found({"side mask", fmt::format("{:#x}", fit->mask), "", fit->agreement,
                     fmt::format("agrees with {:.2f} % of {} lines of a page", 100 * fit->agreement, lines.size())});
    return true;
}

std::vector<std::uint8_t> SliceMapper::sidesOfPages(std::span<const std::uint64_t> pages) {
    std::vector<std::uint64_t> list;
    for (std::uint64_t page : pages) list.push_back(page - base_);
    return flipsOf(list);
}

/// Whether the sides of each page are inverted: most of its chunks decide.
std::vector<std::uint8_t> SliceMapper::flipsOf(const std::vector<std::uint64_t>& pages) {
    constexpr std::uint64_t kChunks = 16, kStride = kPageBytes / kChunks;
    std::vector<std::uint8_t> flips(pages.size(), 0);
    if (!sides_) return flips;
    std::vector<std::uint64_t> addresses;
    std::vector<std::pair<std::size_t, bool>> place;  // page, and what the chunk's parity is
    for (std::size_t p = 0; p < pages.size(); ++p)
        for (std::uint64_t i = 0; i < kChunks; ++i)
            if (const auto at = reach(pages[p] ^ i * kStride)) {
                addresses.push_back(*at);
                place.emplace_back(p, parity(i * kStride & sideMask_.mask));
            }
    const std::vector<std::uint8_t> side = sidesOf(probe_, *sides_, addresses, options_.sides.repeats);
    std::vector<int> votes(pages.size(), 0);
    for (std::size_t i = 0; i < side.size(); ++i) votes[place[i].first] += (side[i] != 0) != place[i].second ? 1 : -1;
    for (std::size_t p = 0; p < pages.size(); ++p) flips[p] = votes[p] > 0 ? 1 : 0;
    return flips;
}

bool SliceMapper::calibrate() {
    labeller_ = std::make_unique<SliceLabeller>(probe_, sides_ ? &*sides_ : nullptr, options_.contention);
    std::vector<Target> targets;
    for (int i = 0; i < 400; ++i) {
        const std::uint64_t offset = randomLine();
        if (const auto t = atHome(offset)) targets.push_back(*t);
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
            const std::uint64_t offset = randomLine();
            const auto a = atHome(offset), c = atHome(offset ^ bit);
            if (a && c) pairs.emplace_back(*a, *c);
        }
        const std::vector<bool> same = labeller_->sameSlice(pairs);
        if (10 * std::count(same.begin(), same.end(), true) > 8 * static_cast<long>(pairs.size())) unused |= bit;
    }
    return unused;
}

/// Labels offsets of the home page in a random order, with guesses from those that have labels already.
void SliceMapper::labelHome(std::vector<std::uint64_t> offsets, Mask bits, std::vector<Labelled>& labels) {
    std::erase_if(offsets, [&](std::uint64_t offset) { return !atHome(offset); });
    for (std::size_t i = offsets.size(); i > 1; --i) std::swap(offsets[i - 1], offsets[random_.below(i)]);
    for (std::size_t first = 0, size = kFirstBatch; first < offsets.size();) {
        const std::size_t last = std::min(first + size, offsets.size());
        const Guesses guesses(labels, bits);
        std::vector<Target> targets;
        std::vector<std::vector<std::uint32_t>> hints;
        for (std::size_t i = first; i < last; ++i) {
            targets.push_back(*atHome(offsets[i]));
            hints.push_back(guesses.of(offsets[i]));
        }
        const std::vector<std::uint32_t> slices = labeller_->label(targets, hints);
        for (std::size_t i = first; i < last; ++i) labels.push_back({offsets[i], slices[i - first]});
        listener_.progress(static_cast<double>(last) / static_cast<double>(offsets.size()));
        first = last;
        size = std::min(2 * size, kLargestBatch);
    }
}

/// A wrong answer now and then makes a slice of an address that has one already; few labels fall on such a slice. It
/// is compared with all others, and given up if it is none of them either.
void SliceMapper::dropStrays() {
    constexpr std::size_t kEnough = 10, kFew = 3, kVeryFew = 5;
    const std::vector<Target> slices = labeller_->representatives();
    std::vector<std::size_t> counts(slices.size(), 0);
    for (const Labelled& l : labels_) ++counts[l.slice];
    std::vector<std::size_t> sorted = counts;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t usual = sorted.empty() ? 0 : sorted[sorted.size() / 2];
    if (usual < kFew || kFew * sorted.front() > usual) return;
    std::vector<Target> kept;
    std::vector<std::optional<std::uint32_t>> number(slices.size());
    for (std::uint32_t s = 0; s < slices.size(); ++s) {
        if (kFew * counts[s] <= usual) continue;
        number[s] = static_cast<std::uint32_t>(kept.size());
        kept.push_back(slices[s]);
    }
    for (std::uint32_t s = 0; s < slices.size(); ++s) {
        if (number[s]) continue;
        number[s] = twinOf(slices[s], kept);
        if (number[s] || (usual >= kEnough && kVeryFew * counts[s] <= usual)) continue;
        number[s] = static_cast<std::uint32_t>(kept.size());
        kept.push_back(slices[s]);
    }
    std::erase_if(labels_, [&](const Labelled& l) { return !number[l.slice]; });
    for (Labelled& l : labels_) l.slice = *number[l.slice];
    labeller_->setRepresentatives(std::move(kept));
}

/// Which of some targets shares a slice with another one, if one does.
std::optional<std::uint32_t> SliceMapper::twinOf(const Target& target, const std::vector<Target>& others) {
    std::vector<std::pair<Target, Target>> pairs;
    std::vector<std::uint32_t> place;
    for (std::uint32_t i = 0; i < others.size(); ++i) {
        if (others[i].side != target.side) continue;
        pairs.emplace_back(target, others[i]);
        place.push_back(i);
    }
    const std::vector<bool> same = labeller_->sameSlice(pairs, 3);
    const auto found = std::find(same.begin(), same.end(), true);
    if (found == same.end()) return std::nullopt;
    return place[static_cast<std::size_t>(found - same.begin())];
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
        labelHome(std::move(offsets), bits, labels_);
        dropStrays();
        if (const auto fit = fitResidueHash(labels_, bits, sideMask_.mask & bits, why)) {
            hash_ = *fit;
            return true;
        }
    }
    listener_.found({"form of the slice hash", {}, "", 0, why});
    const auto table = fitTable(labels_, bitRange(options_.lineShift, kPageShift) & ~unused, sideMask_.mask, why);
    if (table) {
        hash_ = *table;
        return true;
    }
    listener_.found({"table of slices", {}, "", 0, why});
    return false;
}

/// Labels pages, or pages with some offset bits inverted, from slices at sums of `offsetBits`.
std::vector<std::optional<PageLabel>> SliceMapper::labelAt(const std::vector<std::uint64_t>& pages, Mask offsetBits) {
    const std::vector<std::uint8_t> flips = flipsOf(pages);
    std::vector<std::optional<PageLabel>> labels(pages.size());
    std::vector<std::vector<Labelled>> known(pages.size());
    std::vector<std::size_t> open(pages.size());
    std::iota(open.begin(), open.end(), std::size_t{0});
    for (int round = 0; round < 4 && !open.empty(); ++round) {
        std::vector<Target> targets;
        std::vector<std::pair<std::size_t, std::uint64_t>> place;
        for (std::size_t p : open)
            for (std::size_t i = 0; i < kPageSamples; ++i) {
                const std::uint64_t offset = random_.next() & offsetBits;
                const auto t = target({pages[p], offset, flips[p] != 0});
                if (!t) continue;
                place.emplace_back(p, offset);
                targets.push_back(*t);
            }
        const auto slices = labeller_->identify(targets);
        for (std::size_t i = 0; i < targets.size(); ++i)
            if (slices[i] && *slices[i] < hash_.groupOf.size())
                known[place[i].first].push_back({place[i].second, *slices[i]});
        std::erase_if(open, [&](std::size_t p) { return (labels[p] = fitPage(hash_, known[p])).has_value(); });
    }
    return labels;
}

/// Beyond the window: the offset's upper bits, and the page's, where its address is known.
bool SliceMapper::extend() {
    const unsigned from = static_cast<unsigned>(std::bit_width(hash_.window));
    const unsigned to = physical() ? memory_.addressBits() : kPageShift;
    std::vector<std::uint64_t> others;
    for (unsigned b = from; b < to; ++b) {
        others.push_back(home_ ^ Mask{1} << b);
        if (reach(others.back())) continue;
        listener_.found(
            {"slice hash", {}, "", 0, fmt::format("no page differs from another in address bit {} alone", b)});
        return false;
    }
    const auto labels = labelAt(others, hash_.window);
    std::vector<KnownPage> pages = {{home_, hash_.page}};
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (!labels[i]) {
            listener_.found(
                {"slice hash", {}, "", 0, fmt::format("what address bit {} does is no label of a page", from + i)});
            return false;
        }
        pages.push_back({others[i], *labels[i]});
    }
    // Where the page's own address is unknown its label is left where it is: only offset bits are added.
    if (!physical())
        for (KnownPage& page : pages) page.address -= home_;
    return extendToPages(hash_, pages);
}

bool SliceMapper::find() {
    if (!findSideMask()) return false;
    listener_.step("which addresses share a slice");
    if (!calibrate()) return false;
    if (!fitWindow(unusedBits())) return false;
    if (sides_ && sideMask_.inverted) {  // a group's first bit is to be the side
        hash_.page.groupFlips ^= 1;
        for (std::uint32_t& group : hash_.groupOf) group ^= 1;
    }
    listener_.step("what the remaining address bits do");
    if (!extend()) return false;
    const auto digits = residueDigits(hash_, physical() ? std::nullopt : std::optional(kPageShift));
    if (!digits) {
        listener_.found({"form of the slice hash", {}, "", 0, "the weights are not those of an index"});
        return false;
    }
    digits_ = *digits;
    listener_.found({"L2 slices", static_cast<std::int64_t>(hash_.slices()), "", hash_.agreement,
                     fmt::format("{} labels, {} contention tests; {} of {} parities modulo {}, {} parities for groups",
                                 labels_.size(), labeller_->tests(), hash_.table.empty() ? "an index" : "a table",
                                 hash_.parities.size(), hash_.modulus, hash_.groups.size())});
    return true;
}

bool SliceMapper::adopt(const MapFile& known) {
    if (!known.form) throw Error("the map has no form by which pages could be labelled");
    if (!findSideMask()) return false;
    hash_ = *known.form;
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
    if (!findHomeLabel()) throw Error("the map's slice hash does not fit this GPU");
    nameSlices();
    if (sides_) {
        std::vector<std::uint64_t> lines;
        for (const Target& t : labeller_->representatives()) lines.push_back(t.address);
        latencies_ = timeSlices(probe_, lines);
        if (known.latencies) takeNumbersOf(*known.latencies);
    }
    return true;
}

/// Contention leaves two things of the home page's label open: what it adds to residues, and, as the sum of inverted
/// parities counts backwards, their direction. How far slices are decides both.
void SliceMapper::takeNumbersOf(const SliceLatencies& known) {
    // Groups beside the sides would have an order of their own.
    if (!hash_.table.empty() || hash_.groups.size() != 1) return;
    const RenumberingFit fit = findRenumbering(known, *latencies_, hash_.modulus);
    listener_.found({"slice numbers", fit.clear() ? Value("the map's") : Value(), "", 1 - std::min(1.0, fit.left),
                     fmt::format("distances from multiprocessors: the best numbering leaves {:.4f}, the next {:.4f}",
                                 fit.left, fit.leftByNext)});
    if (!fit.clear()) return;
    const Renumbering& how = fit.best;
    std::uint64_t sum = how.shift;
    if (how.backwards) {
        hash_.page.flips ^= (std::uint32_t{1} << hash_.parities.size()) - 1;
        for (const WeightedParity& p : hash_.parities) sum += hash_.modulus - p.weight % hash_.modulus;
    }
    hash_.page.addend = static_cast<std::uint32_t>(sum % hash_.modulus);
    nameSlices();
    latencies_ = renumbered(*latencies_, how, hash_.modulus);
    named_ = true;
}

/// Which parities are inverted in the home page: those with which addresses have equal residues just where they share
/// a slice.
bool SliceMapper::findHomeLabel() {
    const std::size_t samples = std::max<std::size_t>(64, 4 * std::size_t{hash_.slices()});
    constexpr double kAgreement = 0.9;
    if (hash_.modulus == 1) return true;
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i < samples; ++i) offsets.push_back(randomLine());
    std::vector<Labelled> labels;
    labelHome(std::move(offsets), 0, labels);
    const std::size_t classes = labeller_->representatives().size();
    double best = 0;
    PageLabel page = hash_.page;
    for (std::uint32_t flips = 0; flips < std::uint32_t{1} << hash_.parities.size(); ++flips) {
        page.flips = flips;
        std::vector<std::uint32_t> counts(classes * hash_.slices(), 0), numbers;
        for (const Labelled& l : labels) {
            numbers.push_back(hash_.residue(l.address, page) + hash_.modulus * hash_.group(l.address, page));
            ++counts[l.slice * hash_.slices() + numbers.back()];
        }
        // A number belongs to the slice that it meets most often.
        std::size_t right = 0;
        for (std::uint32_t number = 0; number < hash_.slices(); ++number) {
            std::uint32_t most = 0;
            for (std::size_t c = 0; c < classes; ++c) most = std::max(most, counts[c * hash_.slices() + number]);
            right += most;
        }
        const double share = static_cast<double>(right) / static_cast<double>(labels.size());
        if (share <= best) continue;
        best = share;
        hash_.page.flips = flips;
    }
    return best > kAgreement;
}

/// One address of the home page for each slice, in the order of slice numbers.
void SliceMapper::nameSlices() {
    std::vector<std::optional<Target>> found(hash_.slices());
    hash_.groupOf.clear();
    hash_.residueOf.clear();
    for (std::uint64_t offset = 0; offset < kPageBytes; offset += Bytes{1} << options_.lineShift) {
        const std::uint32_t slice = hash_.residue(offset, hash_.page) + hash_.modulus * hash_.group(offset, hash_.page);
        if (!found[slice]) found[slice] = atHome(offset);
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

std::vector<std::optional<PageLabel>> SliceMapper::labelPages(std::span<const std::uint64_t> pages) {
    constexpr std::size_t kTogether = 512;  // enough to keep the GPU busy, few enough to tell how far it is
    std::vector<std::optional<PageLabel>> labels;
    const Mask offsets = bitRange(options_.lineShift, kPageShift);
    for (std::size_t first = 0; first < pages.size(); first += kTogether) {
        std::vector<std::uint64_t> some;
        for (std::size_t i = first; i < std::min(first + kTogether, pages.size()); ++i)
            some.push_back(pages[i] - base_);
        std::vector<std::optional<PageLabel>> found = labelAt(some, offsets);
        // What went wrong once may go right: sides and slices anew.
        for (std::size_t i = 0; i < some.size(); ++i)
            for (int again = 0; again < 2 && !found[i]; ++again) found[i] = labelAt({some[i]}, offsets).front();
        labels.insert(labels.end(), found.begin(), found.end());
        listener_.progress(static_cast<double>(labels.size()) / static_cast<double>(pages.size()));
    }
    return labels;
}

std::vector<std::optional<PageLabel>> SliceMapper::labelPages(std::size_t count) {
    std::vector<std::uint64_t> pages;
    for (std::size_t p = 0; p < count; ++p) pages.push_back(base_ + p * kPageBytes);
    return labelPages(pages);
}

/// Slices in the labeller's numbering, by residue and group.
std::vector<std::uint32_t> SliceMapper::memberOf() const {
    std::vector<std::uint32_t> members(hash_.slices(), ~std::uint32_t{0});
    for (std::uint32_t s = 0; s < hash_.groupOf.size(); ++s)
        members[hash_.residueOf[s] + hash_.modulus * hash_.groupOf[s]] = s;
    return members;
}

SliceMapper::Accuracy SliceMapper::verify(const std::vector<std::optional<PageLabel>>& pages, std::size_t addresses) {
    const std::vector<std::uint32_t> members = memberOf();
    std::vector<std::uint64_t> at;
    std::vector<std::pair<std::size_t, std::uint64_t>> place;
    for (std::size_t i = 0; i < addresses; ++i) {
        const std::size_t page = random_.below(pages.size());
        const std::uint64_t offset = randomLine();
        place.emplace_back(page, offset);
        at.push_back(*reach(pageAddress(page) | offset));
    }
    std::vector<std::uint8_t> side(addresses, 0);
    for (unsigned vote = 0; sides_ && vote < 3; ++vote) {
        const std::vector<std::uint8_t> once = sidesOf(probe_, *sides_, at, options_.sides.repeats + vote);
        for (std::size_t i = 0; i < addresses; ++i) side[i] = static_cast<std::uint8_t>(side[i] + once[i]);
    }
    for (std::uint8_t& votes : side) votes = votes > 1 ? 1 : 0;
    std::vector<std::pair<Target, Target>> pairs;
    std::size_t sideRight = 0;
    for (std::size_t i = 0; i < addresses; ++i) {
        const auto& [page, offset] = place[i];
        if (!pages[page]) continue;
        const std::uint32_t group = hash_.group(offset, *pages[page]);
        if (sides_ && (group & 1) != side[i]) continue;
        ++sideRight;
        const std::uint32_t slice = members[hash_.residue(offset, *pages[page]) + hash_.modulus * group];
        if (slice != ~std::uint32_t{0}) pairs.push_back({{at[i], side[i]}, labeller_->representatives()[slice]});
    }
    const std::vector<bool> same = labeller_->sameSlice(pairs, 3);
    const auto n = static_cast<double>(std::max<std::size_t>(1, addresses));
    Accuracy accuracy;
    accuracy.pages = pages.size();
    accuracy.addresses = addresses;
    accuracy.side = static_cast<double>(sideRight) / n;
    accuracy.slice = static_cast<double>(std::count(same.begin(), same.end(), true)) / n;
    return accuracy;
}

SliceMapper::Accuracy SliceMapper::verifyPhysical(std::size_t addresses) {
    Accuracy accuracy;
    const std::vector<std::uint32_t> members = memberOf();
    std::vector<std::pair<Target, Target>> pairs;
    for (std::size_t i = 0; i < addresses; ++i) {
        const arch::PhysicalAddress at = memory_.random(random_, Bytes{1} << options_.lineShift);
        const std::uint32_t slice = members[hash_.residue(at, {}) + hash_.modulus * hash_.group(at, {})];
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
