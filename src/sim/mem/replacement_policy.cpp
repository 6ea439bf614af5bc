#include "sim/mem/replacement_policy.h"

#include <algorithm>
#include <array>

namespace bulkhead::sim {
namespace {

constexpr std::array kReplacementPolicies = {
    ReplacementChoice{"lru", "LRU", "the least recently used line goes", makeLru},
    ReplacementChoice{"fifo", "FIFO", "the line that came first goes, used or not", makeFifo},
    ReplacementChoice{"tree-plru", "tree-PLRU", "a bit per node of a binary tree points away from what was used",
                      makeTreePlru},
    ReplacementChoice{"srrip", "SRRIP", "lines not used again go first, 2 bits a line (Jaleel and others, ISCA 2010)",
                      makeSrrip},
    ReplacementChoice{"random", "random", "any line goes, by a fixed sequence of random numbers",
                      makeRandomReplacement},
};
static_assert(std::ranges::equal(kReplacementPolicies, arch::DeviceProfile::kReplacementNames, {},
                                 &ReplacementChoice::name));

}  // namespace

std::span<const ReplacementChoice> replacementPolicies() {
    return kReplacementPolicies;
}

std::unique_ptr<ReplacementPolicy> makeReplacementPolicy(arch::DeviceProfile::Replacement choice, std::uint32_t sets,
                                                         std::uint32_t ways) {
    return kReplacementPolicies[static_cast<std::size_t>(choice)].make(sets, ways);
}

}  // namespace bulkhead::sim
