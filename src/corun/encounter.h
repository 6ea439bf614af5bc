#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "corun/machine_watch.h"
#include "corun/pairs.h"

namespace bulkhead::corun {

/// How a victim and an aggressor met on a simulated GPU: their requests to the L2 over time, the victim's run alone
/// first and its co-run right behind it, and whose lines were pushed out by whom.
struct Encounter {
    /// Requests are lines that were asked of the L2.
    struct Stretch {
        double beginUs = 0, endUs = 0;
        std::uint64_t victim = 0, aggressor = 0;
    };
    enum Who : std::uint8_t { victim, aggressor };

    std::vector<Stretch> stretches;
    double togetherUs = 0;  ///< when the co-run begins
    /// During the co-run, by whose line it was and who pushed it out.
    std::array<std::array<std::uint64_t, 2>, 2> evictions = {};
    std::vector<std::uint64_t> lostBySlice;  ///< lines of the victim that the aggressor pushed out

    nlohmann::ordered_json toJson() const;
    static Encounter fromJson(const nlohmann::json&, const std::string& where);
};

/// Of the only pair that a followed GPU has seen. Nothing where the two met on an SM, or the victim does not tell when
/// and where it ran.
std::optional<Encounter> encounterOf(const MachineWatch&, const Pair&);

}  // namespace bulkhead::corun
