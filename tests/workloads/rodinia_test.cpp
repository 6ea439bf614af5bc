#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "base/statistics.h"
#include "corruption.h"
#include "workloads/measure.h"
#include "workloads/rodinia/cfd_mesh.h"
#include "workloads/rodinia/dominant_matrix.h"

namespace bulkhead::workloads {
namespace {

constexpr std::size_t kFloat = sizeof(float);
using Sizes = std::vector<std::size_t>;

// Exactly the results are looked at: one wrong element of any of them is found, and the inputs are taken from the host.

TEST(Rodinia, KmeansCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("Kmeans"), (Sizes{400 * sizeof(int)}));
}

TEST(Rodinia, GaussianCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("Gaussian"), (Sizes{40 * 40 * kFloat, 40 * kFloat}));
}

TEST(Rodinia, BackpropCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("Backprop"), (Sizes{513 * 17 * kFloat, 513 * 17 * kFloat}));
}

TEST(Rodinia, HotspotCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("Hotspot"), (Sizes{60 * 60 * kFloat}));
}

TEST(Rodinia, LudCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("Lud"), (Sizes{64 * 64 * kFloat}));
}

TEST(Rodinia, NnCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("NN"), (Sizes{8000 * kFloat}));
}

TEST(Rodinia, NwCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("NW"), (Sizes{129 * 129 * sizeof(int)}));
}

TEST(Rodinia, CfdCheckCatchesOneWrongElement) {
    // 6 x 6 x 6 cubes less 2 x 2 x 2, six cells each, are 1248 cells: seven blocks of 192.
    EXPECT_EQ(bytesOfCaught("CFD"), (Sizes{5 * 7 * 192 * kFloat}));
}

Measurement measured(const std::string& name) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx480");
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = find(name).create(gpu.context(), Size::test, 3);
    return measure(gpu, stream, *instance);
}

std::uint64_t loads(const KernelMeasurement& kernel) {
    return kernel.counters.l1Hits + kernel.counters.l1Misses;
}

TEST(Rodinia, KmeansReadsALineALane) {
    const Measurement m = measured("Kmeans");
    ASSERT_EQ(m.kernels.size(), 1u);
    // Two passes over 400 points: 5 clusters x 34 features, 136 bytes from lane to lane; each of 13 warps also loads
    // its memberships.
    EXPECT_EQ(m.kernels[0].launches, 2u);
    EXPECT_EQ(loads(m.kernels[0]), 2u * (400 * 5 * 34 + 13));
}

TEST(Rodinia, GaussianEliminatesColumnByColumn) {
    const Measurement m = measured("Gaussian");
    ASSERT_EQ(m.kernels.size(), 2u);
    EXPECT_EQ(m.kernels[0].launches, 39u);
    EXPECT_EQ(m.kernels[1].launches, 39u);
    // 10 x 10 blocks of 4 x 4 threads a launch.
    EXPECT_EQ(m.kernels[1].counters.blocks, 39u * 100);
}

TEST(Rodinia, LudShrinksTowardsTheCorner) {
    const Measurement m = measured("Lud");
    ASSERT_EQ(m.kernels.size(), 3u);
    EXPECT_EQ(m.kernels[0].counters.blocks, 4u);
    EXPECT_EQ(m.kernels[1].counters.blocks, 3u + 2 + 1);
    EXPECT_EQ(m.kernels[2].counters.blocks, 9u + 4 + 1);
}

TEST(Rodinia, NwCoversTheTableOnceInAntidiagonals) {
    const Measurement m = measured("NW");
    ASSERT_EQ(m.kernels.size(), 2u);
    EXPECT_EQ(m.kernels[0].launches + m.kernels[1].launches, 2u * 8 - 1);
    EXPECT_EQ(m.counters.blocks, 8u * 8);
}

TEST(Rodinia, HotspotTilesOverlapByTwiceTheStepsOfALaunch) {
    const Measurement m = measured("Hotspot");
    // 60 cells are 5 tiles of 16 - 4 for two steps, and 5 of 16 - 2 for the third.
    EXPECT_EQ(m.counters.blocks, 2u * 5 * 5);
}

TEST(Rodinia, CfdComputesTheFluxThriceAStep) {
    const Measurement m = measured("CFD");
    std::map<std::string, std::uint64_t> launches;
    for (const KernelMeasurement& k : m.kernels) launches[k.kernel] = k.launches;
    EXPECT_EQ(launches, (std::map<std::string, std::uint64_t>{
                            {"cfdInitialize", 1}, {"cfdStepFactor", 2}, {"cfdFlux", 6}, {"cfdTimeStep", 6}}));
}

TEST(Rodinia, PaperSizesHaveTheInputOfTableII) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx480");
    for (const Workload& workload : all()) {
        if (workload.suite != "Rodinia" || !workload.ciao) continue;
        const auto instance = workload.create(gpu.context(), Size::paper, 1);
        // The footprint has the outputs too, which are at most as large; the table's figures are rounded.
        const double ratio =
            static_cast<double>(instance->footprint()) / static_cast<double>(workload.ciao->inputBytes);
        EXPECT_GT(ratio, 0.99) << workload.name;
        EXPECT_LT(ratio, 2.0) << workload.name;
    }
}

TEST(DominantMatrix, OutweighsTheRestOfEachRow) {
    Random random(5);
    const std::size_t n = 50;
    const std::vector<float> matrix = dominantMatrix(random, n);
    for (std::size_t i = 0; i < n; ++i) {
        double rest = 0;
        for (std::size_t j = 0; j < n; ++j)
            if (j != i) rest += std::abs(matrix[i * n + j]);
        EXPECT_GT(matrix[i * n + i], rest);
    }
}

using cfd::kFarField;
using cfd::kWall;
using cfd::Mesh;

TEST(CfdMesh, CellsOnBothSidesOfAFaceAgree) {
    const Mesh mesh = cfd::makeMesh(6, 2, 9);
    for (std::size_t i = 0; i < mesh.cells.size(); ++i)
        for (const Mesh::Face& face : mesh.cells[i]) {
            if (face.neighbour < 0) continue;
            int back = 0;
            for (const Mesh::Face& other : mesh.cells.at(static_cast<std::size_t>(face.neighbour))) {
                if (other.neighbour != static_cast<int>(i)) continue;
                ++back;
                for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_EQ(other.normal[axis], -face.normal[axis]);
            }
            EXPECT_EQ(back, 1);
        }
}

TEST(CfdMesh, CellsAreClosed) {
    const Mesh mesh = cfd::makeMesh(4, 1, 9);
    for (const auto& cell : mesh.cells)
        for (std::size_t axis = 0; axis < 3; ++axis)
            EXPECT_NEAR(cell[0].normal[axis] + cell[1].normal[axis] + cell[2].normal[axis] + cell[3].normal[axis], 0,
                        1e-12);
}

TEST(CfdMesh, ItsSurfacesAreTwoTrianglesASquare) {
    const Mesh mesh = cfd::makeMesh(7, 3, 9);
    EXPECT_EQ(mesh.cells.size(), 6u * (7 * 7 * 7 - 3 * 3 * 3));
    int far = 0, wall = 0;
    for (const auto& cell : mesh.cells)
        for (const Mesh::Face& face : cell) {
            far += face.neighbour == kFarField;
            wall += face.neighbour == kWall;
        }
    EXPECT_EQ(far, 6 * 7 * 7 * 2);
    EXPECT_EQ(wall, 6 * 3 * 3 * 2);
}

TEST(CfdMesh, NeighboursAreIrregularButMostlyClose) {
    const Mesh mesh = cfd::makeMesh(12, 4, 9);
    std::vector<double> distances;
    std::size_t nextDoor = 0;
    for (std::size_t i = 0; i < mesh.cells.size(); ++i)
        for (const Mesh::Face& face : mesh.cells[i]) {
            if (face.neighbour < 0) continue;
            distances.push_back(std::abs(static_cast<double>(face.neighbour) - static_cast<double>(i)));
            nextDoor += distances.back() <= 1;
        }
    // A layer of 12 x 12 cubes is 864 cells.
    EXPECT_LT(percentile(distances, 50), 864);
    EXPECT_LT(percentile(distances, 100), 2 * 864);
    EXPECT_LT(nextDoor, distances.size() / 10);
}

TEST(CfdMesh, AnotherSeedIsAnotherMesh) {
    EXPECT_NE(cfd::makeMesh(3, 1, 1).cells[0][0].normal, cfd::makeMesh(3, 1, 2).cells[0][0].normal);
    EXPECT_EQ(cfd::makeMesh(3, 1, 1).cells[0][0].normal, cfd::makeMesh(3, 1, 1).cells[0][0].normal);
}

}  // namespace
}  // namespace bulkhead::workloads
