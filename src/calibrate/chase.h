#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/bench.h"

namespace bulkhead::calibrate {

/// Pointer chases by one thread in memory of their own.
class Chase {
  public:
    /// `load`: how a pointer is followed, such as "ld.global.cg.u64".
    Chase(Bench&, gpu::Buffer memory, std::uint64_t base, std::string load);

    std::uint64_t base() const { return base_; }
    Bytes bytes() const { return bytes_; }
    /// Makes a ring of pointers at these distances from the base, in this order.
    void ring(const std::vector<std::uint64_t>& offsets);
    /// Cycles of a step, without those of the loop around it.
    double latency();
    /// The same with them, in rounds that pass every pointer of the ring.
    double perStep();

  private:
    ProbeText text(std::uint32_t steps) const;

    Bench& bench_;
    gpu::Buffer memory_;
    std::uint64_t base_;
    Bytes bytes_;
    std::string load_;
    std::size_t length_ = 0;
};

/// `count` pointers, `stride` bytes apart, in random order, or in that of addresses.
std::vector<std::uint64_t> shuffledRing(std::size_t count, Bytes stride, std::uint64_t seed);
std::vector<std::uint64_t> sequentialRing(std::size_t count, Bytes stride);

/// An allocation whose base is a multiple of its alignment.
std::pair<gpu::Buffer, std::uint64_t> alignedMemory(Bench&, Bytes bytes, Bytes alignment);

/// A cache as chases see it from outside.
struct CacheTimes {
    double hit = 0, miss = 0;  ///< cycles of a step
    double tolerated = 0;  ///< share of misses that still counts as none: replacement that is not perfect, and noise

    bool holds(double perStep) const { return perStep < hit + tolerated * (miss - hit) + 0.05; }
};

/// The largest number from `least` to `most` of which `fits` holds, if it holds up to some number and not beyond. 0 if
/// it does not hold of the least; `most` if of all.
std::size_t largestFitting(std::size_t least, std::size_t most, const std::function<bool(std::size_t)>& fits);

/// Where the sets of a cache are told by the low bits of a line's number, or by the XOR of all groups of as many bits:
/// how many lines one set holds, by lines that would all fall into it.
struct Associativity {
    std::size_t ways = 0;
    bool folded = false;
};
std::optional<Associativity> findAssociativity(Chase&, const CacheTimes&, Bytes cacheBytes, Bytes lineBytes);

}  // namespace bulkhead::calibrate
