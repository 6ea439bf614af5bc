#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "walls/side_row.h"
#include "walls/walls.h"

namespace bulkhead::walls {

/// What a card is like behind its driver. Found once, by timing, while the card is quiet; true in every process and for
/// as long as the driver runs.
struct Survey {
    L2Topology topology;
    /// Of the driver's smallest groups of SMs, which it lists in the same order in every process; empty where it has
    /// none.
    std::vector<dissect::L2Region> regionOfGroup;
    SideRow row;  ///< mask 0 where the L2 has one side

    nlohmann::json toJson() const;
    /// Throws Error that names `where`.
    static Survey fromJson(const nlohmann::json&, const std::string& where);
};

}  // namespace bulkhead::walls
