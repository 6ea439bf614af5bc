#pragma once

#include <functional>

#include "dissect/banks.h"
#include "dissect/findings.h"
#include "dissect/xor_hash.h"

namespace bulkhead::dissect {

/// Lines that share a set of L2 with a primary one, just enough to evict it.
struct EvictionSet {
    std::uint64_t primary = 0;         ///< where it can be reached
    std::vector<std::uint64_t> lines;  ///< likewise
    std::size_t tests = 0;             ///< that it took to find them
    /// Times that lines have to be read until what does not fit is gone: more than once where a set does not evict the
    /// least recently used. SetMembers then cannot tell who else shares the set.
    std::uint32_t rounds = 1;
};

/// Where Algorithm 2 takes its lines from. All addresses are those where lines can be reached.
struct LineSource {
    std::function<std::uint64_t(Random&)> primary;
    /// Other lines, each once, some of which may share the primary's set.
    std::function<std::vector<std::uint64_t>(std::uint64_t primary, std::size_t count, Random&)> candidates;
    std::size_t first = 256, most = 0;  ///< how many to begin with, and when to give up
};

/// Lines of the primary's own bank: sets and banks may share functions, and then few lines are enough.
LineSource linesOfBank(const MemoryView&, const ProbedCache&, const Subspace& bankFunctions);

/// Algorithm 2 of Fractional GPUs (appendix A), with group testing in place of adding lines one by one: half of a list
/// that still evicts is kept until no line can be left out.
class SetProbe {
  public:
    SetProbe(Probe& probe, const ProbedCache& cache) : probe_(probe), cache_(cache) {}

    /// Empty if no list evicts the primary or none can be made minimal.
    std::optional<EvictionSet> find(const LineSource&, std::uint64_t seed, const std::function<void(double)>& progress);

  private:
    std::optional<EvictionSet> findByRounds(const LineSource&, int attempts, Random&,
                                            const std::function<void(double)>& progress);
    Times timeAfter(std::span<const std::uint64_t> lines, std::uint64_t primary);
    bool evicted(std::span<const std::uint64_t> lines, std::uint64_t primary);
    bool shorten(std::vector<std::uint64_t>& lines, std::uint64_t primary, const std::function<void(double)>& progress);

    Probe& probe_;
    ProbedCache cache_;
    std::size_t tests_ = 0;
    std::uint32_t rounds_ = 1;
};

/// Why nothing more is known of a set that was found by rounds.
constexpr const char* kNoMembers = "lines of a set are told from others where the least recently used one goes";

/// Whether lines fall into the set of an eviction set's primary: one that does evicts it together with all but one line
/// of the eviction set.
class SetMembers {
  public:
    SetMembers(Probe& probe, const ProbedCache& cache, const EvictionSet& set)
        : probe_(probe), cache_(cache), set_(set) {}
    std::vector<bool> contain(std::span<const std::uint64_t> lines);
    const EvictionSet& set() const { return set_; }

  private:
    std::vector<bool> evictedByAny(const std::vector<std::vector<std::uint64_t>>& groups);

    Probe& probe_;
    ProbedCache cache_;
    EvictionSet set_;
};

/// Pairs of the primary and another line, which collide where they share a set.
class SetConflicts final : public PairOracle {
  public:
    SetConflicts(Probe& probe, const MemoryView& memory, const ProbedCache& cache, const EvictionSet& set)
        : memory_(memory), cache_(cache), members_(probe, cache, set) {}

    AddressPair randomPair(Random&) override;
    bool pairWithDifference(Mask difference, Random&, AddressPair&) override;
    std::vector<bool> collide(std::span<const AddressPair>) override;

  private:
    const MemoryView& memory_;
    ProbedCache cache_;
    SetMembers members_;
};

}  // namespace bulkhead::dissect
