#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/device_profile.h"
#include "base/units.h"
#include "sim/event_queue.h"

namespace bulkhead::sim {

class SimContext;

/// One bit per hardware warp slot of an SM.
using WarpMask = std::uint64_t;
constexpr int kMaxWarps = 64;

constexpr WarpMask bitOf(std::uint32_t slot) {
    return WarpMask{1} << slot;
}
/// Of a mask that is not empty.
constexpr std::uint32_t lowestSlot(WarpMask mask) {
    return static_cast<std::uint32_t>(std::countr_zero(mask));
}

/// Where a warp's global loads go.
enum class Route : std::uint8_t {
    l1,
    sharedCache,  ///< unused shared memory that serves as a cache
    both,         ///< the one or the other, by the line's address
    bypass,       ///< what L1D holds is used, what it does not hold is not brought in
};

/// What happened in front of a warp's data, for policies that watch the cache. L1D and shared memory that serves as a
/// cache are told apart by nobody: a line is in one of them at most.
struct CacheEvent {
    enum class Kind : std::uint8_t { miss, eviction };
    Kind kind;
    std::uint32_t warp;   ///< whose access it was; for an eviction, the evictor
    std::uint32_t owner;  ///< eviction: the warp that had brought the line in
    std::uint64_t line;   ///< address / line size; eviction: the line that left
};

/// Decides which warp of an SM issues, and where its loads go. One object per SM serves all its schedulers, because
/// policies share what they learn across them.
///
/// Contract: pick() is called at most once per scheduler and cycle, with a mask that is not empty and holds only warps
/// that may issue; it returns a slot in that mask. issued() follows every instruction. A policy throttles by narrowing
/// `allowed_`, or by naming warps in `heldFromMemory_`, which may issue anything but memory instructions. It must widen
/// them again by itself, in any of the calls: a warp that is not allowed is not offered. In particular it must not hold
/// back a warp for which all others wait at a barrier.
class WarpScheduler {
  public:
    virtual ~WarpScheduler() = default;

    virtual int pick(int scheduler, WarpMask eligible) = 0;

    /// A kernel begins on an SM that was empty.
    virtual void kernelStarted() {}
    /// A warp occupies or leaves a slot. `age` grows with every warp started on the SM.
    virtual void warpStarted(std::uint32_t /*slot*/, std::uint64_t /*age*/) {}
    virtual void warpFinished(std::uint32_t /*slot*/) {}
    /// `lanes` executed it. Called where countsInstructions() says so.
    virtual void issued(std::uint32_t /*slot*/, unsigned /*lanes*/) {}
    bool countsInstructions() const { return countsInstructions_; }

    /// A warp waits at a barrier, and goes on. Called where throttles() says so.
    virtual void warpWaits(std::uint32_t /*slot*/) {}
    virtual void warpResumes(std::uint32_t /*slot*/) {}
    bool throttles() const { return throttles_; }

    /// Called where watchesCache() says so.
    virtual Route route(std::uint32_t /*slot*/) { return Route::l1; }
    virtual void observe(const CacheEvent&) {}
    bool watchesCache() const { return watchesCache_; }
    /// Whether route() ever says sharedCache or both.
    bool redirects() const { return redirects_; }

    /// For policies to which time matters: called in the first cycle at or after due() in which the SM is awake. It
    /// is awake then if it holds a warp that is ready and held back.
    virtual void advance(Cycles /*now*/) {}
    Cycles due() const { return due_; }

    /// Warps that stay held back until another one starts, ends, or comes to a barrier: while the others go round in
    /// circles, none of that happens.
    virtual WarpMask heldForGood() const { return 0; }

    WarpMask allowed() const { return allowed_; }
    WarpMask heldFromMemory() const { return heldFromMemory_; }

  protected:
    WarpMask allowed_ = ~WarpMask{0};
    WarpMask heldFromMemory_ = 0;
    Cycles due_ = kNever;
    bool throttles_ = false, watchesCache_ = false, redirects_ = false, countsInstructions_ = false;
};

/// What a policy may ask for when it is made.
struct SchedulerConfig {
    std::uint32_t schedulers = 1;     ///< per SM
    std::uint32_t warps = 48;         ///< slots per SM
    const SimContext* sim = nullptr;  ///< the parameters of the profile, time and traffic; lrr and gto need none
    int limit = 0;                    ///< the N of NAME:N
    std::uint32_t sm = 0;             ///< whose it is, to observers
};

struct SchedulerPolicy {
    /// What it acts on beside the order of warps.
    enum class Acts : std::uint8_t { onWarps, onL1, onL1AndShared };

    std::string_view name, brief;
    std::unique_ptr<WarpScheduler> (*makeWith)(const SchedulerConfig&);
    bool needsLimit = false;  ///< is written NAME:N
    Acts acts = Acts::onWarps;
};

/// A policy, with its number where it has one.
struct SchedulerChoice {
    const SchedulerPolicy* policy = nullptr;
    int limit = 0;

    std::unique_ptr<WarpScheduler> make(SchedulerConfig config) const {
        config.limit = limit;
        return policy->makeWith(config);
    }
};

/// Every policy there is. Adding one is a file and a line.
std::span<const SchedulerPolicy> schedulerPolicies();
/// "gto", "best-swl:4". Throws Error that lists the names.
SchedulerChoice findScheduler(std::string_view name);

/// Why a policy can do little or nothing of what it is for on such a GPU, as a sentence; empty if it can.
std::string whyIneffective(const arch::DeviceProfile&, std::string_view scheduler);

std::unique_ptr<WarpScheduler> makeLrr(const SchedulerConfig&);
std::unique_ptr<WarpScheduler> makeGto(const SchedulerConfig&);
std::unique_ptr<WarpScheduler> makeCcws(const SchedulerConfig&);
std::unique_ptr<WarpScheduler> makeBestSwl(const SchedulerConfig&);
std::unique_ptr<WarpScheduler> makeStatPcal(const SchedulerConfig&);
std::unique_ptr<WarpScheduler> makeCiaoT(const SchedulerConfig&);
std::unique_ptr<WarpScheduler> makeCiaoP(const SchedulerConfig&);
std::unique_ptr<WarpScheduler> makeCiaoC(const SchedulerConfig&);
std::unique_ptr<WarpScheduler> makeCiaoA(const SchedulerConfig&);

}  // namespace bulkhead::sim
