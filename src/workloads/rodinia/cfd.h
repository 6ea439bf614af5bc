#pragma once

// What CFD's host and device code share.

namespace bulkhead::workloads::cfd {

constexpr int kFaces = 4;                  ///< of a cell, a tetrahedron
constexpr int kVariables = 5;              ///< density, momentum x, y, z, energy, each an array of its own
constexpr int kStages = 3;                 ///< of the Runge-Kutta scheme
constexpr int kWall = -1, kFarField = -2;  ///< in place of a neighbour

constexpr float kGamma = 1.4f;  ///< ratio of specific heats of air
constexpr float kSmoothing = 0.2f;

/// The undisturbed flow. Passed by value: kernel parameters lie in constant memory, as the original's do.
struct FarField {
    float variables[kVariables];
    float momentumFlux[3][3];  ///< of each momentum component, in each direction
    float energyFlux[3];
};

}  // namespace bulkhead::workloads::cfd
