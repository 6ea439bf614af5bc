#pragma once

#include "dissect/banks.h"
#include "dissect/xor_hash.h"

namespace bulkhead::dissect {

/// Lines that share a set of L2 with a primary one, just enough to evict it.
struct EvictionSet {
    std::uint64_t primary = 0;         ///< where it can be reached
    std::vector<std::uint64_t> lines;  ///< likewise
    std::size_t tests = 0;             ///< that it took to find them
};

/// Algorithm 2 of Fractional GPUs (appendix A), with group testing in place of adding lines one by one: half of a list
/// that still evicts is kept until no line can be left out.
class SetProbe {
  public:
    SetProbe(Probe& probe, const MemoryView& memory, const CacheShape& cache)
        : probe_(probe), memory_(memory), cache_(cache) {}

    /// Looks among lines of the same bank, where that is known: sets and banks may share functions, and then few lines
    /// are enough. Empty if no list evicts the primary or none can be made minimal.
    std::optional<EvictionSet> find(const Span* bankFunctions, std::uint64_t seed,
                                    const std::function<void(double)>& progress);

  private:
    bool evicted(std::span<const std::uint64_t> lines, std::uint64_t primary);
    std::vector<std::uint64_t> candidates(arch::PhysicalAddress primary, const Span* bankFunctions, std::size_t count,
                                          Random&) const;
    bool shorten(std::vector<std::uint64_t>& lines, std::uint64_t primary, const std::function<void(double)>& progress);

    Probe& probe_;
    const MemoryView& memory_;
    CacheShape cache_;
    std::size_t tests_ = 0;
};

/// Whether a line falls into the primary's set: it evicts the primary together with all but one line of an eviction
/// set.
class SetConflicts final : public PairOracle {
  public:
    SetConflicts(Probe& probe, const MemoryView& memory, const CacheShape& cache, const EvictionSet& set)
        : probe_(probe), memory_(memory), cache_(cache), set_(set) {}

    AddressPair randomPair(Random&) override;
    bool pairWithDifference(Mask difference, Random&, AddressPair&) override;
    std::vector<bool> collide(std::span<const AddressPair>) override;

  private:
    std::vector<bool> evictedByAny(const std::vector<std::vector<std::uint64_t>>& groups);

    Probe& probe_;
    const MemoryView& memory_;
    CacheShape cache_;
    EvictionSet set_;
};

/// How a set chooses whom to evict.
struct Replacement {
    bool leastRecentlyUsed = false;
    bool firstInFirstOut = false;
    std::size_t readsToEvictRead = 0;   ///< lines read until a line that was read is gone
    std::size_t readsToEvictWrite = 0;  ///< until a line that was written is gone; 0: more than there were
    Bytes evictedTogether = 0;          ///< bytes around the primary that go with it: the line
};
Replacement findReplacement(Probe&, const CacheShape&, const EvictionSet&, const std::vector<std::uint64_t>& more);

}  // namespace bulkhead::dissect
