#include "dissect/dissect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "dissect/basics.h"
#include "dissect/figures.h"
#include "dissect/mshrs.h"
#include "dissect/quarters.h"
#include "dissect/slice_hashes.h"
#include "dissect/slice_map.h"
#include "dissect/slice_shape.h"

namespace bulkhead::dissect {
namespace {

constexpr Bytes kRealMemory = 4_GiB;

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
std::vector<Mask> rest(const Span& all, const Span& part) {
    Span seen = part;
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
    CacheShape cache;
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
    listener.found({"L2 sets by count", found.set.colliding > 10 ? Value(std::round(sets)) : Value(), "",
                    found.set.colliding > 10 ? 1 - error : 0,
                    fmt::format("{} of {} random lines share a set, which is exact to {:.0f} %", found.set.colliding,
                                found.set.pairs, 100 * error)});
    const double atRandom = randomlyFilled(found.eviction->lines.size());
    const bool even = found.hitsWhenFull > (1 + atRandom) / 2;
    listener.found({"how L2 is filled", std::string(even ? "evenly" : "as if at random"), "", 0.9,
                    fmt::format("of contiguous memory of its size {:.1f} % stay; with even sets all would, with lines "
                                "that fall at random {:.1f} %",
                                100 * found.hitsWhenFull, 100 * atRandom)});
}

Result pairTrend(const std::vector<RowConflicts::Sample>& samples) {
    Result r;
    r.title = "Figure 3: time of pairs, one address fixed";
    r.columns = {{"secondary address", ""}, {"time", "cycles"}};
    for (const auto& s : samples) r.add({fmt::format("{:#x}", s.pair.second), static_cast<std::int64_t>(s.cycles)});
    r.charts.push_back({Chart::Kind::line,
                        "time of pairs, in the order of secondary addresses",
                        "",
                        {"time"},
                        {},
                        {},
                        "",
                        false,
                        false});
    return r;
}

Result sideLatencies(const Sides& sides) {
    Result r;
    r.title = "Figure 3 by sides: latency of atomics from a multiprocessor of either side";
    r.columns = {{"address", ""}, {"side 0", "cycles"}, {"side 1", "cycles"}};
    const auto other = std::find(sides.ofMultiprocessor.begin(), sides.ofMultiprocessor.end(), 1);
    const auto second = static_cast<std::size_t>(other - sides.ofMultiprocessor.begin()) % sides.latencies.size();
    for (std::size_t i = 0; i < sides.addresses.size(); ++i)
        r.add({fmt::format("{:#x}", sides.addresses[i]), static_cast<std::int64_t>(sides.latencies[0][i]),
               static_cast<std::int64_t>(sides.latencies[second][i])});
    r.charts.push_back({Chart::Kind::line, "latency of atomics", "", {"side 0", "side 1"}, {}, {}, "", false, false});
    return r;
}

Result mapping(const MemoryHashes& h) {
    Result r;
    r.title = "Figure 6: functions of physical address bits";
    r.columns = {{"index", ""}, {"bit", ""}, {"address bits", ""}};
    const Span module = h.module();
    const auto add = [&](const char* name, const std::vector<Mask>& masks) {
        for (std::size_t i = 0; i < masks.size(); ++i) r.add({name, static_cast<std::int64_t>(i), maskText(masks[i])});
    };
    add("module", module.basis());
    add("bank", rest(h.bank, module));
    add("set", rest(h.set, module));
    return r;
}

void findBanks(Probe& probe, const MemoryView& memory, const Options& options, Listener& listener, Linear& found,
               std::vector<Result>& figures) {
    listener.step("DRAM banks, by row conflicts (Algorithm 1)");
    RowConflicts conflicts(probe, memory, found.cache);
    if (!conflicts.calibrate(6000, options.seed)) {
        listener.found({"DRAM banks", {}, "", 0, "no pairs of addresses stand out as slower than the rest"});
        return;
    }
    found.pairTimes = conflicts.split();
    listener.found({"time of a pair", conflicts.split()->usual, "cycles", 1,
                    fmt::format("{:.0f} with a row conflict, {:.2f} % of random pairs", conflicts.split()->slow,
                                100 * conflicts.split()->slowShare)});
    if (options.figures) {
        figures.push_back(pairTrend(conflicts.trend(60, options.seed + 1)));
        Times times;
        for (const auto& sample : conflicts.samples()) times.push_back(sample.cycles);
        figures.push_back(timeHistogram("Figure 4: histogram of the time of random pairs", std::move(times)));
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
                    "addresses of a bank that make no conflict"});
}

void findSets(Probe& probe, const MemoryView& memory, const Options& options, Listener& listener, Linear& found) {
    listener.step("L2 sets, by eviction (Algorithm 2)");
    SetProbe search(probe, found.cache);
    found.eviction = search.find(linesOfBank(memory, found.cache, found.bank.functions), options.seed,
                                 [&](double f) { listener.progress(f); });
    if (!found.eviction) {
        listener.found({"L2 ways", {}, "", 0, "no list of lines that just evicts a line was found"});
        return;
    }
    const std::size_t ways = found.eviction->lines.size();
    listener.found({"L2 ways", static_cast<std::int64_t>(ways), "", 1,
                    fmt::format("lines that just evict another; {} tests", found.eviction->tests)});
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
    const Span alike = found.set.functions.orthogonal(hash.bits);
    Random random(options.seed + 2);
    for (std::size_t tries = 0; found.set.decided && more.size() < 2 * ways && tries < 100 * ways; ++tries) {
        AddressPair pair;
        if (conflicts.pairWithDifference(alike.random(random), random, pair))
            more.push_back(*memory.reach(pair.second));
    }
    std::sort(more.begin(), more.end());
    more.erase(std::unique(more.begin(), more.end()), more.end());
    describe(findReplacement(probe, found.cache, *found.eviction, more), listener);
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
        listener.found({figure, {}, "", 0, fmt::format("left out: {}", error.what())});
    }
}

void drawInterference(Probe& probe, const MemoryView& memory, const MemoryHashes& hashes, const Options& options,
                      Listener& listener, std::vector<Result>& figures) {
    listener.step("interference by what threads share (figure 8)");
    std::vector<unsigned> threads;
    for (unsigned n = 1; n <= 50; n += n < 20 ? 1 : 5) threads.push_back(n);
    figures.push_back(interferenceByThreads(probe, memory, hashes, threads, listener, options.seed));
}

void findMissesUnderWay(Probe& probe, const MemoryView& memory, const MemoryHashes& hashes, const Options& options,
                        Listener& listener, std::vector<Result>& figures) {
    Result behind;
    const Mshrs mshrs = findMshrs(probe, memory, hashes, options.seed, behind);
    figures.push_back(std::move(behind));
    listener.found({"misses under way in a module", mshrs.ofModule ? Value(std::int64_t{*mshrs.ofModule}) : Value(), "",
                    mshrs.ofModule ? 0.9 : 0.0, mshrs.evidence});
}

/// The whole map where bank and set are XOR hashes.
MapFile linearMap(const Linear& found) {
    const Span module = intersection(found.bank.functions, found.set.functions);
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

/// Heat maps of slices that are known by physical address.
void drawSlices(Probe& probe, const MemoryView& memory, const arch::AddressMap& map, std::uint64_t seed,
                std::vector<Result>& figures) {
    Random random(seed);
    std::vector<std::uint64_t> lines(map.slices(), 0);
    std::size_t tries = 0;
    for (std::size_t left = lines.size(); left != 0; ++tries) {
        if (tries > 10000 * lines.size()) throw Error("the memory that is probed has no line of {} slices", left);
        const arch::PhysicalAddress at = memory.random(random, 128);
        std::uint64_t& line = lines[map.locate(at).slice];
        left -= line == 0 ? 1 : 0;
        line = *memory.reach(at);
    }
    figures.push_back(latencyTable(timeSlices(probe, lines)));
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
    figures.push_back(latencyTable(latencies));
    figures.push_back(
        slicesByAddress(kPageBytes, pages.bytes(), [&](std::uint64_t offset) { return pages.slice(offset); }));
}

/// Which multiprocessors and slices lie in the same half of a side.
void reportQuarters(const Sides& sides, const SliceLatencies& latencies, const ResidueHash& form, Listener& listener) {
    const auto quarters = findQuarters(sides);
    if (!quarters) {
        listener.found({"L2 quarters", {}, "", 0, "multiprocessors of a side are equally far from its slices"});
        return;
    }
    const std::vector<std::uint8_t> ofSlice = quartersOfSlices(*quarters, latencies, form.modulus);
    std::string evidence;
    for (unsigned q = 0; q < 4; ++q)
        evidence += fmt::format("{}{} multiprocessors and {} slices", q == 0 ? "" : ", ",
                                std::count(quarters->ofMultiprocessor.begin(), quarters->ofMultiprocessor.end(), q),
                                std::count(ofSlice.begin(), ofSlice.end(), q));
    listener.found({"L2 quarters", std::int64_t{4}, "", quarters->leastCorrelation, evidence});
}

/// Slices by contention, in the form of the H200 or any simpler one.
std::optional<MapFile> sliceMap(Probe& probe, const MemoryView& memory, const Options& options, const Linear& found,
                                Listener& listener, std::vector<Result>& figures) {
    const bool simulated = probe.gpu().simulator() != nullptr;
    SliceMapOptions slices = SliceMapOptions::forGpu(probe.gpu());
    slices.seed = options.seed;
    SliceMapper mapper(probe, memory, slices, listener);
    const bool decided = mapper.find();
    if (mapper.sides()) figures.push_back(sideLatencies(*mapper.sides()));
    if (!decided) return std::nullopt;
    listener.step("fresh random addresses");
    const std::size_t addresses =
        simulated ? std::min(options.verifyAddresses, slices.heldOut) : options.verifyAddresses;
    SliceMapper::Accuracy accuracy;
    LabelledPages pages;
    pages.base = mapper.firstPage();
    pages.form = mapper.hash();
    pages.sided = mapper.sided();
    if (mapper.physical()) {
        pages.physical = &memory;
        accuracy = mapper.verifyPhysical(addresses);
    } else {
        const std::size_t all = std::min(memory.bytes(), kRealMemory) / kPageBytes - 1;
        // A simulated GPU takes its time: enough to fill L2 twice.
        const std::size_t some = std::max<std::size_t>(12, 2 * found.cache.bytes / kPageBytes + 2);
        pages.labels = mapper.labelPages(simulated ? std::min(all, some) : all);
        accuracy = mapper.verify(pages.labels, addresses);
    }
    listener.found({"right slices", 100 * accuracy.slice, "%", accuracy.slice,
                    fmt::format("of {} fresh addresses in {} pages; sides {:.2f} %", accuracy.addresses, accuracy.pages,
                                100 * accuracy.side)});
    std::optional<SliceLatencies> latencies;
    if (mapper.sided() || options.figures) latencies = timeSlices(probe, pages, options.seed);
    if (options.figures) drawSlices(*latencies, pages, figures);
    if (mapper.sided()) reportQuarters(*mapper.sides(), *latencies, pages.form, listener);
    arch::AddressMap::Roles roles;
    roles.slice = mapper.digits().slice;
    std::optional<SliceSet> set;
    if (!found.eviction) set = findSliceShape(probe, memory, pages, found.cache, listener, options.seed, figures);
    if (set && mapper.physical() && pages.form.modulus != 1 && pages.form.table.empty()) {
        const SliceHashes local =
            findSliceHashes(probe, memory, pages.form, set->cache, set->lines, listener, options.seed);
        roles.set = local.setDigits;
        roles.bank = local.bankDigits;
    }
    if (found.bank.decided && mapper.physical()) {
        const Span module(mapper.hash().groups);
        roles.bank = digits(rest(found.bank.functions, intersection(found.bank.functions, module)));
        roles.row = digits(found.rows.bits);
    }
    MapFile file;
    file.map = arch::AddressMap(std::move(roles));
    file.physical = mapper.physical();
    file.confidence = accuracy.slice;
    file.form = mapper.hash();
    if (!mapper.physical()) file.latencies = std::move(latencies);
    return file;
}

Bytes memoryToProbe(gpu::Gpu& gpu, const Options& options) {
    if (options.memory != 0) return options.memory;
    return gpu.simulator() != nullptr && options.usePhysical ? ~Bytes{0} : kRealMemory;
}

}  // namespace

Dissection dissect(gpu::Gpu& gpu, const Options& options, Listener& to) {
    if (options.verifyAddresses == 0) throw Error("no addresses to check the map with: choose 1 at least");
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
    // Sides of a real GPU keep copies of each other's lines; the capacity of one is found once they are known.
    if (gpu.simulator() != nullptr) listener.found(capacity);
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
                        result.file->confidence, "functions that banks and sets have in common"});
        if (options.figures) {
            result.figures.push_back(mapping(hashes));
            std::vector<Result>& figures = result.figures;
            illustrate("figure 8", listener,
                       [&] { drawInterference(probe, memory, hashes, options, listener, figures); });
            illustrate("misses under way in a module", listener,
                       [&] { findMissesUnderWay(probe, memory, hashes, options, listener, figures); });
            illustrate("slices", listener, [&] { drawSlices(probe, memory, result.file->map, options.seed, figures); });
        }
    } else {
        result.file = sliceMap(probe, memory, options, found, listener, result.figures);
        if (!result.file && found.bank.decided) result.file = bankMap(found);
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
