#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace bulkhead::sim {

/// Why a scheduler issued nothing in a cycle.
enum class Stall : std::uint8_t {
    memory,      ///< every candidate waits for a load, or for a fence
    dependency,  ///< ... for a result of a computation
    barrier,     ///< ... at a barrier
    unit,        ///< a warp was ready, its unit was not
    throttled,   ///< a warp was ready, the scheduling policy held it back
    idle,        ///< no warps
    fetch,       ///< every candidate waits for its next instruction
};
constexpr int kStalls = 7;
constexpr std::array<std::string_view, kStalls> kStallNames = {"memory",    "dependency", "barrier", "unit",
                                                               "throttled", "idle",       "fetch"};

/// What happened, in numbers. Plain and additive: the counters of a launch, or the difference of two moments.
#define BULKHEAD_COUNTERS(X)                                                               \
    X(warpInstructions)                                                                    \
    X(threadInstructions)                                                                  \
    X(memoryInstructions)                                                                  \
    X(blocks)                                                                              \
    X(warpCycles) /* cycles x warps on an SM */                                            \
    X(smCycles)   /* cycles x SMs that have warps; of the launch whose warp ends last */   \
    X(l1Hits)     /* transactions: one line of one warp instruction */                     \
    X(l1Misses)                                                                            \
    X(l1Merges) /* misses that joined one under way */                                     \
    X(l1Bypasses)                                                                          \
    X(l1Sectors) /* of loads: asked for; those here or under way */                        \
    X(l1SectorHits)                                                                        \
    X(l1Evictions)                                                                         \
    X(l1Prefetches) /* lines fetched ahead; used once here, while under way, or never */   \
    X(l1PrefetchesUseful)                                                                  \
    X(l1PrefetchesLate)                                                                    \
    X(l1PrefetchesUseless)                                                                 \
    X(sharedCacheHits) /* shared memory that serves as a cache, likewise */                \
    X(sharedCacheMisses)                                                                   \
    X(sharedCacheEvictions)                                                                \
    X(movedToShared) /* lines from L1D to shared memory, and back */                       \
    X(movedToL1)                                                                           \
    X(l1StallMshr) /* cycles the head of the LD/ST queue could not go on, by cause */      \
    X(l1StallQueue)                                                                        \
    X(l1StallLine)                                                                         \
    X(constantHits)                                                                        \
    X(constantMisses)                                                                      \
    X(instructionMisses) /* lines of code that a warp had to wait for */                   \
    X(sharedAccesses)                                                                      \
    X(sharedConflicts) /* extra passes over the banks */                                   \
    X(l2Hits)                                                                              \
    X(l2Misses)                                                                            \
    X(l2Merges)                                                                            \
    X(l2Joined)   /* reads that were answered with another of their GPC */                 \
    X(l2FarReads) /* of lines of the other side that had no copy on the reader's */        \
    X(l2Sectors)  /* of reads, launches' own too; one that crosses over, on both sides */  \
    X(l2SectorHits)                                                                        \
    X(l2Evictions)                                                                         \
    X(l2Writebacks)                                                                        \
    X(l2Atomics)                                                                           \
    X(l2StallMshr) /* core cycles the head of a slice's queue could not go on, by cause */ \
    X(l2StallResponse)                                                                     \
    X(l2StallDram)                                                                         \
    X(l2StallLine)                                                                         \
    X(portWait) /* core cycles requests waited for a place at their slice */               \
    X(dramReads)                                                                           \
    X(dramWrites)                                                                          \
    X(dramRowHits)                                                                         \
    X(dramRowMisses)    /* bank closed */                                                  \
    X(dramRowConflicts) /* another row open */                                             \
    X(bytesL1)          /* asked of L1D by lanes, in sectors */                            \
    X(bytesL2)          /* carried by the crossbar, both ways */                           \
    X(bytesDram)                                                                           \
    X(bytesDramWritten) /* of these */

struct Counters {
#define BULKHEAD_DECLARE(name) std::uint64_t name = 0;
    BULKHEAD_COUNTERS(BULKHEAD_DECLARE)
#undef BULKHEAD_DECLARE
    std::array<std::uint64_t, kStalls> stalls = {};  ///< scheduler cycles without an issue, by cause

    template <class F>
    void each(F&& visit) {
#define BULKHEAD_VISIT(name) visit(std::string_view(#name), name);
        BULKHEAD_COUNTERS(BULKHEAD_VISIT)
#undef BULKHEAD_VISIT
    }

    Counters& operator+=(const Counters& o) {
#define BULKHEAD_ADD(name) name += o.name;
        BULKHEAD_COUNTERS(BULKHEAD_ADD)
#undef BULKHEAD_ADD
        for (int i = 0; i < kStalls; ++i) stalls[i] += o.stalls[i];
        return *this;
    }
    Counters& operator-=(const Counters& o) {
#define BULKHEAD_SUBTRACT(name) name -= o.name;
        BULKHEAD_COUNTERS(BULKHEAD_SUBTRACT)
#undef BULKHEAD_SUBTRACT
        for (int i = 0; i < kStalls; ++i) stalls[i] -= o.stalls[i];
        return *this;
    }
    /// Takes over what is counted of every block, timed or not.
    void setExecuted(const Counters& o) {
        warpInstructions = o.warpInstructions;
        threadInstructions = o.threadInstructions;
        memoryInstructions = o.memoryInstructions;
        blocks = o.blocks;
    }
    friend Counters operator-(Counters a, const Counters& b) {
        return a -= b;
    }
    friend Counters operator+(Counters a, const Counters& b) {
        return a += b;
    }
};
#undef BULKHEAD_COUNTERS

/// All of them by the same factor: an estimate of what more, or less, of the same would count.
inline Counters scaled(Counters counters, double factor) {
    const auto scale = [factor](std::uint64_t& value) {
        value = static_cast<std::uint64_t>(std::llround(static_cast<double>(value) * factor));
    };
    counters.each([&](std::string_view, std::uint64_t& value) { scale(value); });
    for (std::uint64_t& value : counters.stalls) scale(value);
    return counters;
}

/// Per hardware warp slot of an SM.
struct WarpCounters {
    std::uint64_t instructions = 0, l1Hits = 0, l1Misses = 0;

    WarpCounters& operator+=(const WarpCounters& o) {
        instructions += o.instructions;
        l1Hits += o.l1Hits;
        l1Misses += o.l1Misses;
        return *this;
    }
};

inline double ratio(std::uint64_t part, std::uint64_t rest) {
    return part + rest ? static_cast<double>(part) / static_cast<double>(part + rest) : 0.0;
}

}  // namespace bulkhead::sim
