#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "dissect/basics.h"
#include "dissect/dissect.h"
#include "dissect/page_labels.h"
#include "dissect/sets.h"
#include "dissect/slice_map.h"

namespace bulkhead::dissect {
namespace {

constexpr std::size_t kPairsEach = 150;
constexpr double kNotInMap = -1;

/// Pairs of random addresses of which a function of the address is the same, and pairs of which it is not.
template <class Key>
void drawPairs(const MemoryView& memory, Bytes alignment, Random& random, const Key& key,
               std::vector<AddressPair>& same, std::vector<AddressPair>& different) {
    std::map<decltype(key(0)), arch::PhysicalAddress> last;
    for (std::size_t tries = 0; tries < 2'000'000 && (same.size() < kPairsEach || different.size() < kPairsEach);
         ++tries) {
        const arch::PhysicalAddress at = memory.random(random, alignment), other = memory.random(random, alignment);
        if (different.size() < kPairsEach && key(at) != key(other)) different.push_back({at, other});
        const auto [place, fresh] = last.emplace(key(at), at);
        if (fresh) continue;
        if (same.size() < kPairsEach && place->second != at) same.push_back({place->second, at});
        last.erase(place);
    }
}

double agreement(const std::vector<bool>& same, const std::vector<bool>& different) {
    const auto right =
        std::count(same.begin(), same.end(), true) + std::count(different.begin(), different.end(), false);
    return static_cast<double>(right) / static_cast<double>(std::max<std::size_t>(1, same.size() + different.size()));
}

double verifyBanks(Probe& probe, const MemoryView& memory, const ProbedCache& cache, const arch::AddressMap& map,
                   Random& random) {
    if (map.roles().bank.empty()) return kNotInMap;
    RowConflicts conflicts(probe, memory, cache);
    if (!conflicts.calibrate(6000, random.next())) throw Error("row conflicts cannot be detected on this GPU");
    std::vector<AddressPair> same, different;
    drawPairs(
        memory, cache.sectorBytes, random,
        [&](arch::PhysicalAddress a) {
            const auto l = map.locate(a);
            return std::pair(l.channel, l.bank);
        },
        same, different);
    // One after the other: compilers differ in the order in which they evaluate arguments.
    const std::vector<bool> met = conflicts.collide(same);
    return agreement(met, conflicts.collide(different));
}

/// As many lines of a set as it has ways evict a line of it; lines of other sets do not.
double verifySets(Probe& probe, const MemoryView& memory, const ProbedCache& cache, const arch::AddressMap& map,
                  Random& random) {
    if (map.roles().set.empty() || std::uint64_t{map.slices()} * map.setsPerSlice() < 2) return kNotInMap;
    const std::size_t ways = cache.bytes / cache.lineBytes / map.slices() / map.setsPerSlice();
    if (ways == 0) throw Error("the map has more sets than this GPU's L2 has lines");
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> bySet;
    std::vector<bool> same, different;
    while (same.size() < kPairsEach / 3) {
        const arch::PhysicalAddress at = memory.random(random, cache.lineBytes);
        const auto l = map.locate(at);
        auto& lines = bySet[{l.slice, l.set}];
        lines.push_back(*memory.reach(at));
        if (lines.size() <= ways) continue;
        std::vector<std::uint64_t> others;
        while (others.size() < ways) {
            const arch::PhysicalAddress o = memory.random(random, cache.lineBytes);
            const auto ol = map.locate(o);
            if (ol.slice != l.slice || ol.set != l.set) others.push_back(*memory.reach(o));
        }
        const auto lost = [&](std::span<const std::uint64_t> list) {
            return cache.misses(
                probe.timeAfterLines(list, lines[0], 1, static_cast<std::uint32_t>(cache.sectorBytes))[0]);
        };
        same.push_back(lost(std::span(lines).subspan(1)));
        different.push_back(lost(others));
        lines.clear();
    }
    return agreement(same, different);
}

/// Pairs with their sides, which reductions must come from.
std::vector<std::pair<Target, Target>> withSides(Probe& probe, const MemoryView& memory,
                                                 const std::optional<Sides>& sides, std::uint32_t repeats,
                                                 const std::vector<AddressPair>& pairs) {
    std::vector<std::uint64_t> addresses;
    for (const AddressPair& p : pairs)
        addresses.insert(addresses.end(), {*memory.reach(p.first), *memory.reach(p.second)});
    const std::vector<std::uint8_t> side =
        sides ? sidesOf(probe, *sides, addresses, repeats) : std::vector<std::uint8_t>(addresses.size(), 0);
    std::vector<std::pair<Target, Target>> list;
    for (std::size_t i = 0; i < addresses.size(); i += 2)
        list.push_back({{addresses[i], side[i]}, {addresses[i + 1], side[i + 1]}});
    return list;
}

double verifySlices(Probe& probe, const MemoryView& memory, const arch::AddressMap& map, const Options& options,
                    Random& random) {
    if (map.slices() < 2) return kNotInMap;
    const SliceMapOptions effort = SliceMapOptions::forGpu(probe.gpu());
    std::vector<AddressPair> same, different;
    drawPairs(
        memory, 128, random, [&](arch::PhysicalAddress a) { return map.locate(a).slice; }, same, different);
    std::vector<std::uint64_t> some;
    while (some.size() < effort.sides.chunks) some.push_back(*memory.reach(memory.random(random, 128)));
    const std::optional<Sides> sides = findSides(probe, some, effort.sides.repeats);
    const auto alike = withSides(probe, memory, sides, effort.sides.repeats, same);
    const auto unlike = withSides(probe, memory, sides, effort.sides.repeats, different);
    std::vector<Target> targets;
    for (const auto& [a, b] : unlike) targets.insert(targets.end(), {a, b});
    SliceLabeller labeller(probe, sides ? &*sides : nullptr, effort.contention);
    std::string evidence;
    if (!labeller.calibrate(targets, options.seed, evidence))
        throw Error("slices cannot be distinguished: {}", evidence);
    // Addresses of two sides share no slice.
    const auto answers = [&](const std::vector<std::pair<Target, Target>>& pairs) {
        std::vector<bool> list = labeller.sameSlice(pairs, 3);
        for (std::size_t i = 0; i < pairs.size(); ++i)
            if (pairs[i].first.side != pairs[i].second.side) list[i] = false;
        return list;
    };
    return agreement(answers(alike), answers(unlike));
}

}  // namespace

Verification verify(gpu::Gpu& gpu, const MapFile& file, const Options& options, Listener& listener) {
    if (options.verifyAddresses == 0) throw Error("no addresses to check the map with: choose at least 1");
    if (file.physical && !gpu.capabilities().physicalAddresses)
        throw Error("the map needs physical addresses, which {} does not report", gpu.name());
    Probe probe(gpu, options.filter);
    Verification v;
    v.side = v.slice = v.bank = v.set = kNotInMap;
    if (file.physical) {
        const MemoryView memory(gpu, ~Bytes{0});
        const ProbedCache cache = findBasics(probe, memory, listener, options.seed);
        Random random(options.seed + 100);
        listener.step("Checking the map on fresh random addresses");
        v.bank = verifyBanks(probe, memory, cache, file.map, random);
        v.set = verifySets(probe, memory, cache, file.map, random);
        v.slice = verifySlices(probe, memory, file.map, options, random);
        v.addresses = 2 * kPairsEach;
    } else {
        MemoryView memory(gpu, options.memory != 0 ? options.memory : 4_GiB);
        memory.forgetPhysical();
        SliceMapOptions slices = SliceMapOptions::forGpu(probe.gpu());
        slices.seed = options.seed + 100;
        SliceProbe sliceProbe(probe, memory, slices, listener);
        const std::optional<SliceMap> map = adoptSliceMap(sliceProbe, file);
        if (!map) throw Error("slices of {} cannot be distinguished by timing", gpu.name());
        listener.step("Checking the map on fresh random addresses");
        const bool costly = gpu.capabilities().costly;
        const std::size_t pages = costly ? 8 : memory.bytes() / kPageBytes - 1;
        const SliceAccuracy accuracy = checkPages(sliceProbe, map->hash, labelFirstPages(sliceProbe, map->hash, pages),
                                                  costly ? 100 : options.verifyAddresses);
        v.side = sliceProbe.sided() ? accuracy.side : kNotInMap;
        v.slice = accuracy.slice;
        v.addresses = accuracy.addresses;
    }
    v.gpuSeconds = probe.gpuSeconds();
    return v;
}

}  // namespace bulkhead::dissect
