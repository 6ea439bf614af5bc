#include <cuda_runtime.h>

#include "workloads/rodinia/tile.h"

using bulkhead::workloads::kTile;

/// Some steps of a chip's temperature in one launch: each block loads a tile, and every step spoils one more ring of
/// it, so neighbouring tiles overlap by twice the steps.
extern "C" __global__ void hotspotSteps(int steps, const float* power, const float* from, float* to, int columns,
                                        int rows, float capacity, float resistanceX, float resistanceY,
                                        float resistanceZ, float stepSeconds, float ambient) {
    __shared__ float temperature[kTile][kTile];
    __shared__ float powerHere[kTile][kTile];
    __shared__ float next[kTile][kTile];
    const float stepOverCapacity = stepSeconds / capacity;
    const float perX = 1 / resistanceX, perY = 1 / resistanceY, perZ = 1 / resistanceZ;

    const int x = threadIdx.x, y = threadIdx.y;
    const int inner = kTile - 2 * steps;
    const int left = inner * static_cast<int>(blockIdx.x) - steps, top = inner * static_cast<int>(blockIdx.y) - steps;
    const int column = left + x, row = top + y;
    const bool onChip = column >= 0 && column < columns && row >= 0 && row < rows;
    const int at = columns * row + column;
    if (onChip) {
        temperature[y][x] = from[at];
        powerHere[y][x] = power[at];
    }
    __syncthreads();

    // At the chip's edge a cell stands in for the neighbour that it lacks.
    const int west = column > 0 ? x - 1 : x, east = column < columns - 1 ? x + 1 : x;
    const int north = row > 0 ? y - 1 : y, south = row < rows - 1 ? y + 1 : y;
    bool computed = false;
    for (int i = 0; i < steps; ++i) {
        computed = onChip && x > i && x < kTile - 1 - i && y > i && y < kTile - 1 - i;
        if (computed) {
            const float here = temperature[y][x];
            next[y][x] =
                here + stepOverCapacity *
                           (powerHere[y][x] + (temperature[south][x] + temperature[north][x] - 2 * here) * perY +
                            (temperature[y][east] + temperature[y][west] - 2 * here) * perX + (ambient - here) * perZ);
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (computed) temperature[y][x] = next[y][x];
        __syncthreads();
    }
    if (computed) to[at] = next[y][x];
}
