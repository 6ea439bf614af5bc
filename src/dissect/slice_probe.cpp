#include "dissect/slice_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace bulkhead::dissect {
namespace {

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
        ranked.reserve(votes.size());
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
    if (!gpu.capabilities().deterministic) return options;
    options.sides = {3, 24};
    options.sideSamples = 24;
    // A slice takes a reduction a cycle, and so does the port of an SM if one lane makes it. 8 warps, so
    // that each block presses all addresses of a test equally. Simulated clocks agree, and the lead is longer than any
    // L2 needs to tell all SMs.
    const auto members = std::min<std::uint32_t>(8, static_cast<std::uint32_t>(gpu.info().sms));
    options.contention = {members, 256, std::max<std::uint32_t>(2, 16 / members), 1, 800};
    options.heldOut = 200;
    return options;
}

SliceProbe::SliceProbe(Probe& probe, const MemoryView& memory, const SliceMapOptions& options, Listener& listener)
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

std::optional<std::uint64_t> SliceProbe::reach(std::uint64_t address) const {
    return physical() ? memory_.reach(address) : std::optional(base_ + address);
}

std::uint64_t SliceProbe::pageAddress(std::size_t page) const {
    const std::uint64_t offset = page * kPageBytes;
    return physical() ? memory_.physical(base_ + offset) / kPageBytes * kPageBytes : offset;
}

std::optional<Target> SliceProbe::target(const Place& place) const {
    const auto at = reach(place.page ^ place.offset);
    if (!at) return std::nullopt;
    const bool odd = parity(place.offset & sideMask_.mask) != place.flipsSide;
    return Target{*at, static_cast<std::uint8_t>(sides_ && odd ? 1 : 0)};
}

bool SliceProbe::findSides() {
    listener_.step("Finding the L2 side of each SM and address");
    std::vector<std::uint64_t> some;
    while (some.size() < options_.sides.chunks)
        if (const auto at = reach(home_ ^ randomLine())) some.push_back(*at);
    sides_ = dissect::findSides(probe_, some, options_.sides.repeats);
    if (!sides_) {
        listener_.found({"L2 sides", std::int64_t{1}, "", 1, "atomics take the same time to all addresses"});
        return true;
    }
    listener_.found({"L2 sides", std::int64_t{2}, "", sides_->leastCorrelation,
                     fmt::format("atomics take {:.0f} or {:.0f} cycles; {} and {} SMs", sides_->nearCycles,
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
        listener_.found({"side mask", {}, "", 0, "no parity of offset bits determines the side of a line"});
        return false;
    }
    sideMask_ = *fit;
    listener_.found({"side mask", fmt::format("{:#x}", fit->mask), "", fit->agreement,
                     fmt::format("agrees with {:.2f} % of {} lines of a page", 100 * fit->agreement, lines.size())});
    return true;
}

std::vector<std::uint8_t> SliceProbe::sidesOfPages(std::span<const std::uint64_t> pages) {
    std::vector<std::uint64_t> list;
    for (std::uint64_t page : pages) list.push_back(page - base_);
    return flipsOf(list);
}

/// Whether the sides of each page are inverted: most of its chunks decide.
std::vector<std::uint8_t> SliceProbe::flipsOf(const std::vector<std::uint64_t>& pages) {
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

bool SliceProbe::calibrate() {
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

/// Labels offsets of the home page in a random order, with guesses from those that have labels already.
void SliceProbe::labelHome(std::vector<std::uint64_t> offsets, Mask bits, std::vector<Labelled>& labels) {
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

}  // namespace bulkhead::dissect
