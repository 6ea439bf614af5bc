#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "dissect/l2_region.h"
#include "isolate/partitions.h"

namespace bulkhead::isolate {

/// What of a GPU can be divided. A color is the smallest part of the memory system that can be given away: its slices
/// serve no other color.
struct DivisibleGpu {
    std::string gpu;
    /// Where colors have part in both halves of a side, all halves are 0.
    std::vector<dissect::L2Region> regionOfSm, regionOfColor;
    unsigned slicesPerColor = 0;  ///< for pictures; 0 where it is not known
    unsigned smsTogether = 1;     ///< that one partition has to have, in the order of a region's SMs
    Bytes memoryBytes = 0;

    unsigned sms() const { return static_cast<unsigned>(regionOfSm.size()); }
    unsigned colors() const { return static_cast<unsigned>(regionOfColor.size()); }
    unsigned sides() const;
    bool halved() const;  ///< whether sides have halves
};

/// What a partition has of a GPU.
struct Share {
    Partition partition;
    std::vector<unsigned> sms, colors;  ///< in order
    Bytes memoryBytes = 0;
    bool memoryWall = true;  ///< without: its memory is of all colors, and slows down whoever shares them

    bool operator==(const Share&) const = default;
    /// Whether both hold an SM or a color.
    bool overlaps(const Share&) const;
};

/// A GPU divided into partitions.
struct Plan {
    DivisibleGpu topology;
    std::vector<Share> shares;

    /// Throws Error that lists the names.
    const Share& find(const std::string& name) const;
};

/// Divides a GPU. A partition stays in one region of the L2 where it fits, else on one side, with SMs and
/// colors from there, so that its traffic crosses nobody's; and one that is about as large as a region gets a whole
/// one. SMs of a TPC (two with consecutive numbers) stay together where counts allow. Throws Error: more
/// partitions than SMs or colors.
Plan makePlan(DivisibleGpu, const std::vector<Partition>&);

/// What walls there are between the partitions, and what nobody has.
std::string answerOf(const Plan&);

/// The plan in a terminal: every SM and every slice with the letter of its partition.
std::string draw(const Plan&);

}  // namespace bulkhead::isolate
