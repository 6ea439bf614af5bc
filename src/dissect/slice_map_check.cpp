#include <algorithm>

#include "dissect/slice_map.h"

namespace bulkhead::dissect {
namespace {

/// Slices in the labeller's numbering, by residue and group.
std::vector<std::uint32_t> membersOf(const ResidueHash& hash) {
    std::vector<std::uint32_t> members(hash.slices(), ~std::uint32_t{0});
    for (std::uint32_t s = 0; s < hash.groupOf.size(); ++s)
        members[hash.residueOf[s] + hash.modulus * hash.groupOf[s]] = s;
    return members;
}

}  // namespace

SliceAccuracy checkPages(SliceProbe& probe, const ResidueHash& hash, const std::vector<std::optional<PageLabel>>& pages,
                         std::size_t addresses) {
    const std::vector<std::uint32_t> members = membersOf(hash);
    std::vector<std::uint64_t> at;
    std::vector<std::pair<std::size_t, std::uint64_t>> place;
    for (std::size_t i = 0; i < addresses; ++i) {
        const std::size_t page = probe.random().below(pages.size());
        const std::uint64_t offset = probe.randomLine();
        place.emplace_back(page, offset);
        at.push_back(*probe.reach(probe.pageAddress(page) | offset));
    }
    std::vector<std::uint8_t> side(addresses, 0);
    for (unsigned vote = 0; probe.sided() && vote < 3; ++vote) {
        const std::vector<std::uint8_t> once =
            sidesOf(probe.probe(), *probe.sides(), at, probe.options().sides.repeats + vote);
        for (std::size_t i = 0; i < addresses; ++i) side[i] = static_cast<std::uint8_t>(side[i] + once[i]);
    }
    for (std::uint8_t& votes : side) votes = votes > 1 ? 1 : 0;
    std::vector<std::pair<Target, Target>> pairs;
    std::size_t sideRight = 0;
    for (std::size_t i = 0; i < addresses; ++i) {
        const auto& [page, offset] = place[i];
        if (!pages[page]) continue;
        const std::uint32_t group = hash.group(offset, *pages[page]);
        if (probe.sided() && (group & 1) != side[i]) continue;
        ++sideRight;
        const std::uint32_t slice = members[hash.residue(offset, *pages[page]) + hash.modulus * group];
        if (slice != ~std::uint32_t{0}) pairs.push_back({{at[i], side[i]}, probe.labeller().representatives()[slice]});
    }
    const std::vector<bool> same = probe.labeller().sameSlice(pairs, 3);
    const auto n = static_cast<double>(std::max<std::size_t>(1, addresses));
    SliceAccuracy accuracy;
    accuracy.pages = pages.size();
    accuracy.addresses = addresses;
    accuracy.side = static_cast<double>(sideRight) / n;
    accuracy.slice = static_cast<double>(std::count(same.begin(), same.end(), true)) / n;
    return accuracy;
}

SliceAccuracy checkPhysical(SliceProbe& probe, const ResidueHash& hash, std::size_t addresses) {
    SliceAccuracy accuracy;
    const std::vector<std::uint32_t> members = membersOf(hash);
    std::vector<std::pair<Target, Target>> pairs;
    for (std::size_t i = 0; i < addresses; ++i) {
        const arch::PhysicalAddress at = probe.memory().random(probe.random(), Bytes{1} << probe.options().lineShift);
        const std::uint32_t slice = members[hash.residue(at, {}) + hash.modulus * hash.group(at, {})];
        ++accuracy.addresses;
        if (slice == ~std::uint32_t{0}) continue;
        const Target& member = probe.labeller().representatives()[slice];
        pairs.push_back({{*probe.memory().reach(at), member.side}, member});
    }
    const std::vector<bool> same = probe.labeller().sameSlice(pairs, 3);
    accuracy.slice = static_cast<double>(std::count(same.begin(), same.end(), true)) / static_cast<double>(addresses);
    accuracy.side = accuracy.slice;
    return accuracy;
}

}  // namespace bulkhead::dissect
