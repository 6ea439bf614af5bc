#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gpu/gpu.h"

namespace bulkhead::dissect {

using Times = std::vector<std::uint32_t>;  ///< core cycles

/// Changes timings as they come back from the GPU; what tests make noise with.
using TimingFilter = std::function<void(Times&)>;

/// How an access of timeAccesses() is made.
enum class AccessKind : std::uint8_t { pastL1 = 0, throughL1 = 1, store = 2 };

struct Access {
    std::uint64_t address = 0;
    AccessKind kind = AccessKind::pastL1;
};

/// Everything that dissect lets a GPU do: the kernels of kernels/probes.cu, with their timings.
class Probe {
  public:
    explicit Probe(gpu::Gpu&, TimingFilter = {});

    /// Its kernels, in PTX, for contexts of others.
    static const char* deviceCode();
    gpu::Gpu& gpu() { return gpu_; }
    unsigned sms() const { return sms_; }

    /// Makes accesses one after the other. Stores have no time of their own.
    Times timeAccesses(std::span<const Access>);
    /// Both loads of a pair are in flight together; pairs come one after the other.
    Times timePairs(std::span<const std::pair<std::uint64_t, std::uint64_t>>);
    /// The second load of a pair is made so many cycles after the first, and timed.
    Times timeDelayed(std::span<const std::pair<std::uint64_t, std::uint64_t>>, std::uint32_t delay);
    /// Cycles that a chase of so many pointers takes.
    std::uint64_t chase(std::uint64_t start, std::uint32_t steps, bool throughL1);
    /// The same past L1D, by a kernel that does nothing else, so that its counters tell of the chase alone.
    std::uint64_t countedChase(std::uint64_t start, std::uint32_t steps);
    /// Makes a ring of pointers through these addresses.
    void writeRing(std::span<const std::uint64_t>);
    /// Reads a region at equal distances.
    void touch(std::uint64_t base, std::uint64_t bytes, std::uint32_t step);
    /// Loads a line, then others, and times the line's sectors.
    Times timeAfterLines(std::span<const std::uint64_t> lines, std::uint64_t primary, std::uint32_t sectors,
                         std::uint32_t sectorBytes);
    /// Loads a line with others so many times, then the others as often, and times the line's sectors.
    Times timeAfterRounds(std::span<const std::uint64_t> lines, std::uint32_t rounds, std::uint64_t primary,
                          std::uint32_t sectors, std::uint32_t sectorBytes);
    static constexpr std::size_t kMostInRounds = 4096;  ///< lines
    /// Latency of dependent atomics, from one SM.
    Times timeAtomicsFrom(unsigned sm, std::span<const std::uint64_t> addresses, std::uint32_t repeats);
    /// The same, shared out among all SMs; `where` is told which had each.
    Times timeAtomicsSpread(std::span<const std::uint64_t> addresses, std::uint32_t repeats,
                            std::vector<std::uint32_t>& where);
    /// How long reductions to all addresses of a test take when the chosen SMs make them at once.
    struct Contention {
        std::vector<std::uint8_t> sms;  ///< of each, whether it may take part
        std::uint32_t members = 0;      ///< how many do, at most
        std::uint32_t threads = 64;
        std::uint32_t lanes = 32;   ///< of each warp that take part
        std::uint32_t repeats = 4;  ///< of four reductions each
        /// Where the clocks of all SMs agree, they begin a test together, so many cycles after the last one
        /// is ready; 0: each when it sees that all are.
        std::uint32_t lead = 0;
    };
    /// `tests` has `slots` addresses a test, which get equal shares of the reductions.
    Times timeContention(const Contention&, std::span<const std::uint64_t> tests, std::uint32_t slots);
    /// How long a load takes that is made while so many others are under way: for each test `count` addresses, then the
    /// one that is timed.
    Times timeBehind(std::span<const std::uint64_t> tests, std::uint32_t count);
    static constexpr std::uint32_t kMostBehind = 256;  ///< of `count`
    /// Cycles per access of a primary thread while others chase rings of their own; `starts` has the primary's first.
    /// Throws Error where there are more of them than mostInterfering().
    double timeInterference(std::span<const std::uint64_t> starts, std::uint32_t steps);

    /// Threads wait for each other, each in a block of its own and none beside the primary one: so many have a place.
    unsigned mostInterfering() const;

    /// GPU time that probes have taken so far.
    double gpuSeconds() const { return gpuSeconds_; }

  private:
    template <class... Arguments>
    void launch(gpu::Kernel&, gpu::Dim3 grid, unsigned threads, std::size_t shared, const Arguments&...);
    Times filtered(Times) const;

    gpu::Gpu& gpu_;
    TimingFilter filter_;
    unsigned sms_ = 0;
    gpu::Stream stream_;
    gpu::Module module_;
    gpu::Kernel accesses_, pairs_, delayed_, chase_, counted_, ring_, touch_, afterLines_, afterRounds_, atomics_,
        contention_, behind_, interference_;
    double gpuSeconds_ = 0;
};

}  // namespace bulkhead::dissect
