#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "arch/device_profile.h"
#include "sim/mem/retention.h"

namespace bulkhead::sim {

/// What a cache knows of a line, beside its address.
struct LineState {
    std::uint8_t valid = 0;        ///< sectors present
    std::uint8_t dirty = 0;        ///< sectors newer than below; may be dirty without being valid (written in part)
    std::uint8_t pending = 0;      ///< sectors on their way
    std::uint8_t prefetched = 0;   ///< sectors that were fetched ahead, while none of them was used
    std::uint32_t words = 0;       ///< L2: written in part, one by one
    std::uint32_t owner : 30 = 0;  ///< who brought it in
    Retention retention : 2 = Retention::normal;
};
static_assert(sizeof(LineState) == 12);

/// Which line of a full set makes room for another. A cache has one of its own. Ways are counted over all sets.
class ReplacementPolicy {
  public:
    static constexpr std::uint32_t kNoWay = ~std::uint32_t{0};

    virtual ~ReplacementPolicy() = default;

    /// A line comes into a way. `younger`: it is to stay as if it came so many accesses of its set later; a policy that
    /// knows no such order keeps it as long as it keeps any line.
    virtual void bring(std::uint32_t set, std::uint32_t way, std::uint64_t younger) = 0;
    /// A line that is there is used again.
    virtual void use(std::uint32_t set, std::uint32_t way) = 0;
    /// A line is there no longer.
    virtual void forget(std::uint32_t) {}
    /// Of a full set, whose lines are given, a way that waits for nothing; kNoWay if all wait.
    virtual std::uint32_t victim(std::uint32_t set, std::span<const LineState> lines) = 0;
};

/// A row of the table of policies; `title` is what the literature calls it.
struct ReplacementChoice {
    std::string_view name, title, meaning;
    std::unique_ptr<ReplacementPolicy> (*make)(std::uint32_t sets, std::uint32_t ways);
};

/// In the order of the profile's choices.
std::span<const ReplacementChoice> replacementPolicies();
std::unique_ptr<ReplacementPolicy> makeReplacementPolicy(arch::DeviceProfile::Replacement, std::uint32_t sets,
                                                         std::uint32_t ways);

std::unique_ptr<ReplacementPolicy> makeLru(std::uint32_t sets, std::uint32_t ways);
std::unique_ptr<ReplacementPolicy> makeFifo(std::uint32_t sets, std::uint32_t ways);
std::unique_ptr<ReplacementPolicy> makeTreePlru(std::uint32_t sets, std::uint32_t ways);
std::unique_ptr<ReplacementPolicy> makeSrrip(std::uint32_t sets, std::uint32_t ways);
std::unique_ptr<ReplacementPolicy> makeRandomReplacement(std::uint32_t sets, std::uint32_t ways);

}  // namespace bulkhead::sim
