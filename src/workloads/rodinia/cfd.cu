#include <cuda_runtime.h>

#include "workloads/rodinia/cfd.h"

using namespace bulkhead::workloads::cfd;

namespace {

struct Vector {
    float x, y, z;
};

__device__ Vector operator*(float f, Vector v) {
    return {f * v.x, f * v.y, f * v.z};
}
__device__ Vector operator+(Vector a, Vector b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
__device__ Vector operator-(Vector a, Vector b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
__device__ float dot(Vector a, Vector b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/// A cell's variables and what follows from them.
struct Cell {
    float density;
    Vector momentum;
    float energy;
    Vector velocity;
    float speed, pressure, sound;
};

__device__ Cell loadCell(const float* variables, int stride, int i) {
    Cell c;
    c.density = variables[i];
    c.momentum = {variables[i + stride], variables[i + 2 * stride], variables[i + 3 * stride]};
    c.energy = variables[i + 4 * stride];
    c.velocity = (1 / c.density) * c.momentum;
    const float speedSquared = dot(c.velocity, c.velocity);
    c.speed = sqrtf(speedSquared);
    c.pressure = (kGamma - 1) * (c.energy - 0.5f * c.density * speedSquared);
    c.sound = sqrtf(kGamma * c.pressure / c.density);
    return c;
}

/// What flows through a cell's faces.
struct Flux {
    float density;
    Vector momentum;
    float energy;
};

/// The flow of a cell across an area.
__device__ Flux flow(const Cell& c, Vector normal) {
    const float through = dot(c.velocity, normal);
    return {dot(c.momentum, normal), through * c.momentum + c.pressure * normal, through * (c.energy + c.pressure)};
}

__device__ Flux farFlow(const FarField& far, Vector normal) {
    const auto along = [&](const float* flux) { return flux[0] * normal.x + flux[1] * normal.y + flux[2] * normal.z; };
    return {along(far.variables + 1),
            {along(far.momentumFlux[0]), along(far.momentumFlux[1]), along(far.momentumFlux[2])},
            along(far.energyFlux)};
}

__device__ void add(Flux& sum, float factor, const Flux& f) {
    sum.density += factor * f.density;
    sum.momentum = sum.momentum + factor * f.momentum;
    sum.energy += factor * f.energy;
}

}  // namespace

extern "C" __global__ void cfdInitialize(float* variables, int cells, int stride, FarField far) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= cells) return;
    for (int v = 0; v < kVariables; ++v) variables[i + v * stride] = far.variables[v];
}

/// The time step that each cell can take, over its volume.
extern "C" __global__ void cfdStepFactor(const float* variables, const float* areas, float* factors, int cells,
                                         int stride) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= cells) return;
    const Cell cell = loadCell(variables, stride, i);
    factors[i] = 0.5f / (sqrtf(areas[i]) * (cell.speed + cell.sound));
}

extern "C" __global__ void cfdFlux(const int* neighbours, const float* normals, const float* variables, float* fluxes,
                                   int cells, int stride, FarField far) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= cells) return;
    const Cell here = loadCell(variables, stride, i);
    Flux sum = {};
    for (int face = 0; face < kFaces; ++face) {
        const int neighbour = neighbours[i + face * stride];
        const Vector normal = {normals[i + face * stride], normals[i + (face + kFaces) * stride],
                               normals[i + (face + 2 * kFaces) * stride]};
        if (neighbour >= 0) {
            const Cell there = loadCell(variables, stride, neighbour);
            const float smoothing =
                sqrtf(dot(normal, normal)) * kSmoothing * 0.5f * (here.speed + there.speed + here.sound + there.sound);
            add(sum, smoothing,
                {there.density - here.density, there.momentum - here.momentum, there.energy - here.energy});
            add(sum, 0.5f, flow(there, normal));
            add(sum, 0.5f, flow(here, normal));
        } else if (neighbour == kWall) {
            sum.momentum = sum.momentum + here.pressure * normal;
        } else {
            add(sum, 0.5f, farFlow(far, normal));
            add(sum, 0.5f, flow(here, normal));
        }
    }
    fluxes[i] = sum.density;
    fluxes[i + stride] = sum.momentum.x;
    fluxes[i + 2 * stride] = sum.momentum.y;
    fluxes[i + 3 * stride] = sum.momentum.z;
    fluxes[i + 4 * stride] = sum.energy;
}

/// Stage 0, 1 or 2 of a step, from the variables that the step began with.
extern "C" __global__ void cfdTimeStep(int stage, const float* before, float* variables, const float* factors,
                                       const float* fluxes, int cells, int stride) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= cells) return;
    const float factor = factors[i] / static_cast<float>(kStages - stage);
    for (int v = 0; v < kVariables; ++v)
        variables[i + v * stride] = before[i + v * stride] + factor * fluxes[i + v * stride];
}
