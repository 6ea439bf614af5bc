#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "arch/device_profile.h"

namespace bulkhead::sim {

/// What makes a cache look ahead: a load that missed, or the first use of a line that was fetched ahead.
struct PrefetchTrigger {
    std::uint64_t line = 0;  ///< address of its first byte
    std::uint32_t pc = 0;    ///< of the load
    std::uint32_t warp = 0;  ///< its slot
    std::uint32_t part = 0;  ///< the line is this one of those that the load touches
};

/// Which lines are fetched before a load asks for them. A cache has one of its own. It takes of what is named only
/// lines of the trigger's own page that it does not have yet, and only while it has MSHRs to spare.
class PrefetchPolicy {
  public:
    virtual ~PrefetchPolicy() = default;
    /// Appends the addresses of lines to fetch, the most wanted first.
    virtual void lookAhead(const PrefetchTrigger&, std::vector<std::uint64_t>& lines) = 0;
};

/// What a policy is made for.
struct PrefetchConfig {
    std::uint64_t lineBytes = 128;
    std::uint32_t degree = 1;  ///< lines that one trigger fetches
};

/// A row of the table of policies; `make` is null where nothing is fetched ahead.
struct PrefetchChoice {
    std::string_view name, meaning;
    std::unique_ptr<PrefetchPolicy> (*make)(const PrefetchConfig&);
};

/// In the order of the profile's choices.
std::span<const PrefetchChoice> prefetchPolicies();
/// Null where nothing is fetched ahead.
std::unique_ptr<PrefetchPolicy> makePrefetchPolicy(arch::DeviceProfile::Prefetch, const PrefetchConfig&);

std::unique_ptr<PrefetchPolicy> makeNextLine(const PrefetchConfig&);
std::unique_ptr<PrefetchPolicy> makeStride(const PrefetchConfig&);

}  // namespace bulkhead::sim
