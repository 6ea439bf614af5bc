#include "dissect/slice_hashes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace bulkhead::dissect {
namespace {

constexpr std::size_t kCalibration = 2000;  // pairs

/// Lines by their slices and local addresses, as one number: the slice stands above the local address, so that two
/// lines of a slice differ in local bits alone.
class SliceLines {
  public:
    SliceLines(const MemoryView& memory, const LocalAddresses& locals, std::uint32_t slices)
        : memory_(memory), locals_(locals), slices_(slices) {}

    Mask code(arch::PhysicalAddress at) const { return locals_.local(at) | Mask{locals_.slice(at)} << kSliceShift; }
    std::optional<std::uint64_t> reach(Mask code) const {
        const auto at = locals_.address(code & locals_.bits(), sliceOf(code));
        return at ? memory_.reach(*at) : std::nullopt;
    }
    static std::uint32_t sliceOf(Mask code) { return static_cast<std::uint32_t>(code >> kSliceShift); }
    Mask random(Random& random) const { return ofSlice(static_cast<std::uint32_t>(random.below(slices_)), random); }
    Mask ofSlice(std::uint32_t slice, Random& random) const {
        for (;;) {
            const Mask code = (random.next() & locals_.bits()) | Mask{slice} << kSliceShift;
            if (reach(code)) return code;
        }
    }
    /// Bits that lines of a slice differ in: the upper ones need not, where memory is no power of two.
    Mask varying(Random& random) const {
        constexpr int kLines = 4096;
        const Mask first = ofSlice(0, random);
        Mask bits = 0;
        for (int i = 0; i < kLines; ++i) bits |= first ^ ofSlice(0, random);
        return bits;
    }

  private:
    static constexpr unsigned kSliceShift = 48;

    const MemoryView& memory_;
    const LocalAddresses& locals_;
    std::uint32_t slices_;
};

/// Algorithm 2 within a slice: pairs of the primary and another line.
class LocalSets final : public PairOracle {
  public:
    LocalSets(Probe& probe, const ProbedCache& cache, const EvictionSet& set, const SliceLines& lines, Mask primary)
        : members_(probe, cache, set), lines_(lines), primary_(primary) {}

    AddressPair randomPair(Random& random) override {
        AddressPair pair;
        do pair = {primary_, lines_.ofSlice(SliceLines::sliceOf(primary_), random)};
        while (inUse(pair.second));
        return pair;
    }
    bool pairWithDifference(Mask difference, Random&, AddressPair& pair) override {
        pair = {primary_, primary_ ^ difference};
        return difference != 0 && lines_.reach(pair.second) && !inUse(pair.second);
    }
    std::vector<bool> collide(std::span<const AddressPair> pairs) override {
        std::vector<std::uint64_t> list;
        for (const AddressPair& p : pairs) list.push_back(*lines_.reach(p.second));
        return members_.contain(list);
    }

  private:
    bool inUse(Mask local) const {
        const std::uint64_t line = *lines_.reach(local);
        const EvictionSet& set = members_.set();
        return line == set.primary || std::find(set.lines.begin(), set.lines.end(), line) != set.lines.end();
    }

    SetMembers members_;
    const SliceLines& lines_;
    Mask primary_;
};

/// Algorithm 1 within slices. Every time that a line is used again, it is by another sector, which is not cached.
class LocalBanks final : public PairOracle {
  public:
    LocalBanks(Probe& probe, const MemoryView& memory, const ProbedCache& cache, const SliceLines& lines)
        : probe_(probe), memory_(memory), cache_(cache), lines_(lines) {}

    bool calibrate(std::size_t pairs, Random& random) {
        std::vector<AddressPair> list(pairs);
        for (AddressPair& p : list) p = randomPair(random);
        split_ = splitSlow(time(list));
        return split_.has_value();
    }
    AddressPair randomPair(Random& random) override {
        const Mask one = lines_.random(random);
        return {one, lines_.ofSlice(SliceLines::sliceOf(one), random)};
    }
    bool pairWithDifference(Mask difference, Random& random, AddressPair& pair) override {
        const Mask one = lines_.random(random);
        pair = {one, one ^ difference};
        return difference != 0 && lines_.reach(pair.second);
    }
    std::vector<bool> collide(std::span<const AddressPair> pairs) override {
        std::vector<bool> answers;
        for (std::uint32_t t : time(pairs)) answers.push_back(t > split_->threshold);
        return answers;
    }

  private:
    Times time(std::span<const AddressPair> pairs) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
        for (const AddressPair& p : pairs) list.emplace_back(unused(p.first), unused(p.second));
        if (!fresh_) {
            clearCache(probe_, memory_, cache_);
            uses_.clear();
            fresh_ = true;
        }
        return probe_.timePairs(list);
    }
    std::uint64_t unused(Mask line) {
        unsigned& uses = uses_[line];
        if (uses == cache_.sectorsPerLine()) {
            fresh_ = false;
            uses = 0;
        }
        return *lines_.reach(line) + cache_.sectorBytes * uses++;
    }

    Probe& probe_;
    const MemoryView& memory_;
    ProbedCache cache_;
    const SliceLines& lines_;
    std::optional<TimeSplit> split_;
    std::unordered_map<Mask, unsigned> uses_;
    bool fresh_ = true;
};

using Pairs = std::vector<std::pair<arch::PhysicalAddress, arch::PhysicalAddress>>;

/// Pairs of lines of a slice that collide again and again, as physical addresses.
Pairs collidingPairs(PairOracle& oracle, const MemoryView& memory, const SliceLines& lines, Random& random) {
    constexpr std::size_t kEnough = 64, kBatch = 2048, kMostBatches = 16;
    constexpr int kVotes = 3;
    Pairs found;
    for (std::size_t batch = 0; batch < kMostBatches && found.size() < kEnough; ++batch) {
        std::vector<AddressPair> pairs(kBatch);
        for (AddressPair& p : pairs) p = oracle.randomPair(random);
        for (int vote = 0; vote <= kVotes && !pairs.empty(); ++vote) {
            const std::vector<bool> collide = oracle.collide(pairs);
            std::size_t at = 0;
            std::erase_if(pairs, [&](const AddressPair&) { return !collide[at++]; });
        }
        for (const AddressPair& p : pairs)
            found.emplace_back(memory.physical(*lines.reach(p.first)), memory.physical(*lines.reach(p.second)));
    }
    return found;
}

/// What all pairs have in common.
Subspace commonFunctions(const LocalAddresses& locals, const Pairs& pairs) {
    Subspace differences;
    for (const auto& [a, b] : pairs) differences.add(locals.local(a) ^ locals.local(b));
    return differences.orthogonal(locals.bits());
}

/// Whether lines that should share a set do, and others do not, in slices that the functions were not found in.
bool holdsElsewhere(Probe& probe, const ProbedCache& cache, const EvictionSet& set, const SliceLines& lines,
                    const LocalAddresses& locals, const Subspace& functions, Random& random) {
    constexpr int kSets = 24, kTries = 10'000;
    const Subspace alike = functions.orthogonal(locals.bits());
    int right = 0;
    for (int i = 0; i < kSets; ++i) {
        const Mask primary = lines.random(random);
        std::vector<std::uint64_t> same, others;
        for (int tries = 0; tries < kTries && same.size() < set.lines.size(); ++tries) {
            const auto line = lines.reach(primary ^ alike.random(random));
            if (line && *line != *lines.reach(primary)) same.push_back(*line);
        }
        while (others.size() < set.lines.size()) {
            const Mask other = lines.ofSlice(SliceLines::sliceOf(primary), random);
            if (!alike.contains((other ^ primary) & locals.bits())) others.push_back(*lines.reach(other));
        }
        const auto lost = [&](const std::vector<std::uint64_t>& list) {
            const Times times = probe.timeAfterLines(list, *lines.reach(primary), cache.sectorsPerLine(),
                                                     static_cast<std::uint32_t>(cache.sectorBytes));
            const auto misses = std::count_if(times.begin(), times.end(), [&](auto t) { return cache.misses(t); });
            return 2 * static_cast<std::size_t>(misses) > times.size();
        };
        right += (lost(same) ? 1 : 0) + (lost(others) ? 0 : 1);
    }
    return right > 9 * 2 * kSets / 10;
}

/// Orders of the index's bits, the likeliest first: those in which lines of a set, and then lines of a bank, have the
/// most functions in common, and of them those that digits can express. Only orders in which lines of a set have
/// something in common.
std::vector<LocalAddresses> likelyOrders(const ResidueHash& hash, Mask bits, const Pairs& sets, const Pairs& banks) {
    constexpr std::size_t kMost = 24;
    std::vector<std::pair<std::array<std::size_t, 4>, LocalAddresses>> ranked;
    for (const auto& order : indexOrders(hash)) {
        LocalAddresses locals(hash, order, bits);
        const Subspace set = commonFunctions(locals, sets), bank = commonFunctions(locals, banks);
        if (set.dimension() == 0) continue;
        const std::array<std::size_t, 4> score = {set.dimension(), bank.dimension(), locals.digits(set) ? 1U : 0U,
                                                  locals.digits(bank) ? 1U : 0U};
        ranked.emplace_back(score, std::move(locals));
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<LocalAddresses> list;
    for (std::size_t i = 0; i < std::min(kMost, ranked.size()); ++i) list.push_back(std::move(ranked[i].second));
    return list;
}

void describe(const char* what, const XorHash& hash, const LocalAddresses& locals, Listener& listener) {
    listener.found(
        {what, hash.decided ? Value(locals.describe(hash.functions)) : Value(), "", hash.confidence,
         (hash.decided ? "address bits, and bits q of the slice index divided by its modulus; " : "") + hash.evidence});
}

}  // namespace

SliceHashes findSliceHashes(Probe& probe, const MemoryView& memory, const ResidueHash& hash, const ProbedCache& cache,
                            const EvictionSet& set, Listener& listener, std::uint64_t seed) {
    listener.step("Finding the address bits of set and bank within a slice");
    SliceHashes found;
    const Mask bits = bitRange(static_cast<unsigned>(std::countr_zero(cache.lineBytes)), memory.addressBits());
    const auto orders = indexOrders(hash);
    const auto undecided = [&](const std::string& why) {
        listener.found({"set within a slice", {}, "", 0, why});
        listener.found({"bank within a slice", {}, "", 0, why});
        return found;
    };
    if (orders.empty()) return undecided("the slice hash does not determine the order of its index bits");
    Random random(seed);
    const arch::PhysicalAddress primary = memory.physical(set.primary);
    Pairs ofSet, ofBank;
    {
        // Which lines are of one slice does not depend on the order.
        const LocalAddresses any(hash, orders.front(), bits);
        const SliceLines lines(memory, any, hash.slices());
        LocalSets sets(probe, cache, set, lines, lines.code(primary));
        LocalBanks banks(probe, memory, cache, lines);
        ofSet = collidingPairs(sets, memory, lines, random);
        if (banks.calibrate(kCalibration, random)) ofBank = collidingPairs(banks, memory, lines, random);
    }
    XorHashOptions search;
    search.seed = seed;
    search.progress = [&](double f) { listener.progress(f); };
    std::optional<LocalAddresses> locals;
    for (const LocalAddresses& likely : likelyOrders(hash, bits, ofSet, ofBank)) {
        const SliceLines lines(memory, likely, hash.slices());
        if (!holdsElsewhere(probe, cache, set, lines, likely, commonFunctions(likely, ofSet), random)) continue;
        locals = likely;
        break;
    }
    if (!locals)
        return undecided(
            fmt::format("{} lines of a set have no common XOR of bits that holds in other slices, "
                        "in any of {} orders of the index bits",
                        ofSet.size(), orders.size()));
    const SliceLines lines(memory, *locals, hash.slices());
    search.bits = lines.varying(random);
    LocalSets sets(probe, cache, set, lines, lines.code(primary));
    found.set = recoverXorHash(sets, search);
    describe("set within a slice", found.set, *locals, listener);
    if (found.set.decided) found.setDigits = locals->digits(found.set.functions).value_or(std::vector<arch::Digit>());

    LocalBanks banks(probe, memory, cache, lines);
    if (!banks.calibrate(kCalibration, random)) {
        listener.found({"bank within a slice", {}, "", 0, "no pair of lines of a slice is slower than the others"});
        return found;
    }
    found.bank = recoverXorHash(banks, search);
    describe("bank within a slice", found.bank, *locals, listener);
    if (found.bank.decided)
        found.bankDigits = locals->digits(found.bank.functions).value_or(std::vector<arch::Digit>());
    return found;
}

}  // namespace bulkhead::dissect
