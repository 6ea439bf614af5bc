#include "dissect/slice_hashes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace bulkhead::dissect {
namespace {

constexpr std::size_t kCalibration = 2000;  // pairs

/// Lines of one slice by their local addresses.
class SliceLines {
  public:
    SliceLines(const MemoryView& memory, const LocalAddresses& locals, std::uint32_t slice)
        : memory_(memory), locals_(locals), slice_(slice) {}

    Mask random(Random& random) const {
        for (;;) {
            const Mask local = random.next() & locals_.bits();
            if (reach(local)) return local;
        }
    }
    /// Bits that lines of the slice differ in: the upper ones need not, where memory is no power of two.
    Mask varying(Random& random) const {
        constexpr int kLines = 4096;
        const Mask first = this->random(random);
        Mask bits = 0;
        for (int i = 0; i < kLines; ++i) bits |= first ^ this->random(random);
        return bits;
    }
    std::optional<std::uint64_t> reach(Mask local) const {
        const auto at = locals_.address(local, slice_);
        return at ? memory_.reach(*at) : std::nullopt;
    }

  private:
    const MemoryView& memory_;
    const LocalAddresses& locals_;
    std::uint32_t slice_;
};

/// Algorithm 2 within a slice: pairs of the primary and another line.
class LocalSets final : public PairOracle {
  public:
    LocalSets(Probe& probe, const CacheShape& cache, const EvictionSet& set, const SliceLines& lines, Mask primary)
        : members_(probe, cache, set), lines_(lines), primary_(primary) {}

    AddressPair randomPair(Random& random) override {
        AddressPair pair;
        do pair = {primary_, lines_.random(random)};
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

/// Algorithm 1 within a slice. Every time that a line is used again, it is by another sector, which is not cached.
class LocalBanks final : public PairOracle {
  public:
    LocalBanks(Probe& probe, const MemoryView& memory, const CacheShape& cache, const SliceLines& lines)
        : probe_(probe), memory_(memory), cache_(cache), lines_(lines) {}

    bool calibrate(std::size_t pairs, Random& random) {
        std::vector<AddressPair> list(pairs);
        for (AddressPair& p : list) p = randomPair(random);
        split_ = splitSlow(time(list));
        return split_.has_value();
    }
    AddressPair randomPair(Random& random) override { return {lines_.random(random), lines_.random(random)}; }
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
    std::uint64_t unused(Mask local) {
        unsigned& uses = uses_[local];
        if (uses == cache_.sectorsPerLine()) {
            fresh_ = false;
            uses = 0;
        }
        return *lines_.reach(local) + cache_.sectorBytes * uses++;
    }

    Probe& probe_;
    const MemoryView& memory_;
    CacheShape cache_;
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
Span commonFunctions(const LocalAddresses& locals, const Pairs& pairs) {
    Span differences;
    for (const auto& [a, b] : pairs) differences.add(locals.local(a) ^ locals.local(b));
    return differences.orthogonal(locals.bits());
}

/// The order in which lines of a set, and then lines of a bank, have the most functions in common. Some orders only
/// rename the sets; the one that digits can express is the simplest. Empty if lines of a set have nothing in common in
/// any order.
std::optional<LocalAddresses> bestOrder(const ResidueHash& hash, Mask bits, const Pairs& sets, const Pairs& banks) {
    std::optional<LocalAddresses> best;
    std::array<std::size_t, 4> most = {};
    for (const auto& order : indexOrders(hash)) {
        LocalAddresses locals(hash, order, bits);
        const Span set = commonFunctions(locals, sets), bank = commonFunctions(locals, banks);
        if (set.dimension() == 0) continue;
        const std::array<std::size_t, 4> score = {set.dimension(), bank.dimension(), locals.digits(set) ? 1U : 0U,
                                                  locals.digits(bank) ? 1U : 0U};
        if (score <= most) continue;
        most = score;
        best = std::move(locals);
    }
    return best;
}

void describe(const char* what, const XorHash& hash, const LocalAddresses& locals, Listener& listener) {
    listener.found(
        {what, hash.decided ? Value(locals.describe(hash.functions)) : Value(), "", hash.confidence,
         (hash.decided ? "address bits, and bits q of the index divided by its modulus; " : "") + hash.evidence});
}

}  // namespace

SliceHashes findSliceHashes(Probe& probe, const MemoryView& memory, const ResidueHash& hash, const CacheShape& cache,
                            const EvictionSet& set, Listener& listener, std::uint64_t seed) {
    listener.step("which bits decide the set and the bank within a slice");
    SliceHashes found;
    const Mask bits = bitRange(static_cast<unsigned>(std::countr_zero(cache.lineBytes)), memory.addressBits());
    const auto orders = indexOrders(hash);
    const auto undecided = [&](const std::string& why) {
        listener.found({"set within a slice", {}, "", 0, why});
        listener.found({"bank within a slice", {}, "", 0, why});
        return found;
    };
    if (orders.empty()) return undecided("the parities of the slice hash do not tell which is which bit of its index");
    Random random(seed);
    const arch::PhysicalAddress primary = memory.physical(set.primary);
    std::optional<LocalAddresses> locals;
    {
        // Which lines are of the slice does not depend on the order.
        const LocalAddresses any(hash, orders.front(), bits);
        const SliceLines lines(memory, any, any.slice(primary));
        LocalSets sets(probe, cache, set, lines, any.local(primary));
        LocalBanks banks(probe, memory, cache, lines);
        const Pairs ofSet = collidingPairs(sets, memory, lines, random);
        const bool rows = banks.calibrate(kCalibration, random);
        locals = bestOrder(hash, bits, ofSet, rows ? collidingPairs(banks, memory, lines, random) : Pairs());
        if (!locals)
            return undecided(
                fmt::format("{} lines of a set have no XOR of bits in common, whichever of {} orders the "
                            "index's bits have",
                            ofSet.size(), orders.size()));
    }
    const SliceLines lines(memory, *locals, locals->slice(primary));
    XorHashOptions search;
    search.bits = lines.varying(random);
    search.seed = seed;
    search.progress = [&](double f) { listener.progress(f); };
    LocalSets sets(probe, cache, set, lines, locals->local(primary));
    found.set = recoverXorHash(sets, search);
    describe("set within a slice", found.set, *locals, listener);
    if (found.set.decided) found.setDigits = locals->digits(found.set.functions).value_or(std::vector<arch::Digit>());

    LocalBanks banks(probe, memory, cache, lines);
    if (!banks.calibrate(kCalibration, random)) {
        listener.found({"bank within a slice", {}, "", 0, "no pairs of lines of a slice stand out as slower"});
        return found;
    }
    found.bank = recoverXorHash(banks, search);
    describe("bank within a slice", found.bank, *locals, listener);
    if (found.bank.decided)
        found.bankDigits = locals->digits(found.bank.functions).value_or(std::vector<arch::Digit>());
    return found;
}

}  // namespace bulkhead::dissect
