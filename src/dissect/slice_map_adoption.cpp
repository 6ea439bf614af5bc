#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "dissect/slice_map.h"

namespace bulkhead::dissect {
namespace {

class SliceMapAdoption {
  public:
    explicit SliceMapAdoption(SliceProbe& probe) : probe_(probe) {}

    std::optional<SliceMap> adopt(const MapFile&);

  private:
    bool findHomeLabel();
    void nameSlices();
    void takeNumbersOf(const SliceLatencies&);

    SliceProbe& probe_;
    SliceMap map_;
};

std::optional<SliceMap> SliceMapAdoption::adopt(const MapFile& known) {
    if (!known.form) throw Error("the map has no form of the slice hash: pages cannot be labelled");
    if (!probe_.findSides()) return std::nullopt;
    map_.hash = *known.form;
    map_.hash.page = {};
    const Mask side = map_.hash.groups.empty() ? 0 : map_.hash.groups[0] & (kPageBytes - 1);
    if (probe_.sided() && probe_.sideMask().mask != side)
        throw Error("the map's side mask is {:#x}, this GPU's is {:#x}", side, probe_.sideMask().mask);
    if (probe_.sided() && probe_.sideMask().inverted) map_.hash.page.groupFlips = 1;
    probe_.listener().step("Finding addresses that share an L2 slice");
    if (!probe_.calibrate()) return std::nullopt;
    const auto digits = residueDigits(map_.hash, probe_.physical() ? std::nullopt : std::optional(kPageShift));
    if (!digits) throw Error("the map's slice hash is not an index");
    map_.digits = *digits;
    if (!findHomeLabel()) throw Error("the map's slice hash does not fit this GPU");
    nameSlices();
    if (probe_.sided()) {
        std::vector<std::uint64_t> lines;
        for (const Target& t : probe_.labeller().representatives()) lines.push_back(t.address);
        map_.latencies = timeSlices(probe_.probe(), lines);
        if (known.latencies) takeNumbersOf(*known.latencies);
    }
    return map_;
}

/// Contention leaves two things of the home page's label open: what it adds to residues, and, as the sum of inverted
/// parities counts backwards, their direction. How far slices are decides both.
void SliceMapAdoption::takeNumbersOf(const SliceLatencies& known) {
    // Groups beside the sides would have an order of their own.
    if (!map_.hash.table.empty() || map_.hash.groups.size() != 1) return;
    const RenumberingFit fit = findRenumbering(known, *map_.latencies, map_.hash.modulus);
    probe_.listener().found(
        {"slice numbers", fit.clear() ? Value("the map's") : Value(), "", 1 - std::min(1.0, fit.left),
         fmt::format("distances from SMs: residual {:.4f} for the best numbering, {:.4f} for the next", fit.left,
                     fit.leftByNext)});
    if (!fit.clear()) return;
    const Renumbering& how = fit.best;
    PageLabel& page = map_.hash.page;
    if (how.backwards) page = map_.hash.backwards(page);
    page.addend = (page.addend + how.shift) % map_.hash.modulus;
    nameSlices();
    map_.latencies = renumbered(*map_.latencies, how, map_.hash.modulus);
    map_.named = true;
}

/// Which parities are inverted in the home page: those with which addresses have equal residues just where they share
/// a slice.
bool SliceMapAdoption::findHomeLabel() {
    const std::size_t samples = std::max<std::size_t>(64, 4 * std::size_t{map_.hash.slices()});
    constexpr double kAgreement = 0.9;
    if (map_.hash.modulus == 1) return true;
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i < samples; ++i) offsets.push_back(probe_.randomLine());
    std::vector<Labelled> labels;
    probe_.labelHome(std::move(offsets), 0, labels);
    const std::size_t classes = probe_.labeller().representatives().size();
    double best = 0;
    PageLabel page = map_.hash.page;
    for (std::uint32_t flips = 0; flips < std::uint32_t{1} << map_.hash.parities.size(); ++flips) {
        page.flips = flips;
        std::vector<std::uint32_t> counts(classes * map_.hash.slices(), 0);
        for (const Labelled& l : labels) {
            const std::uint32_t number =
                map_.hash.residue(l.address, page) + map_.hash.modulus * map_.hash.group(l.address, page);
            ++counts[l.slice * map_.hash.slices() + number];
        }
        // A number belongs to the slice that it meets most often.
        std::size_t right = 0;
        for (std::uint32_t number = 0; number < map_.hash.slices(); ++number) {
            std::uint32_t most = 0;
            for (std::size_t c = 0; c < classes; ++c) most = std::max(most, counts[c * map_.hash.slices() + number]);
            right += most;
        }
        const double share = static_cast<double>(right) / static_cast<double>(labels.size());
        if (share <= best) continue;
        best = share;
        map_.hash.page.flips = flips;
    }
    return best > kAgreement;
}

/// One address of the home page for each slice, in the order of slice numbers.
void SliceMapAdoption::nameSlices() {
    std::vector<std::optional<Target>> found(map_.hash.slices());
    map_.hash.groupOf.clear();
    map_.hash.residueOf.clear();
    for (std::uint64_t offset = 0; offset < kPageBytes; offset += Bytes{1} << probe_.options().lineShift) {
        const std::uint32_t slice =
            map_.hash.residue(offset, map_.hash.page) + map_.hash.modulus * map_.hash.group(offset, map_.hash.page);
        if (!found[slice]) found[slice] = probe_.atHome(offset);
    }
    std::vector<Target> list;
    for (std::uint32_t slice = 0; slice < found.size(); ++slice) {
        if (!found[slice]) throw Error("slice {} of the map has no address in a page", slice);
        list.push_back(*found[slice]);
        map_.hash.groupOf.push_back(slice / map_.hash.modulus);
        map_.hash.residueOf.push_back(slice % map_.hash.modulus);
    }
    probe_.labeller().setRepresentatives(std::move(list));
}

}  // namespace

std::optional<SliceMap> adoptSliceMap(SliceProbe& probe, const MapFile& known) {
    return SliceMapAdoption(probe).adopt(known);
}

}  // namespace bulkhead::dissect
