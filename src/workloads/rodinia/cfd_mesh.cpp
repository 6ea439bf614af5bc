#include "workloads/rodinia/cfd_mesh.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"

namespace bulkhead::workloads::cfd {
namespace {

using Point = std::array<double, 3>;
using Tetrahedron = std::array<int, 4>;  ///< its corners
using Triangle = std::array<int, 3>;

constexpr double kJitter = 0.15;       ///< of a corner, either way
constexpr double kNumberSpread = 512;  ///< how far a cell's number strays from its place in order

/// Corners of the cubes and where they are.
class Lattice {
  public:
    Lattice(int edge, Random& random) : edge_(edge) {
        const int n = edge + 1;
        points_.reserve(static_cast<std::size_t>(n) * n * n);
        for (int z = 0; z < n; ++z)
            for (int y = 0; y < n; ++y)
                for (int x = 0; x < n; ++x) {
                    const auto moved = [&](int c) { return c + kJitter * (2 * random.uniform() - 1); };
                    const double px = moved(x), py = moved(y), pz = moved(z);
                    points_.push_back({px, py, pz});
                }
    }
    int index(const std::array<int, 3>& at) const {
        const int n = edge_ + 1;
        return (at[2] * n + at[1]) * n + at[0];
    }
    const Point& point(int index) const { return points_[static_cast<std::size_t>(index)]; }

  private:
    int edge_;
    std::vector<Point> points_;
};

/// One tetrahedron for each order in which one can walk along the three axes from a corner of the cube to the opposite
/// one: the cuts of neighbouring cubes fit together.
void cutCube(const Lattice& lattice, const std::array<int, 3>& cube, std::vector<Tetrahedron>& out) {
    std::array<std::size_t, 3> axes = {0, 1, 2};
    do {
        std::array<int, 3> at = cube;
        Tetrahedron corners = {lattice.index(at)};
        for (std::size_t step = 0; step < 3; ++step) {
            ++at[axes[step]];
            corners[step + 1] = lattice.index(at);
        }
        out.push_back(corners);
    } while (std::next_permutation(axes.begin(), axes.end()));
}

bool isObstacle(const std::array<int, 3>& cube, int edge, int obstacle) {
    const int first = (edge - obstacle) / 2;
    return std::all_of(cube.begin(), cube.end(), [&](int c) { return c >= first && c < first + obstacle; });
}

std::vector<Tetrahedron> cutAll(const Lattice& lattice, int edge, int obstacle) {
    std::vector<Tetrahedron> cells;
    for (int z = 0; z < edge; ++z)
        for (int y = 0; y < edge; ++y)
            for (int x = 0; x < edge; ++x)
                if (!isObstacle({x, y, z}, edge, obstacle)) cutCube(lattice, {x, y, z}, cells);
    return cells;
}

void renumber(std::vector<Tetrahedron>& cells, Random& random) {
    std::vector<std::pair<double, std::size_t>> order;
    order.reserve(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
        order.emplace_back(static_cast<double>(i) + kNumberSpread * random.uniform(), i);
    std::sort(order.begin(), order.end());
    std::vector<Tetrahedron> renumbered;
    renumbered.reserve(cells.size());
    for (const auto& [key, i] : order) renumbered.push_back(cells[i]);
    cells = std::move(renumbered);
}

/// The face opposite a corner, its own corners in ascending order so that both its cells see the same.
Triangle faceOpposite(const Tetrahedron& cell, std::size_t corner) {
    Triangle face;
    std::size_t count = 0;
    for (std::size_t c = 0; c < cell.size(); ++c)
        if (c != corner) face[count++] = cell[c];
    std::sort(face.begin(), face.end());
    return face;
}

Point between(const Point& a, const Point& b) {
    return {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
}

Point inwardNormal(const Lattice& lattice, const Triangle& face, int opposite) {
    const Point& corner = lattice.point(face[0]);
    const Point a = between(corner, lattice.point(face[1])), b = between(corner, lattice.point(face[2]));
    Point normal = {(a[1] * b[2] - a[2] * b[1]) / 2, (a[2] * b[0] - a[0] * b[2]) / 2, (a[0] * b[1] - a[1] * b[0]) / 2};
    const Point inside = between(corner, lattice.point(opposite));
    if (std::inner_product(normal.begin(), normal.end(), inside.begin(), 0.0) < 0)
        for (double& c : normal) c = -c;
    return normal;
}

/// On the outer surface of the cubes? All three corners lie on one of its sides.
bool isOuter(const Triangle& face, int edge) {
    const int n = edge + 1;
    for (int axis = 0, stride = 1; axis < 3; ++axis, stride *= n)
        for (const int side : {0, edge})
            if (std::all_of(face.begin(), face.end(), [&](int corner) { return corner / stride % n == side; }))
                return true;
    return false;
}

}  // namespace

Mesh makeMesh(int edge, int obstacle, std::uint64_t seed) {
    Random random(seed);
    const Lattice lattice(edge, random);
    std::vector<Tetrahedron> cells = cutAll(lattice, edge, obstacle);
    renumber(cells, random);

    struct Side {
        Triangle face;
        std::size_t cell, corner;
    };
    std::vector<Side> sides;
    sides.reserve(cells.size() * kFaces);
    Mesh mesh;
    mesh.cells.resize(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
        for (std::size_t corner = 0; corner < kFaces; ++corner) {
            const Triangle face = faceOpposite(cells[i], corner);
            sides.push_back({face, i, corner});
            mesh.cells[i][corner] = {isOuter(face, edge) ? kFarField : kWall,
                                     inwardNormal(lattice, face, cells[i][corner])};
        }
    std::sort(sides.begin(), sides.end(), [](const Side& a, const Side& b) { return a.face < b.face; });
    for (std::size_t s = 0; s + 1 < sides.size(); ++s) {
        const Side &a = sides[s], &b = sides[s + 1];
        if (a.face != b.face) continue;
        mesh.cells[a.cell][a.corner].neighbour = static_cast<int>(b.cell);
        mesh.cells[b.cell][b.corner].neighbour = static_cast<int>(a.cell);
    }
    return mesh;
}

}  // namespace bulkhead::workloads::cfd
