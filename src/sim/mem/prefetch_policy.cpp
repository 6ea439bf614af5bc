#include "sim/mem/prefetch_policy.h"

#include <algorithm>
#include <array>

namespace bulkhead::sim {
namespace {

constexpr std::array kPrefetchPolicies = {
    PrefetchChoice{"none", "nothing is fetched before it is asked for", nullptr},
    PrefetchChoice{"next-line", "the lines behind one that missed, or that was fetched ahead and is used",
                   makeNextLine},
    PrefetchChoice{"stride", "the lines at the distance at which a load of a warp moved on twice", makeStride},
};
static_assert(std::ranges::equal(kPrefetchPolicies, arch::DeviceProfile::kPrefetchNames, {}, &PrefetchChoice::name));

}  // namespace

std::span<const PrefetchChoice> prefetchPolicies() {
    return kPrefetchPolicies;
}

std::unique_ptr<PrefetchPolicy> makePrefetchPolicy(arch::DeviceProfile::Prefetch prefetch,
                                                   const PrefetchConfig& config) {
    const PrefetchChoice& choice = kPrefetchPolicies[static_cast<std::size_t>(prefetch)];
    return choice.make ? choice.make(config) : nullptr;
}

}  // namespace bulkhead::sim
