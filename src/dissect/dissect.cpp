#include "dissect/dissect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/extremes.h"
#include "base/phrases.h"
#include "dissect/basics.h"
#include "dissect/figures.h"
#include "dissect/mshrs.h"
#include "dissect/page_labels.h"
#include "dissect/regions.h"
#include "dissect/replacement.h"
#include "dissect/row_policy.h"
#include "dissect/set_check.h"
#include "dissect/slice_hashes.h"
#include "dissect/slice_map.h"
#include "dissect/slice_shape.h"

namespace bulkhead::dissect {
namespace {

constexpr Bytes kMemoryToLabel = 4_GiB;

/// Passes everything on, and keeps what was found.
class Recorder final : public Listener {
  public:
    Recorder(Listener& to, std::vector<Finding>& findings) : to_(to), findings_(findings) {}
    void step(const std::string& what) override { to_.step(what); }
    void progress(double fraction) override { to_.progress(fraction); }
    void found(const Finding& finding) override {
        findings_.push_back(finding);
        to_.found(finding);
    }

  private:
    Listener& to_;
    std::vector<Finding>& findings_;
};

std::string maskText(Mask mask) {
    std::string text;
    for (; mask != 0; mask &= mask - 1) text += fmt::format("{}{}", text.empty() ? "" : "^", std::countr_zero(mask));
    return text;
}

/// A basis of `all` that begins where `part` ends.
std::vector<Mask> rest(const Subspace& all, const Subspace& part) {
    Subspace seen = part;
    std::vector<Mask> list;
    for (Mask m : all.basis())
        if (seen.add(m)) list.push_back(m);
    return list;
}

arch::Digit parities(std::vector<Mask> masks) {
    arch::Digit d;
    d.bits = std::move(masks);
    return d;
}

std::vector<arch::Digit> digits(std::vector<Mask> masks) {
    return masks.empty() ? std::vector<arch::Digit>() : std::vector{parities(std::move(masks))};
}

/// What is known of a GPU whose physical addresses are known, as it is found.
struct Linear {
    ProbedCache cache;
    XorHash bank, set;
    Rows rows;
    std::optional<EvictionSet> eviction;
    std::optional<TimeSplit> pairTimes;
    double hitsWhenFull = 0;  ///< share of as much contiguous memory as L2 holds that stays in it
};

/// Share of lines that find room if as many as L2 holds fall into sets at random: a set of w ways gets a Poisson number
/// of them, w on average.
double randomlyFilled(std::size_t ways) {
    double chance = std::exp(-static_cast<double>(ways)), kept = 0;
    for (std::size_t n = 0; n < 8 * ways; ++n) {
        kept += chance * static_cast<double>(std::min(n, ways));
        chance *= static_cast<double>(ways) / static_cast<double>(n + 1);
    }
    return kept / static_cast<double>(ways);
}

/// Sets that are no XOR of address bits, from how often lines share one and how evenly contiguous memory fills them.
void describeOtherSets(const Linear& found, Listener& listener) {
    const auto colliding = static_cast<double>(std::max<std::size_t>(1, found.set.colliding));
    const double sets = static_cast<double>(found.set.pairs) / colliding, error = 1 / std::sqrt(colliding);
    listener.found({"L2 sets (estimate)", found.set.colliding > 10 ? Value(std::round(sets)) : Value(), "",
                    found.set.colliding > 10 ? 1 - error : 0,
                    fmt::format("{} of {} random lines share a set; accurate to {:.0f} %", found.set.colliding,
                                found.set.pairs, 100 * error)});
    const double atRandom = randomlyFilled(found.eviction->lines.size());
    const bool even = found.hitsWhenFull > (1 + atRandom) / 2;
    listener.found(
        {"L2 set use by contiguous memory", std::string(even ? "even" : "random"), "", 0.9,
         fmt::format("of contiguous memory as large as the L2, {:.1f} % stay cached; 100 % if its lines filled all "
                     "sets evenly, {:.1f} % if at random",
                     100 * found.hitsWhenFull, 100 * atRandom)});
}

Result pairTrend(const std::vector<RowConflicts::Sample>& samples) {
    Result r;
    r.title = "Figure 3: access time of address pairs, one address fixed";
    r.columns = {{"secondary address", ""}, {"time", "cycles"}};
    for (const auto& s : samples) r.add({fmt::format("{:#x}", s.pair.second), static_cast<std::int64_t>(s.cycles)});
    r.charts.push_back({Chart::Kind::line,
                        "access time of address pairs, by secondary address",
                        "",
                        {"time"},
                        {},
                        {},
                        "",
                        false,
                        false});
    constexpr double kConflict = 1.05;
    r.question = "Do some addresses conflict with a fixed one?";
    r.reading =
        "A pair that takes longer than others wants two rows of one DRAM bank: of so few pairs on a GPU with many "
        "banks, "
        "perhaps none. Figure 4 has thousands.";
    if (const auto time = extremesOf(r, 1))
        r.answer = fmt::format("{}: pairs take from {} to {} cycles.",
                               time->most > kConflict * time->least ? "Some do" : "None of these does",
                               brief(time->least), brief(time->most));
    return r;
}

Result sideLatencies(const Sides& sides) {
    Result r;
    r.title = "Figure 3 by sides: latency of atomics from an SM on each L2 side";
    r.columns = {{"address", ""}, {"side 0", "cycles"}, {"side 1", "cycles"}};
    const auto other = std::find(sides.ofSm.begin(), sides.ofSm.end(), 1);
    const auto second = static_cast<std::size_t>(other - sides.ofSm.begin()) % sides.latencies.size();
    for (std::size_t i = 0; i < sides.addresses.size(); ++i)
        r.add({fmt::format("{:#x}", sides.addresses[i]), static_cast<std::int64_t>(sides.latencies[0][i]),
               static_cast<std::int64_t>(sides.latencies[second][i])});
    r.charts.push_back({Chart::Kind::line, "latency of atomics", "", {"side 0", "side 1"}, {}, {}, "", false, false});
    double further = 0;
    for (const auto& row : r.rows)
        further += std::abs(static_cast<double>(std::get<std::int64_t>(row[1]) - std::get<std::int64_t>(row[2])));
    r.question = "How much further away is the other side of the L2?";
    r.reading = "Where one curve is low the other is high: an address is near to one side and far from the other.";
    if (!r.rows.empty())
        r.answer = fmt::format("{} cycles, on average over {} sampled addresses.",
                               brief(further / static_cast<double>(r.rows.size())), r.rows.size());
    return r;
}

Result mapping(const MemoryHashes& h) {
    Result r;
    r.title = "Figure 6: XOR functions of physical address bits";
    r.columns = {{"index", ""}, {"bit", ""}, {"address bits", ""}};
    const Subspace module = h.module();
    const auto add = [&](const char* name, const std::vector<Mask>& masks) {
        for (std::size_t i = 0; i < masks.size(); ++i) r.add({name, static_cast<std::int64_t>(i), maskText(masks[i])});
    };
    add("module", module.basis());
    add("bank", rest(h.bank, module));
    add("set", rest(h.set, module));
    r.question = "Which address bits choose memory module, bank and set?";
    r.answer = fmt::format(
        "{} bits of the module, {} more of the bank and {} more of the set are each an XOR of address bits.",
        module.basis().size(), rest(h.bank, module).size(), rest(h.set, module).size());
    r.reading = "A bit of an index is the XOR of the address bits in its row.";
    return r;
}

void findBanks(Probe& probe, const MemoryView& memory, const Options& options, Listener& listener, Linear& found,
               std::vector<Result>& figures) {
    listener.step("Finding DRAM banks by row conflicts (Algorithm 1)");
    RowConflicts conflicts(probe, memory, found.cache);
    if (!conflicts.calibrate(options.pairs, options.seed)) {
        listener.found({"DRAM banks", {}, "", 0, "no pair of addresses is slower than the others"});
        return;
    }
    found.pairTimes = conflicts.split();
    listener.found({"access time of an address pair", conflicts.split()->usual, "cycles", 1,
                    fmt::format("{:.0f} cycles with a row conflict, as in {:.2f} % of random pairs",
                                conflicts.split()->slow, 100 * conflicts.split()->slowShare)});
    if (options.figures) {
        figures.push_back(pairTrend(conflicts.trend(options.trendPairs, options.seed + 1)));
        Times times;
        for (const auto& sample : conflicts.samples()) times.push_back(sample.cycles);
        figures.push_back(
            timeHistogram("Figure 4: histogram of access times of random address pairs", std::move(times)));
    }
    XorHashOptions search;
    search.bits = bitRange(static_cast<unsigned>(std::countr_zero(found.cache.sectorBytes)), memory.addressBits());
    search.seed = options.seed;
    search.progress = [&](double f) { listener.progress(f); };
    found.bank = recoverXorHash(conflicts, search);
    const XorHash& bank = found.bank;
    listener.found({"DRAM banks", bank.decided ? Value(std::int64_t{1} << bank.functions.dimension()) : Value(), "",
                    bank.confidence, bank.evidence});
    if (!bank.decided) return;
    found.rows = findRows(conflicts, bank.functions, search.bits, found.cache.sectorBytes, options.seed);
    listener.found({"DRAM row", static_cast<std::int64_t>(found.rows.bytes), "B", bank.confidence,
                    "addresses of a bank without conflict"});
}

void findSets(Probe& probe, const MemoryView& memory, const Options& options, Listener& listener, Linear& found) {
    listener.step("Finding L2 sets by eviction (Algorithm 2)");
    SetProbe search(probe, found.cache);
    found.eviction = search.find(linesOfBank(memory, found.cache, found.bank.functions), options.seed,
                                 [&](double f) { listener.progress(f); });
    if (!found.eviction) {
        listener.found({"L2 ways", {}, "", 0, "no eviction set was found"});
        return;
    }
    const std::size_t ways = found.eviction->lines.size();
    listener.found({"L2 ways", static_cast<std::int64_t>(ways), "", 1,
                    fmt::format("size of a minimal eviction set; {} tests", found.eviction->tests)});
    if (found.eviction->rounds > 1) {
        listener.found({"L2 sets", {}, "", 0, kNoMembers});
        describe(findReplacement(probe, memory, found.cache, *found.eviction, {}), listener);
        return;
    }
    SetConflicts conflicts(probe, memory, found.cache, *found.eviction);
    XorHashOptions hash;
    hash.bits = bitRange(static_cast<unsigned>(std::countr_zero(found.cache.lineBytes)), memory.addressBits());
    hash.seed = options.seed + 1;
    hash.progress = [&](double f) { listener.progress(f); };
    found.set = recoverXorHash(conflicts, hash);
    listener.found({"L2 sets", found.set.decided ? Value(std::int64_t{1} << found.set.functions.dimension()) : Value(),
                    "", found.set.confidence, found.set.evidence});
    if (!found.set.decided) describeOtherSets(found, listener);

    std::vector<std::uint64_t> more;
    const Subspace alike = found.set.functions.orthogonal(hash.bits);
    Random random(options.seed + 2);
    for (std::size_t tries = 0; found.set.decided && more.size() < 2 * ways && tries < 100 * ways; ++tries) {
        AddressPair pair;
        if (conflicts.pairWithDifference(alike.random(random), random, pair))
            more.push_back(*memory.reach(pair.second));
    }
    std::sort(more.begin(), more.end());
    more.erase(std::unique(more.begin(), more.end()), more.end());
    describe(findReplacement(probe, memory, found.cache, *found.eviction, more), listener);
}

void describeColors(const arch::AddressMap& map, double confidence, Listener& listener) {
    std::string list;
    for (unsigned shift = 10; shift <= 21; ++shift) {
        const std::uint32_t colors = map.colors(Bytes{1} << shift);
        if (colors > 1) list += fmt::format("{}{} K: {}", list.empty() ? "" : ", ", (Bytes{1} << shift) >> 10, colors);
    }
    listener.found({"colors by page size", list.empty() ? "none" : list, "", confidence,
                    "pages of different colors share no slice"});
}

/// Figures are made of a map that is there already: one that a GPU cannot have is left out, and the map is not.
void illustrate(const char* figure, Listener& listener, const std::function<void()>& make) {
    try {
        make();
    } catch (const Error& error) {
        listener.found({figure, {}, "", 0, fmt::format("not measured: {}", error.what())});
    }
}

void drawInterference(Probe& probe, const MemoryView& memory, const MemoryHashes& hashes, const Options& options,
                      Listener& listener, std::vector<Result>& figures) {
    listener.step("Measuring interference between threads (Figure 8)");
    std::vector<unsigned> threads;
    for (unsigned n = 1; n <= std::min(50u, probe.mostInterfering()); n += n < 20 || options.allThreads ? 1 : 5)
        threads.push_back(n);
    figures.push_back(interferenceByThreads(probe, memory, hashes, threads, listener, options.seed));
}

void findMissesUnderWay(Probe& probe, const MemoryView& memory, const MemoryHashes& hashes, const Options& options,
                        Listener& listener, std::vector<Result>& figures) {
    Result behind;
    const Mshrs mshrs = findMshrs(probe, memory, hashes, options.seed, behind);
    figures.push_back(std::move(behind));
    listener.found({"outstanding misses per module", mshrs.ofModule ? Value(std::int64_t{*mshrs.ofModule}) : Value(),
                    "", mshrs.ofModule ? 0.9 : 0.0, mshrs.evidence});
}

/// The whole map where bank and set are XOR hashes.
MapFile linearMap(const Linear& found) {
    const Subspace module = intersection(found.bank.functions, found.set.functions);
    arch::AddressMap::Roles roles;
    roles.slice = digits(module.basis());
    roles.set = digits(rest(found.set.functions, module));
    roles.bank = digits(rest(found.bank.functions, module));
    roles.row = digits(found.rows.bits);
    MapFile file;
    file.map = arch::AddressMap(std::move(roles));
    file.physical = true;
    file.confidence = std::min(found.bank.confidence, found.set.confidence);
    return file;
}

/// Banks alone.
MapFile bankMap(const Linear& found) {
    arch::AddressMap::Roles roles;
    roles.bank = digits(found.bank.functions.basis());
    roles.row = digits(found.rows.bits);
    MapFile file;
    file.map = arch::AddressMap(std::move(roles));
    file.physical = true;
    file.confidence = found.bank.confidence;
    return file;
}

void drawLatencies(const SliceLatencies& latencies, std::vector<Result>& figures) {
    figures.push_back(latencyTable(latencies));
    if (std::optional<Result> plan = latencyPlan(latencies)) figures.push_back(std::move(*plan));
}

/// Heat maps of slices that are known by physical address.
void drawSlices(Probe& probe, const MemoryView& memory, const arch::AddressMap& map, std::uint64_t seed,
                std::vector<Result>& figures) {
    Random random(seed);
    std::vector<std::uint64_t> lines(map.slices(), 0);
    std::size_t tries = 0;
    for (std::size_t left = lines.size(); left != 0; ++tries) {
        if (tries > 10000 * lines.size()) throw Error("the probed memory has no line of {} slices", left);
        const arch::PhysicalAddress at = memory.random(random, 128);
        std::uint64_t& line = lines[map.locate(at).slice];
        left -= line == 0 ? 1 : 0;
        line = *memory.reach(at);
    }
    drawLatencies(timeSlices(probe, lines), figures);
    figures.push_back(slicesByAddress(memory.pageBytes(), memory.bytes(), [&](std::uint64_t offset) {
        return std::optional(map.locate(memory.physical(memory.base() + offset)).slice);
    }));
}

/// The same from labels of pages.
SliceLatencies timeSlices(Probe& probe, const LabelledPages& pages, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::uint64_t> lines;
    for (std::uint32_t slice = 0; slice < pages.form.slices(); ++slice)
        lines.push_back(pages.line(random, 128, [&](std::uint32_t s) { return s == slice; }));
    return timeSlices(probe, lines);
}

void drawSlices(const SliceLatencies& latencies, const LabelledPages& pages, std::vector<Result>& figures) {
    drawLatencies(latencies, figures);
    figures.push_back(
        slicesByAddress(kPageBytes, pages.bytes(), [&](std::uint64_t offset) { return pages.slice(offset); }));
}

/// Which SMs and slices lie in the same half of a side.
void reportRegions(const Sides& sides, const SliceLatencies& latencies, const ResidueHash& form, Listener& listener) {
    const auto regions = findRegions(sides);
    if (!regions) {
        listener.found({"L2 regions", {}, "", 0, "SMs of a side are equally far from its slices"});
        return;
    }
    const std::vector<L2Region> ofSlice = regionsOfSlices(*regions, latencies, form.modulus);
    std::string evidence;
    for (const L2Region region : kL2Regions)
        evidence += fmt::format("{}{} SMs and {} slices", evidence.empty() ? "" : ", ",
                                std::count(regions->ofSm.begin(), regions->ofSm.end(), region),
                                std::count(ofSlice.begin(), ofSlice.end(), region));
    listener.found({"L2 regions", std::int64_t{kL2Regions.size()}, "", regions->leastCorrelation, evidence});
}

/// Slices by contention, in the form of the H200 or any simpler one.
std::optional<MapFile> sliceMap(Probe& probe, const MemoryView& memory, const Options& options, const Linear& found,
                                Listener& listener, std::vector<Result>& figures) {
    const bool costly = probe.gpu().capabilities().costly;
    SliceMapOptions slices = SliceMapOptions::forGpu(probe.gpu());
    slices.seed = options.seed;
    SliceProbe sliceProbe(probe, memory, slices, listener);
    const std::optional<SliceMap> map = findSliceMap(sliceProbe);
    if (sliceProbe.sides()) figures.push_back(sideLatencies(*sliceProbe.sides()));
    if (!map) return std::nullopt;
    listener.step("Checking the map on fresh random addresses");
    const std::size_t addresses = costly ? std::min(options.verifyAddresses, slices.heldOut) : options.verifyAddresses;
    const bool physical = sliceProbe.physical();
    SliceAccuracy accuracy;
    LabelledPages pages;
    pages.base = sliceProbe.firstPage();
    pages.form = map->hash;
    pages.sided = sliceProbe.sided();
    if (physical) {
        pages.physical = &memory;
        accuracy = checkPhysical(sliceProbe, map->hash, addresses);
    } else {
        const std::size_t all = std::min(memory.bytes(), kMemoryToLabel) / kPageBytes - 1;
        // Enough to fill L2 twice.
        const std::size_t some = std::max<std::size_t>(12, 2 * found.cache.bytes / kPageBytes + 2);
        pages.labels = labelFirstPages(sliceProbe, map->hash, costly ? std::min(all, some) : all);
        accuracy = checkPages(sliceProbe, map->hash, pages.labels, addresses);
    }
    listener.found({"correct slices", 100 * accuracy.slice, "%", accuracy.slice,
                    fmt::format("on {} fresh addresses in {} pages; L2 sides correct: {:.2f} %", accuracy.addresses,
                                accuracy.pages, 100 * accuracy.side)});
    std::optional<SliceLatencies> latencies;
    if (pages.sided || options.figures) latencies = timeSlices(probe, pages, options.seed);
    if (options.figures) drawSlices(*latencies, pages, figures);
    if (pages.sided) reportRegions(*sliceProbe.sides(), *latencies, pages.form, listener);
    arch::AddressMap::Roles roles;
    roles.slice = map->digits.slice;
    std::optional<SliceSet> set;
    if (!found.eviction) set = findSliceShape(probe, memory, pages, found.cache, listener, options.seed, figures);
    if (set && options.figures) figures.push_back(missesBySet(probe, memory, set->lines, options.seed));
    if (set && physical && pages.form.modulus != 1 && pages.form.table.empty()) {
        const SliceHashes local =
            findSliceHashes(probe, memory, pages.form, set->cache, set->lines, listener, options.seed);
        roles.set = local.setDigits;
        roles.bank = local.bankDigits;
    }
    if (found.bank.decided && physical) {
        const Subspace module(map->hash.groups);
        roles.bank = digits(rest(found.bank.functions, intersection(found.bank.functions, module)));
        roles.row = digits(found.rows.bits);
    }
    MapFile file;
    file.map = arch::AddressMap(std::move(roles));
    file.physical = physical;
    file.confidence = accuracy.slice;
    file.form = map->hash;
    if (!physical) file.latencies = std::move(latencies);
    return file;
}

Bytes memoryToProbe(gpu::Gpu& gpu, const Options& options) {
    if (options.memory != 0) return options.memory;
    return gpu.capabilities().physicalAddresses && options.usePhysical ? ~Bytes{0} : kMemoryToLabel;
}

}  // namespace

Dissection dissect(gpu::Gpu& gpu, const Options& options, Listener& to) {
    if (options.verifyAddresses == 0) throw Error("no addresses to check the map with: choose at least 1");
    Dissection result;
    Recorder listener(to, result.findings);
    Probe probe(gpu, options.filter);
    MemoryView memory(gpu, memoryToProbe(gpu, options));
    if (!options.usePhysical) memory.forgetPhysical();
    Linear found;
    found.cache = findBasics(probe, memory, listener, options.seed);
    Finding capacity;
    result.figures.push_back(
        hitsByFootprint(probe, memory, found.cache, listener, options.seed, found.hitsWhenFull, capacity));
    // Where sides keep copies of each other's lines, the capacity of one is found once they are known.
    if (!gpu.capabilities().copiesFarLines) listener.found(capacity);
    if (memory.physicalKnown()) {
        findBanks(probe, memory, options, listener, found, result.figures);
        // Without banks, lists of lines that evict one another are too long, unless slices are known first.
        if (found.bank.decided) findSets(probe, memory, options, listener, found);
    }
    const bool linear = found.bank.decided && found.set.decided;
    if (linear) {
        result.file = linearMap(found);
        const MemoryHashes hashes = {
            found.bank.functions, found.set.functions,
            bitRange(static_cast<unsigned>(std::countr_zero(found.cache.lineBytes)), memory.addressBits()),
            found.eviction->lines.size()};
        listener.found({"memory modules", static_cast<std::int64_t>(result.file->map.slices()), "",
                        result.file->confidence, "XOR functions common to banks and sets"});
        if (options.figures) {
            result.figures.push_back(mapping(hashes));
            std::vector<Result>& figures = result.figures;
            illustrate("Figure 6", listener,
                       [&] { figures.push_back(missesBySet(probe, memory, hashes, options.seed)); });
            illustrate("Figure 8", listener,
                       [&] { drawInterference(probe, memory, hashes, options, listener, figures); });
            illustrate("outstanding misses per module", listener,
                       [&] { findMissesUnderWay(probe, memory, hashes, options, listener, figures); });
            illustrate("slices", listener, [&] { drawSlices(probe, memory, result.file->map, options.seed, figures); });
        }
    } else {
        result.file = sliceMap(probe, memory, options, found, listener, result.figures);
        if (!result.file && found.bank.decided) result.file = bankMap(found);
    }
    if (found.bank.decided) {
        RowConflicts conflicts(probe, memory, found.cache);
        findRowPolicy(conflicts, found.rows, found.pairTimes->slow - found.pairTimes->usual, options.seed, listener);
    }
    if (result.file) {
        describeColors(result.file->map, result.file->confidence, listener);
        result.file->gpu = gpu.info().name;
        result.file->uuid = gpu.uuid();
        result.file->findings = result.findings;
    }
    result.gpuSeconds = probe.gpuSeconds();
    return result;
}

}  // namespace bulkhead::dissect
