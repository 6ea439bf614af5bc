// Rodinia's CFD (euler3d): air flowing round an obstacle, by finite volumes on an unstructured mesh.
#include "workloads/rodinia/cfd.h"

#include <array>
#include <cmath>
#include <string_view>

#include "cfd.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/reference.h"
#include "workloads/rodinia/cfd_mesh.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

using cfd::FarField;
using cfd::kFaces;
using cfd::kStages;
using cfd::kVariables;
using cfd::Mesh;

constexpr double kGamma = cfd::kGamma, kSmoothing = cfd::kSmoothing;

using State = std::array<double, kVariables>;

double pressureOf(const State& s) {
    return (kGamma - 1) * (s[4] - 0.5 * (s[1] * s[1] + s[2] * s[2] + s[3] * s[3]) / s[0]);
}

/// The speed at which a disturbance travels: the flow's and that of sound.
double signalSpeed(const State& s) {
    return std::sqrt(s[1] * s[1] + s[2] * s[2] + s[3] * s[3]) / s[0] + std::sqrt(kGamma * pressureOf(s) / s[0]);
}

/// What a state carries of a variable along an axis.
double carried(const State& s, int variable, int axis) {
    const auto a = static_cast<std::size_t>(axis) + 1;
    const double velocity = s[a] / s[0], pressure = pressureOf(s);
    if (variable == 0) return s[a];
    if (variable == 4) return velocity * (s[4] + pressure);
    return velocity * s[static_cast<std::size_t>(variable)] + (variable == axis + 1 ? pressure : 0);
}

/// Air at 1.2 times the speed of sound, which is 1, along x.
constexpr State kFreeStream = {1.4, 1.4 * 1.2, 0, 0, 1 / (1.4 - 1) + 0.5 * 1.4 * 1.2 * 1.2};

FarField farField() {
    FarField far;
    for (std::size_t v = 0; v < kVariables; ++v) far.variables[v] = static_cast<float>(kFreeStream[v]);
    for (int axis = 0; axis < 3; ++axis) {
        for (int m = 0; m < 3; ++m) far.momentumFlux[m][axis] = static_cast<float>(carried(kFreeStream, m + 1, axis));
        far.energyFlux[axis] = static_cast<float>(carried(kFreeStream, 4, axis));
    }
    return far;
}

double length(const std::array<double, 3>& v) {
    return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// Half the surface of a cell: what the time step is measured by.
double halfSurface(const std::array<Mesh::Face, kFaces>& cell) {
    double sum = 0;
    for (const Mesh::Face& face : cell) sum += length(face.normal) / 2;
    return sum;
}

State referenceFlux(const Mesh& mesh, const std::vector<State>& states, std::size_t cell) {
    const State& here = states[cell];
    State flux = {};
    for (const Mesh::Face& face : mesh.cells[cell]) {
        if (face.neighbour == cfd::kWall) {
            for (std::size_t axis = 0; axis < 3; ++axis) flux[axis + 1] += pressureOf(here) * face.normal[axis];
            continue;
        }
        const bool inside = face.neighbour >= 0;
        const State& there = inside ? states[static_cast<std::size_t>(face.neighbour)] : kFreeStream;
        const double smoothing =
            inside ? length(face.normal) * kSmoothing * 0.5 * (signalSpeed(here) + signalSpeed(there)) : 0;
        for (int v = 0; v < kVariables; ++v) {
            const auto i = static_cast<std::size_t>(v);
            flux[i] += smoothing * (there[i] - here[i]);
            for (int axis = 0; axis < 3; ++axis)
                flux[i] += 0.5 * face.normal[static_cast<std::size_t>(axis)] *
                           (carried(here, v, axis) + carried(there, v, axis));
        }
    }
    return flux;
}

std::vector<State> referenceFlow(const Mesh& mesh, int steps) {
    std::vector<State> states(mesh.cells.size(), kFreeStream);
    std::vector<State> fluxes(states.size());
    std::vector<double> factors(states.size());
    for (int step = 0; step < steps; ++step) {
        const std::vector<State> before = states;
        for (std::size_t i = 0; i < states.size(); ++i)
            factors[i] = 0.5 / (halfSurface(mesh.cells[i]) * signalSpeed(states[i]));
        for (int stage = 0; stage < kStages; ++stage) {
            for (std::size_t i = 0; i < states.size(); ++i) fluxes[i] = referenceFlux(mesh, states, i);
            for (std::size_t i = 0; i < states.size(); ++i)
                for (std::size_t v = 0; v < kVariables; ++v)
                    states[i][v] = before[i][v] + factors[i] / (kStages - stage) * fluxes[i][v];
        }
    }
    return states;
}

class Cfd : public Instance {
  public:
    Cfd(gpu::Context& context, int edge, int obstacle, int steps, std::uint64_t seed)
        : mesh_(cfd::makeMesh(edge, obstacle, seed)),
          steps_(steps),
          blocks_(blocksFor(mesh_.cells.size(), kThreads)),
          stride_(std::size_t{blocks_} * kThreads) {
        uploadMesh(context);
        for (auto* array : {&variables_, &before_, &fluxes_}) *array = context.array<float>(kVariables * stride_);
        factors_ = context.array<float>(stride_);
        const gpu::Module module = context.load(kCfdPtx);
        initialize_ = module.kernel("cfdInitialize");
        stepFactor_ = module.kernel("cfdStepFactor");
        flux_ = module.kernel("cfdFlux");
        timeStep_ = module.kernel("cfdTimeStep");
    }

    void run(gpu::Stream& stream) override {
        const gpu::Dim3 grid = {blocks_}, block = {kThreads};
        const int cells = static_cast<int>(mesh_.cells.size()), stride = static_cast<int>(stride_);
        const FarField far = farField();
        initialize_.launch(stream, grid, block, 0, variables_, cells, stride, far);
        for (int step = 0; step < steps_; ++step) {
            before_.copyFrom(variables_, stream);
            stepFactor_.launch(stream, grid, block, 0, variables_, areas_, factors_, cells, stride);
            for (int stage = 0; stage < kStages; ++stage) {
                flux_.launch(stream, grid, block, 0, neighbours_, normals_, variables_, fluxes_, cells, stride, far);
                timeStep_.launch(stream, grid, block, 0, stage, before_, variables_, factors_, fluxes_, cells, stride);
            }
        }
    }

    void check() override {
        const std::vector<State>& reference = reference_([&] { return referenceFlow(mesh_, steps_); });
        const std::vector<float> all = variables_.take();
        for (std::size_t v = 0; v < kVariables; ++v) {
            static constexpr std::array<std::string_view, kVariables> kNames = {"density", "momentum x", "momentum y",
                                                                                "momentum z", "energy"};
            std::vector<float> expected;
            expected.reserve(reference.size());
            for (const State& s : reference) expected.push_back(static_cast<float>(s[v]));
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(v * stride_);
            const std::vector<float> got(first, first + static_cast<std::ptrdiff_t>(reference.size()));
            expectNear(kNames[v], expected, got, 2e-5, 2e-5);
        }
    }

    std::size_t footprint() const override {
        return bytesOf(neighbours_, normals_, areas_, variables_, before_, fluxes_, factors_);
    }

  private:
    static constexpr unsigned kThreads = 192;

    void uploadMesh(gpu::Context& context) {
        std::vector<int> neighbours(kFaces * stride_, cfd::kFarField);
        std::vector<float> normals(3 * kFaces * stride_), areas(stride_);
        for (std::size_t i = 0; i < mesh_.cells.size(); ++i) {
            for (std::size_t face = 0; face < kFaces; ++face) {
                neighbours[i + face * stride_] = mesh_.cells[i][face].neighbour;
                for (std::size_t axis = 0; axis < 3; ++axis)
                    normals[i + (face + axis * kFaces) * stride_] =
                        static_cast<float>(mesh_.cells[i][face].normal[axis]);
            }
            const double surface = halfSurface(mesh_.cells[i]);
            areas[i] = static_cast<float>(surface * surface);
        }
        neighbours_ = context.array(neighbours);
        normals_ = context.array(normals);
        areas_ = context.array(areas);
    }

    Mesh mesh_;
    int steps_;
    unsigned blocks_;
    std::size_t stride_;  ///< from one variable's array to the next: cells, rounded up to whole blocks
    gpu::Array<int> neighbours_;
    gpu::Array<float> normals_;
    gpu::Array<float> areas_;  ///< squares of half the cells' surfaces: an area's root is what the original divides by
    gpu::Array<float> variables_, before_, fluxes_, factors_;
    gpu::Kernel initialize_, stepFactor_, flux_, timeStep_;
    Reference<std::vector<State>> reference_;
};

}  // namespace

std::unique_ptr<Instance> createCfd(gpu::Context& context, Size size, std::uint64_t seed) {
    // The paper's mesh has 97 thousand cells, as fvcorr.domn.097K has.
    return std::make_unique<Cfd>(context, forSize(size, 6, 12, 26, 56), forSize(size, 2, 4, 11, 24),
                                 forSize(size, 2, 5, 4), seed);
}

}  // namespace bulkhead::workloads
