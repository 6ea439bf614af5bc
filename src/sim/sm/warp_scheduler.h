#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace bulkhead::sim {

/// One bit per hardware warp slot of an SM.
using WarpMask = std::uint64_t;
constexpr int kMaxWarps = 64;

/// Where a warp's global accesses go.
enum class Route : std::uint8_t { l1, sharedCache, bypass };

/// What happened in front of a warp's data, for policies that watch the cache.
struct CacheEvent {
    enum class Kind : std::uint8_t { hit, miss, eviction };
    Kind kind;
    std::uint32_t warp;   ///< whose access it was; for an eviction, the evictor
    std::uint32_t owner;  ///< eviction: the warp that had brought the line in
    std::uint64_t line;   ///< address / line size; eviction: the line that left
};

/// Decides which warp of an SM issues. One object per SM serves all its schedulers, because policies share what they
/// learn across them.
///
/// Contract: pick() is called at most once per scheduler and cycle, with a mask that is not empty and lies within
/// allowed(); it returns a slot in that mask. issued() follows every instruction. A policy throttles by narrowing
/// `allowed_`; it must widen it again by itself (in issued, observe or the warp calls), since a warp that is not
/// allowed is not offered.
class WarpScheduler {
  public:
    virtual ~WarpScheduler() = default;

    virtual int pick(int scheduler, WarpMask eligible) = 0;

    /// A warp occupies or leaves a slot. `age` grows with every warp started on the SM.
    virtual void warpStarted(std::uint32_t /*slot*/, std::uint64_t /*age*/) {}
    virtual void warpFinished(std::uint32_t /*slot*/) {}
    virtual void issued(std::uint32_t /*slot*/) {}

    virtual Route route(std::uint32_t /*slot*/) { return Route::l1; }
    virtual void observe(const CacheEvent&) {}
    /// Whether route() and observe() are to be called at all.
    bool watchesCache() const { return watchesCache_; }

    WarpMask allowed() const { return allowed_; }

  protected:
    WarpMask allowed_ = ~WarpMask{0};
    bool watchesCache_ = false;
};

/// What a policy may ask for when it is made.
struct SchedulerConfig {
    int schedulers = 1;  ///< per SM
    int warps = 48;      ///< slots per SM
};

struct SchedulerPolicy {
    std::string_view name, brief;
    std::unique_ptr<WarpScheduler> (*make)(const SchedulerConfig&);
};

/// Every policy there is. Adding one is a file and a line.
std::span<const SchedulerPolicy> schedulerPolicies();
/// Throws Error that lists the names.
const SchedulerPolicy& findScheduler(std::string_view name);

std::unique_ptr<WarpScheduler> makeLrr(const SchedulerConfig&);
std::unique_ptr<WarpScheduler> makeGto(const SchedulerConfig&);

}  // namespace bulkhead::sim
