#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.h"
#include "sim/counters.h"

namespace bulkhead::sim {

/// One SM at the moment of a sample.
struct SmSample {
    std::uint32_t residentWarps = 0;
    std::uint32_t activeWarps = 0;    ///< not held back by the policy
    std::uint32_t isolatedWarps = 0;  ///< whose loads go to shared memory
    std::uint32_t sharedReserved = 0, sharedCacheCapacity = 0, sharedCacheUsed = 0;  ///< bytes of shared memory
};

/// What a policy does about a warp, for the sake of another; and what it does about all warps of an SM.
enum class Decision : std::uint8_t {
    isolate,       ///< its loads go to shared memory from now on
    redirectBack,  ///< to L1D again
    stall,
    reactivate,
    pool,       ///< L1D and unused shared memory serve as one cache from now on
    tryLimit,   ///< so many warps run for a trial
    keepLimit,  ///< so many ran fastest
    relieve,    ///< all run for a trial: those held may be what the others wait for
    forget,     ///< L1D alone, and all warps: another kernel begins
};
constexpr std::size_t kDecisions = 9;
constexpr std::array<std::string_view, kDecisions> kDecisionNames = {"isolated",    "redirected back", "stalled",
                                                                     "reactivated", "memories pooled", "limit tried",
                                                                     "limit kept",  "all relieved",    "forgotten"};
constexpr std::uint32_t kNobody = ~std::uint32_t{0};

/// A decision with what it is about.
struct Decided {
    Decision decision;
    std::uint32_t warp = kNobody;        ///< that it is about; nobody: all of the SM
    std::uint32_t interfered = kNobody;  ///< for whose sake
    std::uint32_t limit = 0;             ///< warps that may run; 0: all
};

class CloseLook;

/// Sees what happens on the simulated GPU. Where none is attached, the simulator pays one comparison with null at rare
/// moments (an eviction, a block, a sample) and nothing in the issue loop.
class Observer {
  public:
    virtual ~Observer() = default;

    /// A warp (a hardware slot) misses a line in L1D of an SM, or in shared memory that serves as its cache.
    virtual void l1Miss(Cycles, std::uint32_t /*sm*/, std::uint64_t /*line*/, std::uint32_t /*warp*/) {}
    /// A line that `owner` brought in there was pushed out by `evictor`.
    virtual void l1Eviction(Cycles, std::uint32_t /*sm*/, std::uint64_t /*line*/, std::uint32_t /*owner*/,
                            std::uint32_t /*evictor*/) {}
    /// The same in an L2 slice, by launch.
    virtual void l2Eviction(Cycles, std::uint32_t /*slice*/, std::uint64_t /*line*/, std::uint32_t /*ownerLaunch*/,
                            std::uint32_t /*evictorLaunch*/) {}

    virtual void decided(Cycles, std::uint32_t /*sm*/, const Decided&) {}
    /// Where an SM is to put down what happens in detail, at every instruction; null: it need not.
    virtual CloseLook* closeLook(std::uint32_t /*sm*/) { return nullptr; }

    virtual void launchStarted(Cycles, std::uint32_t /*launch*/) {}
    virtual void launchEnded(Cycles, std::uint32_t /*launch*/) {}
    virtual void blockStarted(Cycles, std::uint32_t /*sm*/, std::uint32_t /*slot*/, std::uint32_t /*launch*/,
                              std::uint64_t /*block*/) {}
    virtual void blockEnded(Cycles, std::uint32_t /*sm*/, std::uint32_t /*slot*/, std::uint32_t /*launch*/,
                            std::uint64_t /*block*/) {}
    virtual void contextSwitched(Cycles, std::uint32_t /*toGroup*/) {}

    /// How often sample() is wanted, in cycles; 0 = never.
    virtual Cycles sampleInterval() const { return 0; }
    /// Counters of the whole GPU since its start, and how many warps each SM may issue from now.
    virtual void sample(Cycles, const Counters&, std::span<const std::uint32_t> /*activeWarpsBySm*/) {}
    /// Before sample(), for every SM.
    virtual void sampleSm(Cycles, std::uint32_t /*sm*/, const SmSample&) {}
};

}  // namespace bulkhead::sim
