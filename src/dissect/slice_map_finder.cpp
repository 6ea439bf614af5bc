#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dissect/page_labels.h"
#include "dissect/slice_map.h"

namespace bulkhead::dissect {
namespace {

constexpr unsigned kFirstWindow = 18;  // 256 KB are enough for blocks of up to 64 KB

class SliceMapFinder {
  public:
    explicit SliceMapFinder(SliceProbe& probe) : probe_(probe) {}

    std::optional<SliceMap> find();

  private:
    Mask unusedBits();
    void dropStrays();
    std::optional<std::uint32_t> twinOf(const Target&, const std::vector<Target>& others);
    bool fitWindow(Mask unused);
    bool extend();

    SliceProbe& probe_;
    std::vector<Labelled> labels_;  ///< of the home page
    SliceMap map_;
};

/// Single offset bits that never change the slice.
Mask SliceMapFinder::unusedBits() {
    constexpr int kPairs = 12;
    Mask unused = 0;
    for (unsigned b = probe_.options().lineShift; b < kPageShift; ++b) {
        const Mask bit = Mask{1} << b;
        if ((probe_.sideMask().mask & bit) != 0) continue;
        std::vector<std::pair<Target, Target>> pairs;
        for (int i = 0; i < kPairs; ++i) {
            const std::uint64_t offset = probe_.randomLine();
            const auto a = probe_.atHome(offset), c = probe_.atHome(offset ^ bit);
            if (a && c) pairs.emplace_back(*a, *c);
        }
        const std::vector<bool> same = probe_.labeller().sameSlice(pairs);
        if (10 * std::count(same.begin(), same.end(), true) > 8 * static_cast<long>(pairs.size())) unused |= bit;
    }
    return unused;
}

/// A wrong answer now and then makes a slice of an address that has one already; few labels fall on such a slice. It
/// is compared with all others, and given up if it is none of them either.
void SliceMapFinder::dropStrays() {
    constexpr std::size_t kEnough = 10, kFew = 3, kVeryFew = 5;
    const std::vector<Target> slices = probe_.labeller().representatives();
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
    probe_.labeller().setRepresentatives(std::move(kept));
}

/// Which of some targets shares a slice with another one, if one does.
std::optional<std::uint32_t> SliceMapFinder::twinOf(const Target& target, const std::vector<Target>& others) {
    std::vector<std::pair<Target, Target>> pairs;
    std::vector<std::uint32_t> place;
    for (std::uint32_t i = 0; i < others.size(); ++i) {
        if (others[i].side != target.side) continue;
        pairs.emplace_back(target, others[i]);
        place.push_back(i);
    }
    const std::vector<bool> same = probe_.labeller().sameSlice(pairs, 3);
    const auto found = std::find(same.begin(), same.end(), true);
    if (found == same.end()) return std::nullopt;
    return place[static_cast<std::size_t>(found - same.begin())];
}

/// Labels all of a window, and widens it until a form fits.
bool SliceMapFinder::fitWindow(Mask unused) {
    std::string why;
    for (unsigned top = kFirstWindow; top <= kPageShift; ++top) {
        const Mask bits = bitRange(probe_.options().lineShift, top) & ~unused;
        std::vector<std::uint64_t> offsets;
        const Mask fresh = top == kFirstWindow ? 0 : Mask{1} << (top - 1);
        // All sums of the window's bits; those below its new bit are labelled already.
        for (Mask sum = bits;; sum = (sum - 1) & bits) {
            if (fresh == 0 || (sum & fresh) != 0) offsets.push_back(sum);
            if (sum == 0) break;
        }
        if ((fresh & unused) != 0) continue;
        probe_.labelHome(std::move(offsets), bits, labels_);
        dropStrays();
        if (const auto fit = fitResidueHash(labels_, bits, probe_.sideMask().mask & bits, why)) {
            map_.hash = *fit;
            return true;
        }
    }
    probe_.listener().found({"formula of the slice hash", {}, "", 0, why});
    const auto table =
        fitTable(labels_, bitRange(probe_.options().lineShift, kPageShift) & ~unused, probe_.sideMask().mask, why);
    if (table) {
        map_.hash = *table;
        return true;
    }
    probe_.listener().found({"table of slices", {}, "", 0, why});
    return false;
}

/// Beyond the window: the offset's upper bits, and the page's, where its address is known.
bool SliceMapFinder::extend() {
    const unsigned from = static_cast<unsigned>(std::bit_width(map_.hash.window));
    const unsigned to = probe_.physical() ? probe_.memory().addressBits() : kPageShift;
    std::vector<std::uint64_t> others;
    for (unsigned b = from; b < to; ++b) {
        others.push_back(probe_.home() ^ Mask{1} << b);
        if (probe_.reach(others.back())) continue;
        probe_.listener().found(
            {"slice hash", {}, "", 0, fmt::format("no two pages differ in address bit {} alone", b)});
        return false;
    }
    const auto labels = labelAt(probe_, map_.hash, others, map_.hash.window);
    std::vector<KnownPage> pages = {{probe_.home(), map_.hash.page}};
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (!labels[i]) {
            probe_.listener().found({"slice hash",
                                     {},
                                     "",
                                     0,
                                     fmt::format("the effect of address bit {} is not a label of a page", from + i)});
            return false;
        }
        pages.push_back({others[i], *labels[i]});
    }
    // Where the page's own address is unknown its label is left where it is: only offset bits are added.
    if (!probe_.physical())
        for (KnownPage& page : pages) page.address -= probe_.home();
    return extendToPages(map_.hash, pages);
}

std::optional<SliceMap> SliceMapFinder::find() {
    if (!probe_.findSides()) return std::nullopt;
    probe_.listener().step("Finding addresses that share an L2 slice");
    if (!probe_.calibrate()) return std::nullopt;
    if (!fitWindow(unusedBits())) return std::nullopt;
    if (probe_.sided() && probe_.sideMask().inverted) {  // a group's first bit is to be the side
        map_.hash.page.groupFlips ^= 1;
        for (std::uint32_t& group : map_.hash.groupOf) group ^= 1;
    }
    probe_.listener().step("Finding the effect of the remaining address bits");
    if (!extend()) return std::nullopt;
    const auto digits = residueDigits(map_.hash, probe_.physical() ? std::nullopt : std::optional(kPageShift));
    if (!digits) {
        probe_.listener().found({"formula of the slice hash", {}, "", 0, "the weights are not those of an index"});
        return std::nullopt;
    }
    map_.digits = *digits;
    probe_.listener().found(
        {"L2 slices", static_cast<std::int64_t>(map_.hash.slices()), "", map_.hash.agreement,
         fmt::format("{} labels, {} contention tests; {} of {} parities modulo {}, {} parities for groups",
                     labels_.size(), probe_.labeller().tests(), map_.hash.table.empty() ? "an index" : "a table",
                     map_.hash.parities.size(), map_.hash.modulus, map_.hash.groups.size())});
    return map_;
}

}  // namespace

std::optional<SliceMap> findSliceMap(SliceProbe& probe) {
    return SliceMapFinder(probe).find();
}

}  // namespace bulkhead::dissect
