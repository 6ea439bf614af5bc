#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "workloads/rodinia/cfd.h"

namespace bulkhead::workloads::cfd {

/// Tetrahedra that fill a cube but for an obstacle in its middle, and know who touches whom.
struct Mesh {
    struct Face {
        int neighbour;                 ///< a cell, kWall or kFarField
        std::array<double, 3> normal;  ///< into the cell, as long as the face's area
    };
    std::vector<std::array<Face, kFaces>> cells;
};

/// Cubes of unit size, `edge` along each direction of which an inner block of `obstacle` is left out, their corners
/// moved at random and each cut into six tetrahedra. Like the output of a mesh generator, cells are numbered so that
/// neighbours are mostly, but not always, close.
Mesh makeMesh(int edge, int obstacle, std::uint64_t seed);

}  // namespace bulkhead::workloads::cfd
