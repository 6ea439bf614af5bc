#pragma once

#include <optional>
#include <unordered_set>

#include "dissect/memory_view.h"
#include "dissect/probe.h"
#include "dissect/time_split.h"
#include "dissect/xor_hash.h"

namespace bulkhead::dissect {

/// What the L2 looks like so far.
struct ProbedCache {
    Bytes bytes = 0;  ///< as the driver says
    Bytes sectorBytes = 32, lineBytes = 128;
    double hitCycles = 0, missCycles = 0;  ///< of one access by timeAccesses()

    bool misses(std::uint32_t cycles) const { return cycles > (hitCycles + missCycles) / 2; }
    std::uint32_t sectorsPerLine() const { return static_cast<std::uint32_t>(lineBytes / sectorBytes); }
};

/// ClearGpuCache of Algorithm 1: reads lines spread over all of the memory, enough for every set whatever the hash.
void clearCache(Probe&, const MemoryView&, const ProbedCache&);

/// Algorithm 1 of Fractional GPUs: two loads that want different rows of one DRAM bank take longer together than two
/// that do not.
class RowConflicts final : public PairOracle {
  public:
    RowConflicts(Probe&, const MemoryView&, const ProbedCache&);

    /// Times random pairs and finds the threshold. False if no slow cluster stands out.
    bool calibrate(std::size_t pairs, std::uint64_t seed);
    const std::optional<TimeSplit>& split() const { return split_; }

    struct Sample {
        AddressPair pair;
        std::uint32_t cycles = 0;
    };
    /// What calibrate() saw.
    const std::vector<Sample>& samples() const { return samples_; }
    /// One primary address against others, as in figure 3.
    std::vector<Sample> trend(std::size_t pairs, std::uint64_t seed);

    AddressPair randomPair(Random&) override;
    bool pairWithDifference(Mask difference, Random&, AddressPair&) override;
    std::vector<bool> collide(std::span<const AddressPair>) override;

    /// Times of loads that come so many cycles after the other one of their pair.
    Times timeDelayed(std::span<const AddressPair>, std::uint32_t delay);

  private:
    Times time(std::span<const AddressPair>);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> uncached(std::span<const AddressPair>);

    Probe& probe_;
    const MemoryView& memory_;
    ProbedCache cache_;
    std::optional<TimeSplit> split_;
    std::vector<Sample> samples_;
    std::unordered_set<arch::PhysicalAddress> cached_;  ///< sectors that may be in the cache
};

/// Bytes of a bank's row, and the address bits that number rows: differences within a bank that make no conflict stay
/// in a row.
struct Rows {
    Bytes bytes = 0;
    std::vector<Mask> bits;
    std::vector<Mask> within, between;  ///< differences of addresses of a bank in one row, and in two
};
Rows findRows(RowConflicts&, const Subspace& bankFunctions, Mask bits, Bytes granularity, std::uint64_t seed);

}  // namespace bulkhead::dissect
