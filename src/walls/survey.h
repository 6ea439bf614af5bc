#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dissect/residue_hash.h"
#include "walls/side_row.h"
#include "walls/walls.h"

namespace bulkhead::walls {

/// What is known of slices where they are colors.
struct SliceSurvey {
    dissect::ResidueHash hash;                     ///< by which all tenants number them alike
    std::vector<dissect::L2Region> regionOfSlice;  ///< by that number
    std::vector<dissect::PageLabel> inBlock;       ///< what a page's place in its block adds to the block's label
    dissect::PageLabel inverted;                   ///< what labels of blocks invert, of all blocks together
};

/// What a card is like behind its driver. Found once, by timing, while the card is quiet; true in every process and for
/// as long as the driver runs.
struct Survey {
    L2Topology topology;
    /// Of the driver's smallest groups of SMs, which it lists in the same order in every process; empty where it has
    /// none.
    std::vector<dissect::L2Region> regionOfGroup;
    SideRow row;                        ///< mask 0 where the L2 has one side
    std::optional<SliceSurvey> slices;  ///< empty where sides are colors

    unsigned colors() const;
    /// Blocks are of so many kinds, which take turns in every tenant's row,
    unsigned kinds() const;
    /// by their labels. Where sides are colors, a label has nothing but the side.
    unsigned kindOf(const dissect::PageLabel&) const;
    /// So many blocks of a row make one whole.
    unsigned turn() const { return slices ? 1 : kinds(); }

    nlohmann::json toJson() const;
    /// Throws Error that names `where`.
    static Survey fromJson(const nlohmann::json&, const std::string& where);
};

/// Numbers slices the other way round where their index falls from each page of a block to the next. Rows of memory
/// follow a rising one, and a map may have been made either way: timing cannot tell.
void letIndexRise(SliceSurvey&, std::vector<std::optional<dissect::PageLabel>>& labelsOfBlocks);

nlohmann::json labelJson(const dissect::PageLabel&);
dissect::PageLabel labelFrom(const nlohmann::json&);

}  // namespace bulkhead::walls
