#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "isolate/partitions.h"

namespace bulkhead::isolate {

/// What of a GPU can be divided. A color is the smallest part of the memory system that can be given away: its slices
/// serve no other color.
struct Topology {
    std::string gpu;
    /// 2 x side + half: what lies in one quarter of the L2 is near to each other. Where sides have no halves, or colors
    /// have part in both, all halves are 0.
    std::vector<std::uint8_t> quarterOfMultiprocessor, quarterOfColor;
    unsigned slicesPerColor = 0;  ///< for pictures; 0 where it is not known
    Bytes memoryBytes = 0;

    unsigned multiprocessors() const { return static_cast<unsigned>(quarterOfMultiprocessor.size()); }
    unsigned colors() const { return static_cast<unsigned>(quarterOfColor.size()); }
    unsigned sides() const;
    bool halved() const;  ///< whether sides have halves
};

/// What a partition has of a GPU.
struct Share {
    Partition partition;
    std::vector<unsigned> multiprocessors, colors;  ///< in order
    Bytes memoryBytes = 0;

    bool operator==(const Share&) const = default;
    /// Whether both hold a multiprocessor or a color.
    bool overlaps(const Share&) const;
};

/// A GPU divided into partitions.
struct Plan {
    Topology topology;
    std::vector<Share> shares;

    /// Throws Error that lists the names.
    const Share& find(const std::string& name) const;
};

/// Divides a GPU. A partition stays in one quarter of the L2 where it fits, else on one side, with multiprocessors and
/// colors from there, so that its traffic crosses nobody's; and one that is about as large as a quarter gets a whole
/// one. Multiprocessors of a TPC (two with consecutive numbers) stay together where counts allow. Throws Error: more
/// partitions than multiprocessors or colors.
Plan makePlan(Topology, const std::vector<Partition>&);

/// The plan in a terminal: every multiprocessor and every slice with the letter of its partition.
std::string draw(const Plan&);

}  // namespace bulkhead::isolate
